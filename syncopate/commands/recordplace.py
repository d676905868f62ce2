"""Where a record is written: one `record` at a time writes a file, and an older one stays."""

from __future__ import annotations

import contextlib
import errno
import os
import socket

from syncopate.base.errors import BAD_USE, FAILED, Failure
from syncopate.base.shown import shown
from syncopate.records import recordformat, recordstamps

_kept: dict[str, socket.socket] = {}  # by name, until this process ends


def make_room(record: str, named: str) -> None:
    """Moves an older record and its children's aside, and proves that one can be made there."""
    if os.path.exists(record) and not os.path.isfile(record):  # /dev/null must stay where it is
        what = "a directory" if os.path.isdir(record) else "no regular file"
        raise Failure(f"{named} is {what}; name a file for the record with -o", BAD_USE)
    try:
        _claim(record, named)
        for stale in recordstamps.children_of(record + ".old"):
            os.unlink(stale)
        for child in recordstamps.children_of(record):
            os.rename(child, f"{record}.old{child[len(record) :]}")
        if os.path.lexists(record):
            os.rename(record, record + ".old")
        _prove_room(record)
    except OSError as error:
        limited = error.errno == errno.EFBIG
        way_out = "raise `ulimit -f`" if limited else "choose another place with -o FILE"
        raise Failure(
            f"cannot write the record {named}: {error.strerror}; {way_out}", FAILED
        ) from None


def _claim(record: str, named: str) -> None:
    """Keeps the record for this process: another `record` that would write the same file, by
    whatever path, does not begin meanwhile, or each would move the other's away. By a socket's name
    that no file stands for (src/launcher/claim.cpp has the same), so that nothing is left behind.
    """
    folder, name = os.path.split(record)
    place = os.stat(folder)
    words = f"{place.st_dev}.{place.st_ino}.{_fnv_1a(os.fsencode(name)):016x}"
    if words in _kept:
        return
    with contextlib.ExitStack() as undone:
        try:
            kept = undone.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
            kept.bind(f"\0syncopate-record/{words}")
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                return  # sockets are not to be had here
            raise Failure(
                f"another `syncopate record` writes {shown(named)}; name another file with -o FILE",
                FAILED,
            ) from None
        undone.pop_all()
    _kept[words] = kept


def _fnv_1a(text: bytes) -> int:
    found = 0xCBF29CE484222325
    for byte in text:
        found = (found ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return found


def _prove_room(record: str) -> None:
    """Makes a file as large as a record is at first, and removes it. Throws OSError."""
    descriptor = os.open(record, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    try:
        os.posix_fallocate(descriptor, 0, recordformat.FIRST_BYTES)
    finally:
        os.close(descriptor)
        os.unlink(record)
