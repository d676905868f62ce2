"""`syncopate elide`: the run-time switch of lock elision in a process that the library is in."""

from __future__ import annotations

import os
import struct

from syncopate.base.arguments import Parser
from syncopate.base.errors import BAD_USE, FAILED, Failure
from syncopate.symbols.names import Names
from syncopate.symbols.symboltable import SymbolTable

MODES = {"off": 1, "auto": 2, "always": 3}  # elide::mode
SYMBOL = "syncopate_elision_mode"  # a pointer to the mode, one byte; null where nothing is elided
LIBRARIES = ("libsyncopate-pthread.so", "libsyncopate-emulated.so")


def main(arguments: list[str]) -> int:
    parser = Parser(
        "elide",
        description="Shows or changes whether critical sections of a running program are elided.\n"
        "The program was started by `syncopate run` or `record` on a machine whose transactions\n"
        "commit, or built for the emulated machine; on fewer than four processors it was\n"
        "also told to elide. Needs the right to trace it.",
        epilog="Exit status: 0; 1 it cannot be read or changed, 2 bad use.",
    )
    parser.add_argument("pid", type=int, metavar="PID")
    parser.add_argument("mode", nargs="?", choices=tuple(MODES), help="what to change it to")
    options = parser.parse_args(arguments)
    try:
        print(switch(options.pid, options.mode))
    except FileNotFoundError:
        raise Failure(f"there is no process {options.pid}", BAD_USE) from None
    except PermissionError:
        raise Failure(f"process {options.pid} {_way_in()}", FAILED) from None
    return 0


def _way_in() -> str:
    """What to do where the kernel does not let us look."""
    if os.geteuid() != 0:
        return "may not be changed by you; try as its user or as root"
    return "may not be changed from here: root lacks CAP_SYS_PTRACE, as in a container"


def switch(pid: int, mode: str | None) -> str:
    """Sets the mode of a process unless None. Returns the mode it has then."""
    pointer = _pointer_address(pid)
    with open(f"/proc/{pid}/mem", "r+b" if mode else "rb", buffering=0) as memory:
        (address,) = struct.unpack("<Q", os.pread(memory.fileno(), 8, pointer))
        if address == 0:
            raise Failure(
                f"process {pid} was started without elision, or transactions do not commit on its"
                " machine; that cannot be changed while it runs",
                FAILED,
            )
        value = os.pread(memory.fileno(), 1, address)[0]
        if value not in MODES.values():  # nothing is written where something else lies
            raise Failure(f"process {pid} has another version of the library", FAILED)
        if mode:
            os.pwrite(memory.fileno(), bytes([MODES[mode]]), address)
            value = os.pread(memory.fileno(), 1, address)[0]
    return next(name for name, number in MODES.items() if number == value)


def _pointer_address(pid: int) -> int:
    """Where SYMBOL lies in the process."""
    with open(f"/proc/{pid}/maps", encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            fields = line.rstrip("\n").split(maxsplit=5)
            if len(fields) < 6 or not os.path.basename(fields[5]).startswith(LIBRARIES):
                continue
            path, names = fields[5], Names()
            theirs = f"/proc/{pid}/root{path}"  # in a container another build may lie at our path
            file = theirs if names.identity(theirs) else path
            identity = names.identity(file)
            symbol = SymbolTable(file, names).address_of_variable(SYMBOL)
            if trouble := names.trouble():
                raise Failure(trouble, FAILED)
            if identity is None or symbol is None:
                raise Failure(f"{path} was replaced since process {pid} started", FAILED)
            start, offset = int(fields[0].split("-")[0], 16), int(fields[2], 16)
            linked = identity.address_of(offset, 0)
            return start - (linked or 0) + symbol
    raise Failure(f"process {pid} does not run with Syncopate", FAILED)
