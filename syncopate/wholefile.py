"""Files that are there as a whole, or as they were."""

import contextlib
import os
from collections.abc import Iterable, Iterator

from syncopate.errors import FAILED, Failure


@contextlib.contextmanager
def replacing(path: str | os.PathLike) -> Iterator[str]:
    """A name beside the file's: when the block ends well, what it wrote there takes the place.

    A device or a pipe stays what it is: its own name is given. Raises a Failure where the file
    cannot be written.
    """
    target = os.path.realpath(path)
    folder, name = os.path.split(target)
    partial = os.path.join(folder, f".{os.getpid()}.{name}")  # ends as the name does
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            yield str(path)
            return
        try:
            yield partial
            os.replace(partial, target)
        finally:
            if os.path.exists(partial):
                os.unlink(partial)
    except OSError as error:
        raise Failure(
            f"cannot write {path}: {error.strerror}; choose another place", FAILED
        ) from None


def write(path: str | os.PathLike, pieces: Iterable[str]) -> None:
    """Writes the file, so that none is left half-written."""
    with replacing(path) as place, open(place, "w", encoding="utf-8", errors="replace") as file:
        file.writelines(pieces)
