"""Files that are there as a whole, or as they were."""

import os
from collections.abc import Iterable

from syncopate.errors import FAILED, Failure


def write(path: str, pieces: Iterable[str]) -> None:
    """Writes beside the file's place and moves it there, so that none is left half-written."""
    partial = f"{path}.{os.getpid()}.part"
    try:
        try:
            with open(partial, "w", encoding="utf-8", errors="replace") as file:
                file.writelines(pieces)
            os.replace(partial, path)
        finally:
            if os.path.exists(partial):
                os.unlink(partial)
    except OSError as error:
        raise Failure(
            f"cannot write {path}: {error.strerror}; choose another place", FAILED
        ) from None
