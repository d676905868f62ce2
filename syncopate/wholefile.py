"""Files that are there as a whole, or as they were."""

import os
from collections.abc import Iterable

from syncopate.errors import FAILED, Failure


def write(path: str, pieces: Iterable[str]) -> None:
    """Writes beside the file's place and moves it there, so that none is left half-written.

    A device or a pipe stays what it is: it is written to.
    """
    target = os.path.realpath(path)
    partial = f"{target}.{os.getpid()}.part"
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            _write(path, pieces)
            return
        try:
            _write(partial, pieces)
            os.replace(partial, target)
        finally:
            if os.path.exists(partial):
                os.unlink(partial)
    except OSError as error:
        raise Failure(
            f"cannot write {path}: {error.strerror}; choose another place", FAILED
        ) from None


def _write(path: str, pieces: Iterable[str]) -> None:
    with open(path, "w", encoding="utf-8", errors="replace") as file:
        file.writelines(pieces)
