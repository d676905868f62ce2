"""Files of unknown origin, read with bounds: plain files only, of a size and a depth that is ours.

Whatever is wrong with one is a Failure of one line.
"""

import contextlib
import os
import stat
from collections.abc import Callable, Iterator

from syncopate.base.errors import FAILED, Failure
from syncopate.base.shown import all_shown, shown
from syncopate.base.since import toml_module

MOST_JSON = 256 << 20  # bytes; in memory it may be ten times as much
MOST_TOML = 4 << 20
LONGEST_TOML_LINE = 16 << 10  # a key of many parts takes time by the square of their number
KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def open_plain(path: str, change: bool = False):
    """A plain file, open for reading bytes, or for changing them; links are followed.

    Raises OSError, and a Failure for what is no plain file: that is not read, nor waited for."""
    access = os.O_RDWR if change else os.O_RDONLY
    mode = os.stat(path).st_mode  # first, since opening a device may do something
    if stat.S_ISREG(mode):
        descriptor = os.open(path, access | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISREG(mode):
            return os.fdopen(descriptor, "r+b" if change else "rb")
        os.close(descriptor)
    what = next((what for is_kind, what in KINDS if is_kind(mode)), "no plain file")
    raise Failure(f"cannot read {path}: it is {what}; name a plain file", FAILED)


def starts_with(path: str, start: bytes) -> bool:
    """Whether a plain file begins so; False where it cannot be read."""
    try:
        with open_plain(path) as file:
            return file.read(len(start)) == start
    except (OSError, ValueError, Failure):
        return False


def read_json(path: str, status: int = FAILED):
    """What the file says, its texts as they may be shown."""
    import json  # here, since most of who imports this module needs neither

    def parse(raw: bytes):
        return json.loads(raw, parse_constant=_no_number)

    return _read(path, MOST_JSON, parse, "JSON", status)


def read_toml(path: str, status: int = FAILED) -> dict:
    tomllib = toml_module()

    def parse(raw: bytes):
        if max(map(len, raw.split(b"\n"))) > LONGEST_TOML_LINE:
            most = LONGEST_TOML_LINE >> 10
            raise Failure(f"cannot read {path}: a line has more than {most} KiB", status)
        return tomllib.loads(raw.decode())

    return _read(path, MOST_TOML, parse, "TOML", status)


def _no_number(name: str):
    raise ValueError(f"{name} is no number of JSON")


@contextlib.contextmanager
def damaged_where_wrong(path: str, remedy: str, status: int = FAILED) -> Iterator[None]:
    """For what uses the contents of a file: something missing there, or of another kind than it
    should be, is a Failure."""
    wrong = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
    try:
        yield
    except (*wrong, RecursionError, MemoryError) as error:
        what = shown(f"{type(error).__name__}: {error}")[:200]
        raise Failure(f"{path} is damaged ({what}); {remedy}", status) from None


def _read(path: str, most: int, parse: Callable[[bytes], object], form: str, status: int):
    try:
        with open_plain(path) as file:
            raw = file.read(most + 1)
    except OSError as error:
        raise Failure(f"cannot read {path}: {error.strerror}", status) from None
    except ValueError as error:  # a name that no file can have
        raise Failure(f"cannot read {path}: {error}", status) from None
    except Failure as failure:
        raise Failure(str(failure), status) from None
    if len(raw) > most:
        raise Failure(f"cannot read {path}: it has more than {most >> 20} MiB", status)
    try:
        return all_shown(parse(raw))
    except RecursionError:
        raise Failure(f"cannot read {path}: its {form} is nested too deep", status) from None
    except MemoryError:
        raise Failure(f"cannot read {path}: its {form} does not fit in memory", status) from None
    except ValueError as error:
        said = shown(str(error))
        said = said if len(said) <= 200 else said[:200] + "..."
        raise Failure(f"cannot read {path}: no {form}: {said}", status) from None
