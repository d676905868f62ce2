"""Files that are there as a whole, or as they were."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator

from syncopate.base.errors import BAD_USE, FAILED, Failure

OWN_OUTPUTS = ("/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/self/fd/")


@contextlib.contextmanager
def replacing(path: str | os.PathLike) -> Iterator[str]:
    """A name beside the file's: when the block ends well, what it wrote there takes the place.

    A device, a pipe or what standard output is stays what it is: its own name is given. Raises a
    Failure where the file cannot be written, and for a link: somebody else may have put it there.
    """
    path = os.fspath(path)
    is_own = path.startswith(OWN_OUTPUTS)
    if os.path.islink(path) and not is_own:
        raise Failure(f"{path} is a symbolic link; name the file itself", FAILED)
    folder, name = os.path.split(os.path.abspath(path))
    # It ends as the name does; nobody can have foreseen it.
    partial = os.path.join(folder, f".{os.urandom(6).hex()}.{name}")
    try:
        if is_own or (os.path.exists(path) and not os.path.isfile(path)):
            yield path
            return
        try:
            os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
            yield partial
            os.replace(partial, path)
        finally:
            if os.path.exists(partial):
                os.unlink(partial)
    except OSError as error:
        raise Failure(
            f"cannot write {path}: {error.strerror}; choose another place", FAILED
        ) from None


def check_place(path: str, option: str) -> None:
    """Raises a Failure where no file can be made there: to be said before a long run, whose result
    it is to take."""
    folder = os.path.dirname(os.path.abspath(path))
    is_there = os.path.exists(path)
    if os.path.isdir(path) or not os.access(path if is_there else folder, os.W_OK):
        raise Failure(f"{option}: {path} cannot be written; name another file", BAD_USE)


def write(path: str | os.PathLike, pieces: Iterable[str]) -> None:
    """Writes the file, so that none is left half-written."""
    with replacing(path) as place, open(place, "w", encoding="utf-8", errors="replace") as file:
        file.writelines(pieces)


def write_bytes(path: str | os.PathLike, data: bytes) -> None:
    """The same for a file that is no text."""
    with replacing(path) as place, open(place, "wb") as file:
        file.write(data)
