"""Runs Coccinelle's semantic patches, which find what is to be rewritten, and reads their facts."""

import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field

from syncopate.base.errors import FAILED, NOT_FOUND, Failure

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS_PER_FILE = 300


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


def find(patch: str, files: list[str], include: list[str], **names: list[str]) -> list[Fact]:
    """The facts of the semantic patch `patch` over `files`; `names` are put into its patterns."""
    with open(os.path.join(HERE, f"{patch}.cocci"), encoding="utf-8") as file:
        text = file.read()
    # UNLOCKS contains LOCKS: the longest name first.
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, "|".join(names[name]) or "no_such_name")
    with tempfile.NamedTemporaryFile("w", suffix=".cocci") as script:
        script.write(text)
        script.flush()
        folders = [word for folder in include for word in ("-I", folder)]
        run = subprocess.run(
            [require_spatch(), "--very-quiet", "--no-show-diff", "--include-headers-for-types",
             "--timeout", str(SECONDS_PER_FILE), *folders,
             "--sp-file", script.name, *files],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    if run.returncode != 0:
        last = (run.stderr.strip().splitlines() or ["no message"])[-1]
        raise Failure(f"spatch failed on {patch}.cocci: {last}", FAILED)
    facts = []
    for line in run.stdout.splitlines():
        if line.startswith("FACT "):
            record = json.loads(line[5:])
            known = [record.pop(key) for key in ("kind", "file", "line", "column", "function")]
            facts.append(Fact(*known, record))
    return facts
