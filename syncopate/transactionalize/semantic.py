"""Runs Coccinelle's semantic patches, which find what is to be rewritten, and reads their facts."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field

from syncopate.base import scratch
from syncopate.base.errors import FAILED, NOT_FOUND, Failure

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS_PER_FILE = 300


class NotUnderstood(Exception):
    """What Coccinelle said of a file that it could not work on."""


@dataclass
class Fact:
    """One match: what it is, the file and line (from 1) and column (from 0) where it begins."""

    kind: str
    file: str
    line: int
    column: int
    function: str
    more: dict = field(default_factory=dict)

    @property
    def to(self) -> tuple[int, int]:
        """Line and column of the second position of the match."""
        return self.more["to_line"], self.more["to_column"]


def require_spatch() -> str:
    """The path of spatch. A Failure names the package where it is missing."""
    found = shutil.which("spatch")
    if not found:
        raise Failure("transactionalize needs spatch; install the package coccinelle", NOT_FOUND)
    return found


# Functions that take a mutex, functions that give it back; whether their first argument alone says
# which one, or all of them do.
Group = tuple[list[str], list[str], bool]


def find(
    patch: str,
    files: list[str],
    include: list[str] | None,
    groups: list[Group] = (),
    **names: list[str],
) -> list[Fact]:
    """The facts of the semantic patch `patch` over `files`; `names` are put into its patterns, and
    the rules between BEGIN GROUP and END GROUP are there once for each of `groups`. Without
    `include` no header is read for types."""
    with open(os.path.join(HERE, f"{patch}.cocci"), encoding="utf-8") as file:
        text = file.read()
    text = re.sub(
        r"// BEGIN GROUP\n(.*?)// END GROUP\n",
        lambda rules: "".join(_of_group(rules.group(1), *of) for of in enumerate(groups)),
        text,
        flags=re.S,
    )
    # UNLOCKS contains LOCKS: the longest name first.
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, "|".join(names[name]) or "no_such_name")
    with tempfile.NamedTemporaryFile("w", suffix=".cocci", dir=scratch.place()) as script:
        script.write(text)
        script.flush()
        folders = [word for folder in include or () for word in ("-I", folder)]
        types = ["--no-includes"] if include is None else ["--include-headers-for-types"]
        run = subprocess.run(
            [require_spatch(), "--very-quiet", "--no-show-diff", *types,
             "--timeout", str(SECONDS_PER_FILE), *folders,
             "--sp-file", script.name, *files],
            capture_output=True, text=True, check=False, env=_environment(),
        )  # fmt: skip
    if run.returncode != 0:
        last = (run.stderr.strip().splitlines() or ["no message"])[-1]
        if "Py.find_library" in run.stderr:  # Debian's coccinelle does not ask for it
            raise Failure(
                "spatch finds no Python library: install Debian's libpython3-dev, or another"
                " libpython of the version that it names",
                FAILED,
            )
        raise NotUnderstood(f"spatch failed on {patch}.cocci: {last}")
    facts = []
    for line in run.stdout.splitlines():
        if line.startswith("FACT "):
            record = json.loads(line[5:])
            known = [record.pop(key) for key in ("kind", "file", "line", "column", "function")]
            facts.append(Fact(*known, record))
    return facts


def _environment() -> dict[str, str]:
    """spatch asks the first python3 of PATH for its library. The right one stands beside spatch.
    And it does not start without a HOME."""
    beside = os.path.dirname(require_spatch())
    paths = os.pathsep.join([beside, os.environ.get("PATH", "")])
    return {"HOME": "/", **os.environ, "PATH": paths}


def _of_group(rules: str, number: int, group: Group) -> str:
    *both, by_first = group
    takes, gives = ("|".join(names) or "no_such_name" for names in both)
    if by_first:
        rules = rules.replace("expression list es;", "expression E;").replace("(es)", "(E, ...)")
    rules = rules.replace("GROUP_TAKES", takes).replace("GROUP_GIVES", gives)
    return rules.replace("GROUP", str(number))
