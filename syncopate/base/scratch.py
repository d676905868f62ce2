"""Where a command has what it needs while it runs."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import time
from collections.abc import Iterator

from syncopate.base import ending
from syncopate.base.errors import FAILED, Failure

LONGEST = 10.0  # seconds; what was told to end still makes a file or two


def place() -> str:
    """The folder for temporary files: the first of $TMPDIR, /tmp, ... in which one can be made. A
    Failure where there is none."""
    import tempfile

    try:
        return tempfile.gettempdir()
    except FileNotFoundError:
        raise Failure(
            "no temporary file can be made in /tmp, /var/tmp, /usr/tmp or the current folder; set"
            " TMPDIR to a folder where one can",
            FAILED,
        ) from None


@contextlib.contextmanager
def folder(prefix: str = "syncopate-") -> Iterator[str]:
    """A new one, in $TMPDIR, that is gone at the end of the block."""
    import tempfile

    path = None
    try:
        with ending.later():
            path = tempfile.mkdtemp(prefix=prefix, dir=place())
        yield path
    finally:
        if path is not None:
            try:
                with ending.later():
                    _remove(path)
            except KeyboardInterrupt:  # before or after it; it comes once
                _remove(path)
                raise


def _remove(path: str) -> None:
    """As shutil.rmtree(), also while processes that are ending still write there: a compiler's
    driver is gone before the compiler."""
    until = time.monotonic() + LONGEST
    while os.path.lexists(path):
        try:
            shutil.rmtree(path)
        except FileNotFoundError:
            pass  # a file went in between
        except OSError as error:
            if error.errno != errno.ENOTEMPTY or time.monotonic() > until:
                raise
            time.sleep(0.01)
