"""Names as a program's author wrote them, from what compilers of C++, Rust and D made of them.

c++filt (binutils) does it, in a process of its own with little memory: a name that a malicious file
holds can be made to grow without end. Without it libstdc++ reads the short ones of C++.
"""

import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator

from syncopate.base import boundedtool
from syncopate.base.since import zip_equal

_MANGLED = re.compile(r"_(?:Z|R|D\d)[\w.$]+", re.ASCII)
_LEGACY_RUST = re.compile(r"_ZN.*17h[0-9a-f]{16}E(\.[\w.]*)?", re.ASCII)
_HASH = re.compile(r"::h[0-9a-f]{16}(?=$|\.| )")
_CRATE_HASH = re.compile(r"(?<=\w)\[[0-9a-f]+\]")
LONGEST = 4096  # bytes of a name that is read; longer ones stay as they are
LONGEST_PLAIN = 1000  # of what comes out
AT_ONCE = 100_000  # bytes of names for one process; the kernel takes 131,072 in one argument
SECONDS, MEMORY = 20, 1 << 30

_known: dict[str, str] = {}


def demangle(name: str) -> str:
    """The name behind a mangled one; other names as they are."""
    if not name.startswith("_"):
        return name
    prepare([name])
    return _known.get(name, name)


def prepare(names: Iterable[str]) -> None:
    """Demangles many at once, so that demangle() answers at once."""
    wanted = {
        name
        for name in names
        if name not in _known and len(name) <= LONGEST and _MANGLED.fullmatch(name)
    }
    if not wanted:
        return
    tool = shutil.which("c++filt")
    if tool is None:
        _known.update((name, _by_library(name)) for name in wanted)
        return
    of_d = {name for name in wanted if name.startswith("_D")}
    for some in _portions(wanted - of_d):
        _ask([tool], some)
    for some in _portions(of_d):
        _ask([tool, "--format=dlang"], some)


def _portions(names: set[str]) -> Iterator[list[str]]:
    some, size = [], 0
    for name in sorted(names):
        if size + len(name) > AT_ONCE:
            yield some
            some, size = [], 0
        some.append(name)
        size += len(name) + 1
    if some:
        yield some


def _ask(command: list[str], names: list[str]) -> None:
    try:
        told = boundedtool.output([*command, *names], SECONDS, MEMORY)
    except subprocess.TimeoutExpired:
        told = None
    answers = (told or "").splitlines()
    if len(answers) != len(names):  # one of them was too much for it: all stay as they are
        answers = names
    _known.update((name, _readable(name, answer)) for name, answer in zip_equal(names, answers))


def _readable(name: str, plain: str) -> str:
    """Without what tells Rust's builds apart; cut where it is longer than anybody reads."""
    if name.startswith("_R"):
        plain = _CRATE_HASH.sub("", plain)
    elif _LEGACY_RUST.fullmatch(name):
        plain = _HASH.sub("", plain)
    return plain if len(plain) <= LONGEST_PLAIN else plain[:LONGEST_PLAIN] + "..."


_library = None  # False: not there
SAFE_FOR_LIBRARY = 100  # bytes: it runs in this process, where nothing stops it


def _by_library(name: str) -> str:
    global _library
    if not name.startswith("_Z") or len(name) > SAFE_FOR_LIBRARY or _LEGACY_RUST.fullmatch(name):
        return name
    import ctypes  # seldom needed, and slow

    if _library is None:
        try:
            _library = ctypes.CDLL("libstdc++.so.6")
            _library.__cxa_demangle.restype = ctypes.c_void_p
            _library.free.argtypes = [ctypes.c_void_p]
        except OSError:
            _library = False
    if not _library:
        return name
    status = ctypes.c_int()
    text = _library.__cxa_demangle(name.encode(), None, None, ctypes.byref(status))
    if not text:
        return name
    plain = ctypes.string_at(text).decode("utf-8", "replace")
    _library.free(text)
    return plain
