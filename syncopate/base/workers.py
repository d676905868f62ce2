"""Threads that run a command's children."""

from __future__ import annotations

import _thread
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from syncopate.base import ending


class Workers:
    """A pool for the main thread, whose KeyboardInterrupt comes while it waits for a job and not
    while it holds what a job needs to end. At the end of the block all jobs are over; once the
    block has failed or was interrupted none begins. Not the executor's own block and waits: an
    interrupt there can leave a lock taken, and a thread that nobody waits for."""

    def __init__(self, threads: int | None):
        self._pool = ThreadPoolExecutor(threads)
        self._jobs: list[Future] = []

    def submit(self, call: Callable, *arguments) -> Future:
        with ending.later():
            job = self._pool.submit(call, *arguments)
            self._jobs.append(job)
        return job

    def result(self, job: Future):
        """Waits for it; what it has returned, or raises what it has raised."""
        _await(job)
        with ending.later():
            return job.result()

    def map(self, call: Callable, items: Iterable) -> Iterator:
        """Begins all; the results in their order."""
        jobs = [self.submit(call, item) for item in items]
        return (self.result(job) for job in jobs)

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, kind, *_) -> None:
        try:
            self._end(kind is not None)
        except KeyboardInterrupt:
            self._end(True)
            raise

    def _end(self, begins_no_more: bool) -> None:
        with ending.later():
            self._pool.shutdown(wait=False, cancel_futures=begins_no_more)
        for job in self._jobs:
            _await(job)
        with ending.later():
            self._pool.shutdown()


def _await(job: Future) -> None:
    over = _thread.allocate_lock()
    over.acquire()
    with ending.later():
        job.add_done_callback(lambda _: over.release())
    over.acquire()
