"""The symbols of an ELF file: what function or variable lies at an address, and where a name is."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from syncopate.base.since import zip_equal
from syncopate.symbols.demangling import demangle, prepare
from syncopate.symbols.names import Names

Symbol = tuple[str, int]  # as the file has it, not demangled; how far behind its start


class SymbolTable:
    """Symbols of one file, and of its separate debug file if it has one. A file that is none of
    ELF has no symbols; that is not an error."""

    def __init__(self, path: str, names: Names | None = None):
        self._path, self._names = path, names or Names()
        self._at: dict[str, dict[int, Symbol | None]] = {"f": {}, "d": {}}
        identity = self._names.identity(path)
        self.build_id = identity and identity.build_id  # in hex; None where the file has none

    @property
    def debug_file(self) -> str | None:
        (found,) = self._names.ask(self._path, ["g"])
        return found[0] if found else None

    def function(self, address: int) -> Symbol | None:
        """(name, offset) of the function at a link-time address, demangled."""
        return _plain(self.function_symbol(address))

    def variable(self, address: int) -> Symbol | None:
        return _plain(self.variable_symbol(address))

    def function_symbol(self, address: int) -> Symbol | None:
        return self.function_symbols([address])[0]

    def variable_symbol(self, address: int) -> Symbol | None:
        return self.variable_symbols([address])[0]

    def function_symbols(self, addresses: Iterable[int]) -> list[Symbol | None]:
        return self._look_up("f", list(addresses))

    def variable_symbols(self, addresses: Iterable[int]) -> list[Symbol | None]:
        return self._look_up("d", list(addresses))

    def address_of_variable(self, name: str) -> int | None:
        """The link-time address of the variable of that (mangled) name."""
        return next((start for start, _, text in self._all("D") if text == name), None)

    def variables(self, name: str) -> list[tuple[int, int]]:
        """(link-time address, bytes) of every variable of that name, as reports write it."""
        return _named(self._all("D"), name)

    def functions(self, name: str) -> list[tuple[int, int]]:
        """The same for functions; a C++ function's parameters may be left out."""
        return _named(self._all("F"), name)

    def functions_where(self, holds: Callable[[str], bool]) -> list[tuple[int, int]]:
        """(link-time address, bytes) of the functions whose name `holds` is true of."""
        found = self._all("F")
        prepare(symbol for _, _, symbol in found)
        named = ((start, size, demangle(symbol)) for start, size, symbol in found)
        return sorted({(start, size) for start, size, name in named if size and holds(name)})

    def _look_up(self, kind: str, addresses: list[int]) -> list[Symbol | None]:
        known = self._at[kind]
        # Not a difference of sets: that goes through all that is known.
        wanted = sorted({address for address in addresses if address not in known})
        asked = [f"{kind} {address:x}" for address in wanted]
        for address, told in zip_equal(wanted, self._names.ask(self._path, asked)):
            known[address] = (told[1], address - int(told[0], 16)) if told else None
        return [known[address] for address in addresses]

    def _all(self, kind: str) -> list[tuple[int, int, str]]:
        (told,) = self._names.ask(self._path, [kind])
        starts, sizes, names = told[::3], told[1::3], told[2::3]
        return [(int(start, 16), int(size, 16), name)
                for start, size, name in zip(starts, sizes, names)]  # fmt: skip


def _named(table: list[tuple[int, int, str]], name: str) -> list[tuple[int, int]]:
    # A symbol stands in both tables of a file that is not stripped.
    prepare(symbol for _, _, symbol in table)
    return sorted(
        {
            (start, size or 1)
            for start, size, symbol in table
            if symbol == name or name in (plain := demangle(symbol), plain.partition("(")[0])
        }
    )


def _plain(found: Symbol | None) -> Symbol | None:
    return found and (demangle(found[0]), found[1])
