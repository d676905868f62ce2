"""What is listed names calls as the program does, not as they were written out for the analysis."""

from __future__ import annotations

import re

from syncopate.transactionalize.wrappers import Written

_STEP = re.compile(r"(\w+) at (.+):(\d+)")
_PTHREAD = re.compile(r"\bpthread_\w+")
Spoken = dict[tuple[str, int, str], str]  # file, line, name as written out -> as it is there


def spoken(written: Written) -> Spoken:
    """The calls that were written out."""
    found = {}
    for path, all_of in written.original.items():
        for one in all_of:
            line = written.texts[path].count("\n", 0, one.start) + 1
            names = [re.match(r"!?(\w+(?:(?:->|\.)\w+)*)", text) for text in (one.by, one.was)]
            if all(names):
                found[path, line, names[0][1]] = names[1][1]
    return found


def speak(entry: dict, names: Spoken) -> None:
    """Changes an entry of what was not done. Its reason is about its last call."""
    last = entry["file"], entry["line"]
    for number, step in enumerate(entry["chain"]):
        match = _STEP.fullmatch(step)
        if match:
            name, last = match[1], (match[2], int(match[3]))
            entry["chain"][number] = f"{names.get((*last, name), name)} at {last[0]}:{last[1]}"
    entry["why"] = _PTHREAD.sub(lambda m: names.get((*last, m[0]), m[0]), entry["why"])
