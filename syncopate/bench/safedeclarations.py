"""A build of sources whose functions are transaction_safe in one declaration and not in another.

    python -m syncopate.bench.safedeclarations FOLDER COMMAND...

GCC took such sources until version 4.9; since then it refuses them: "conflicting types". The
command, whose compilers run in FOLDER, is run again and again, and after each time the declaration
that lacks the attribute is given it. What else conflicts stays as it is, and the command fails.
"""

import bisect
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROUNDS = 50  # each names what one compilation of a file could name
ATTRIBUTE = "__attribute__((transaction_safe))"
SAFE = re.compile(r"\b(transaction_safe|TM_SAFE)\b")
PLACE = r"^([^:\n]+):(\d+):(\d+): "
QUOTED = "['\u2018](\\w+)['\u2019]"
ERROR = re.compile(PLACE + "error: conflicting types for " + QUOTED, re.M)
NOTE = re.compile(PLACE + "note: previous (?:declaration|definition) of " + QUOTED, re.M)
NOT_CODE = re.compile(r"//[^\n]*|/\*.*?\*/|^[ \t]*#(?:[^\n\\]|\\.)*", re.M | re.S)
BEFORE = re.compile(r"[;{}]")  # what a declaration at file scope stands behind


class Place(NamedTuple):
    file: Path
    line: int
    column: int


def main(words: list[str]) -> int:
    folder, command = Path(words[0]), words[1:]
    for _ in range(ROUNDS):
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode == 0 or not amend(conflicts(done.stderr, folder)):
            break
    sys.stderr.write(done.stderr)
    return done.returncode


def conflicts(said: str, folder: Path) -> list[tuple[Place, Place]]:
    """The two declarations of each function that the compiler says to be of conflicting types."""
    pairs = []
    for error in ERROR.finditer(said):
        note = NOTE.search(said, error.end())
        if note and note[4] == error[4]:
            pairs.append(
                tuple(Place(folder / m[1], int(m[2]), int(m[3])) for m in (error, note)),
            )
    return pairs


def amend(pairs: list[tuple[Place, Place]]) -> int:
    """Gives the attribute to the one declaration of each pair that lacks it. Returns how many."""
    wanted: dict[Path, set[int]] = {}
    for pair in pairs:
        seen = [(place.file, *look(place)) for place in pair]
        lacking = [(file, begin) for file, safe, begin in seen if not safe]
        if len(lacking) == 1:
            ((file, begin),) = lacking
            wanted.setdefault(file, set()).add(begin)
    for file, places in wanted.items():
        text = file.read_text(encoding="latin-1")
        for begin in sorted(places, reverse=True):
            text = f"{text[:begin]}{ATTRIBUTE} {text[begin:]}"
        file.write_text(text, encoding="latin-1")
    return sum(map(len, wanted.values()))


def look(place: Place) -> tuple[bool, int]:
    """Whether the declaration of the name at a place is transaction_safe, and where it begins."""
    text = place.file.read_text(encoding="latin-1")
    code = NOT_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    lines = [0, *(found.end() for found in re.finditer("\n", text))]
    name = lines[place.line - 1] + place.column - 1
    ends = [found.end() for found in BEFORE.finditer(code, 0, name)]
    begin = ends[bisect.bisect(ends, name) - 1] if ends else 0
    begin += len(code[begin:name]) - len(code[begin:name].lstrip())
    return bool(SAFE.search(code, begin, name) or SAFE.search(behind(code, name))), begin


def behind(code: str, name: int) -> str:
    """What stands between the parameters of the function named there and its end or body."""
    depth, begin = 0, code.find("(", name)
    for at in range(begin, len(code)):
        depth += {"(": 1, ")": -1}.get(code[at], 0)
        if depth == 0:
            return BEFORE.split(code[at + 1 :], maxsplit=1)[0]
    return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
