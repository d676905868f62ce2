"""Which function a program calls next: read from its machine code, where objdump is installed."""

from __future__ import annotations

import re
import shutil
import subprocess

REACH = 512  # bytes looked at
_CALL = re.compile(r"\tcallq? +[0-9a-f]+ <(.+)>$")
_LEAVES = re.compile(r"\t(retq?|jmpq?)\b")
_ADDED = re.compile(r"(@plt|\+0x[0-9a-f]+|@[A-Z_]+[0-9.]*)$")
_INTERFACE = "_ITM_"  # what the compiler adds to calls in transactions


def next_call(path: str, address: int) -> str | None:
    """The function that the code at a link-time address calls next; None where that is not plain:
    through a pointer, or behind a jump."""
    tool = shutil.which("objdump")
    if tool is None:
        return None
    done = subprocess.run(
        [tool, "-d", "-C", "--no-show-raw-insn", f"--start-address={address:#x}",
         f"--stop-address={address + REACH:#x}", path],
        capture_output=True, encoding="utf-8", errors="replace", check=False,
    )  # fmt: skip
    for line in done.stdout.splitlines():
        if _LEAVES.search(line):
            return None
        if "\tcall" not in line:
            continue
        found = _CALL.search(line)
        name = _ADDED.sub("", found[1]) if found else None
        if name is None or not name.startswith(_INTERFACE):
            return name
    return None
