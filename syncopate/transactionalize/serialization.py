"""Which transactions run alone, as the compiler translates them: from the beginning, since
something unsafe is on every path, or from the first unsafe place that they come to. Read off the
assembler."""

import re
from dataclasses import dataclass, field

_FILE = re.compile(r'\s*\.file\s+(\d+)\s+(?:"([^"]*)"\s+)?"([^"]*)"')
_LOCATION = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)")
_LABEL = re.compile(r"([A-Za-z_][\w.$]*):")
_PROPERTIES = re.compile(r"\s*movl\s+\$(\d+),\s*%edi")
_CALL = re.compile(r"\s*(?:call|jmp)\s+\*?([A-Za-z_]\w*)")
_GOES_IRREVOCABLE = 0x40  # of _ITM_beginTransaction's properties, pr_doesGoIrrevocable
_BECOMES = ("_ITM_changeTransactionMode", "_ITM_getTMCloneOrIrrevocable")
_CLONE = re.compile(r"_ZGTt\d+(\w+?)(?:\.\w+)*$")

AT_START, IN_FLIGHT, NEVER = "at start", "in flight", "never"


@dataclass
class Compiled:
    """What the assembler of one or more files says."""

    begins: dict[tuple[str, int], bool] = field(default_factory=dict)  # place -> alone from there
    becomes: set[tuple[str, int]] = field(default_factory=set)  # where they become irrevocable
    clones: set[str] = field(default_factory=set)  # functions in whose clones one does

    def read(self, assembler: str, relative) -> None:
        """Adds a file's assembler; `relative` maps the compiler's paths to ours."""
        files: dict[str, str] = {}
        place, symbol, properties = ("", 0), "", 0
        for line in assembler.splitlines():
            if match := _LOCATION.match(line):
                place = files.get(match.group(1), ""), int(match.group(2))
            elif match := _PROPERTIES.match(line):
                properties = int(match.group(1))
            elif match := _CALL.match(line):
                self._call(match.group(1), place, symbol, properties)
            elif match := _FILE.match(line):
                number, folder, name = match.groups()
                files[number] = relative(f"{folder}/{name}" if folder and name[0] != "/" else name)
            elif (match := _LABEL.match(line)) and not line.startswith(".L"):
                symbol = match.group(1)

    def _call(self, callee: str, place: tuple[str, int], symbol: str, properties: int) -> None:
        if callee == "_ITM_beginTransaction":
            alone = bool(properties & _GOES_IRREVOCABLE)
            self.begins[place] = self.begins.get(place, False) or alone
        elif callee in _BECOMES:
            clone = _CLONE.match(symbol)
            if clone:
                self.clones.add(clone.group(1))
            self.becomes.add(place)

    def of(self, file: str, first: int, last: int, reached: set[str]) -> str:
        """How a transaction begins that stands in these lines and reaches these functions."""
        begins = [a for (f, n), a in self.begins.items() if f == file and n == first]
        if any(begins):
            return AT_START
        inside = any(f == file and first <= n <= last for f, n in self.becomes)
        return IN_FLIGHT if inside or reached & self.clones else NEVER
