"""A folder for what a command needs while it runs."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import time
from collections.abc import Iterator

from syncopate.base import ending

LONGEST = 10.0  # seconds; what was told to end still makes a file or two


@contextlib.contextmanager
def folder(prefix: str = "syncopate-") -> Iterator[str]:
    """A new one, in $TMPDIR, that is gone at the end of the block."""
    import tempfile

    path = None
    try:
        with ending.later():
            path = tempfile.mkdtemp(prefix=prefix)
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
