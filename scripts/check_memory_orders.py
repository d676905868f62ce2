#!/usr/bin/env python3
"""Checks the memory-order tags of algorithm headers and of product files.

In each file that uses atomics: every line that names a memory order carries a [tag], there or where
its expression ends on the next line; every tag is argued in the file's head, or in that of the
header with the same name; no argued tag is left over. The head of an algorithm has all its fields.

Usage: check_memory_orders.py [ROOT]
Prints one line per finding; exit status 1 when there is one.
"""

import re
import sys
from pathlib import Path

# Folders of algorithms.
FOLDERS = ("locks", "locks/auto", "rwlocks", "condition", "barriers", "deques")
# Where the files are that are none, in all folders below; and those whose code handles orders as
# data: the machines that model them.
PRODUCT_FOLDERS = ("include", "src", "products")
MODELS = ("src/model/explored", "src/model/simulated")
# Files of these folders that are no algorithm: the list, its traits, the type-erased form.
EXEMPT = {"all.h", "traits.h", "any_lock.h", "lock_table.h"}
# Building blocks: their orders are argued like all others, but they are no lock.
BUILDING_BLOCKS = {
    "node_pool.h", "queue_link.h", "parts.h", "flag_pair.h",
    "lock_word.h", "sleeper_queue.h", "successor_slot.h", "spinner_slot.h",
}  # fmt: skip
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


def look(path: str, before: int, body: str) -> tuple[set[str], set[str], list[str]]:
    """The tags that stand in comments of the body, those at memory orders, and where none is.

    `before`: lines of the file that precede the body."""
    messages = []
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
            messages.append(f"{path}:{before + 1 + index}: memory order without a [tag]")
    return mentioned, used, messages


def check_text(path: str, text: str) -> list[str]:
    """The findings in one header of an algorithm."""
    header, pragma, body = text.partition("#pragma once")
    if not pragma:
        return [f"{path}: no #pragma once"]
    if "memory_order" not in body:
        return []
    argued = set(ARGUED.findall(header))
    mentioned, used, messages = look(path, header.count("\n"), body)
    messages += [f"{path}: [{t}] is argued but stands nowhere" for t in sorted(argued - mentioned)]
    messages += [f"{path}: [{t}] is used but not argued" for t in sorted(used - argued)]
    fields = BLOCK_FIELDS if Path(path).name in BUILDING_BLOCKS else FIELDS
    messages += [
        f"{path}: the header comment lacks '{field}'"
        for field in fields
        if not re.search(rf"^// {field}\b", header, re.M)
    ]
    return messages


def split_head(text: str) -> tuple[str, str]:
    """The comment that a file begins with, and the rest."""
    lines = text.splitlines(keepends=True)
    length = next((i for i, line in enumerate(lines) if not line.startswith("//")), len(lines))
    return "".join(lines[:length]), "".join(lines[length:])


def check_unit(texts: dict[str, str]) -> list[str]:
    """The findings in the files of one name, by path: a header, a source file, or both."""
    argued: dict[str, str] = {}
    mentioned: set[str] = set()
    used: dict[str, str] = {}
    messages = []
    for path, text in texts.items():
        head, body = split_head(text)
        argued |= dict.fromkeys(ARGUED.findall(head), path)
        stand, at_orders, missing = look(path, head.count("\n"), body)
        mentioned |= stand
        used |= dict.fromkeys(at_orders, path)
        messages += missing
    messages += [
        f"{path}: [{tag}] is argued but stands nowhere"
        for tag, path in sorted(argued.items())
        if tag not in mentioned
    ]
    messages += [
        f"{path}: [{tag}] is used but not argued"
        for tag, path in sorted(used.items())
        if tag not in argued
    ]
    return messages


def units(root: Path, algorithms: list[Path]) -> list[dict[str, str]]:
    """The other product files, those with one name together; paths as seen from the root."""
    found: dict[Path, dict[str, str]] = {}
    for folder in PRODUCT_FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            shown = path.relative_to(root).as_posix()
            is_code = path.suffix in (".h", ".cpp") and not shown.startswith(MODELS)
            if is_code and path not in algorithms:
                found.setdefault(path.with_suffix(""), {})[shown] = path.read_text("utf-8")
    return list(found.values())


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
    products = units(root, headers)
    messages += [message for unit in products for message in check_unit(unit)]
    count = len(headers) + sum(map(len, products))
    print("\n".join(messages) if messages else f"memory orders: {count} files, all right")
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
