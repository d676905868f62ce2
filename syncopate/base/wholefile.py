"""Files that are there as a whole, or as they were."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterable, Iterator

from syncopate.base.errors import BAD_USE, FAILED, Failure

OWN_OUTPUTS = ("/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/self/fd/")


@contextlib.contextmanager
def replacing(path: str | os.PathLike, mode: int | None = None) -> Iterator[str]:
    """A name beside the file's: when the block ends well, what it wrote there takes the place.

    A device, a pipe or what standard output is stays what it is: its own name is given. Raises a
    Failure where the file cannot be written, and for a link: somebody else may have put it there.

    mode: who may read and write the file; None: as it was, or as the user's new files are.
    """
    path = os.fspath(path)
    if why := _is_link(path):
        raise Failure(f"{path} {why}", FAILED)
    try:
        if _stays(path):
            yield path
            return
        partial = _beside(path)
        try:
            _make(partial, path, mode)
            yield partial
            os.replace(partial, path)
        finally:
            if os.path.exists(partial):
                os.unlink(partial)
    except OSError as error:
        why = error.strerror or str(error)
        raise Failure(f"cannot write {path}: {why}; choose another place", FAILED) from None


def check_place(path: str | os.PathLike, option: str, status: int = BAD_USE) -> None:
    """Raises a Failure where no file can be made there: to be said before a long run, whose result
    it is to take. status: of the Failure."""
    path = os.fspath(path)
    if why := _is_link(path):
        raise Failure(f"{option}: {path} {why}", status)
    if os.path.isdir(path):
        why = os.strerror(errno.EISDIR)
    elif _stays(path):
        why = "" if os.access(path, os.W_OK) else os.strerror(errno.EACCES)
    else:
        why = _what_hinders(_beside(path))
    if why:
        raise Failure(f"{option}: {path} cannot be written; name another file ({why})", status)


def write(path: str | os.PathLike, pieces: Iterable[str], for_owner: bool = False) -> None:
    """Writes the file, so that none is left half-written. for_owner: a new one is readable by its
    owner only; one that was there stays as readable as it was."""
    mode = 0o600 if for_owner and not os.path.exists(path) else None
    with (
        replacing(path, mode) as place,
        open(place, "w", encoding="utf-8", errors="replace") as file,
    ):
        file.writelines(pieces)


def write_bytes(path: str | os.PathLike, data: bytes) -> None:
    """The same for a file that is no text."""
    with replacing(path) as place, open(place, "wb") as file:
        file.write(data)


def _is_link(path: str) -> str:
    """What is said of a link; "" for what is none."""
    is_link = os.path.islink(path) and not path.startswith(OWN_OUTPUTS)
    return "is a symbolic link; name the file itself" if is_link else ""


def _stays(path: str) -> bool:
    """Whether it is written to as it is, and not replaced."""
    return path.startswith(OWN_OUTPUTS) or (os.path.exists(path) and not os.path.isfile(path))


def _beside(path: str) -> str:
    """It ends as the name does; nobody can have foreseen it."""
    folder, name = os.path.split(os.path.abspath(path))
    return os.path.join(folder, f".{os.urandom(6).hex()}.{name}")


def _make(partial: str, path: str, mode: int | None) -> None:
    """An empty file, with the rights that the whole one is to have."""
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        if mode is None and os.path.exists(path):
            mode = stat.S_IMODE(os.stat(path).st_mode)
        if mode is not None:
            os.fchmod(descriptor, mode)
    finally:
        os.close(descriptor)


def _what_hinders(partial: str) -> str:
    """Makes a file with something in it, and removes it. Returns why that does not go, or ""."""
    try:
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(descriptor, b"\n")  # which takes a block: a full disk has none
        finally:
            os.close(descriptor)
            os.unlink(partial)
    except OSError as error:
        return error.strerror or str(error)
    return ""
