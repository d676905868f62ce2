"""Threads that run a command's children."""

from concurrent.futures import ThreadPoolExecutor


class Workers(ThreadPoolExecutor):
    """A pool that begins nothing more once its block has failed or was interrupted: the executor's
    own block ends only when all that was submitted has run."""

    def __exit__(self, kind, *_) -> None:
        self.shutdown(wait=True, cancel_futures=kind is not None)
