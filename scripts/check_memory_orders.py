#!/usr/bin/env python3
"""Checks the memory-order tags of algorithm headers.

In each header of an algorithm that uses atomics: every line that names a memory order carries a
[tag], there or where its expression ends on the next line; every tag is argued in the header
comment; no argued tag is left over; and the header comment has all its fields.

Usage: check_memory_orders.py [ROOT]
Prints one line per finding; exit status 1 when there is one.
"""

import re
import sys
from pathlib import Path

FOLDERS = ("locks", "rwlocks", "condition", "barriers", "deques")
# Files of these folders that are no algorithm: the list, its traits, the type-erased form.
EXEMPT = {"all.h", "traits.h", "any_lock.h"}
# Building blocks: their orders are argued like all others, but they are no lock.
BUILDING_BLOCKS = {"node_pool.h", "parts.h", "flag_pair.h"}
BLOCK_FIELDS = ("Space", "Memory order")
FIELDS = (
    "Source",
    "Fairness",
    "Space",
    "Uncontended",
    "Contended",
    "Invariants",
    "Memory order",
    "Checked by",
)
ORDER = re.compile(r"\bmemory_order(?:_|::)(?:relaxed|consume|acquire|release|acq_rel|seq_cst)\b")
ARGUED = re.compile(r"^//\s+\[(\w+)\]", re.M)
TAG = re.compile(r"\[(\w+)\]")


def check_text(path: str, text: str) -> list[str]:
    """The findings in one header."""
    header, pragma, body = text.partition("#pragma once")
    if not pragma:
        return [f"{path}: no #pragma once"]
    if "memory_order" not in body:
        return []
    messages = []
    argued = set(ARGUED.findall(header))
    mentioned: set[str] = set()
    used: set[str] = set()
    lines = [line.partition("//") for line in body.splitlines()]
    for index, (code, _, comment) in enumerate(lines):
        tags = set(TAG.findall(comment))
        mentioned |= tags
        if not ORDER.search(code):
            continue
        # The formatter may break a long expression between an order and the comment behind it.
        if not tags and not code.rstrip().endswith((";", "{", "}")) and index + 1 < len(lines):
            tags = set(TAG.findall(lines[index + 1][2]))
        used |= tags
        if not tags:
            number = header.count("\n") + 1 + index
            messages.append(f"{path}:{number}: memory order without a [tag]")
    messages += [f"{path}: [{t}] is argued but stands nowhere" for t in sorted(argued - mentioned)]
    messages += [f"{path}: [{t}] is used but not argued" for t in sorted(used - argued)]
    fields = BLOCK_FIELDS if Path(path).name in BUILDING_BLOCKS else FIELDS
    messages += [
        f"{path}: the header comment lacks '{field}'"
        for field in fields
        if not re.search(rf"^// {field}\b", header, re.M)
    ]
    return messages


def main(arguments: list[str]) -> int:
    root = Path(arguments[0] if arguments else ".").resolve()
    headers = [
        header
        for folder in FOLDERS
        for header in sorted((root / "include/syncopate" / folder).glob("*.h"))
        if header.name not in EXEMPT
    ]
    if not headers:
        print(f"{root}: no headers to check", file=sys.stderr)
        return 1
    messages = [
        message
        for header in headers
        for message in check_text(header.relative_to(root).as_posix(), header.read_text("utf-8"))
    ]
    print("\n".join(messages) if messages else f"memory orders: {len(headers)} files, all right")
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
