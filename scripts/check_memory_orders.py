#!/usr/bin/env python3
"""Checks the memory-order tags of algorithm headers and of product files.

In each file that uses atomics: every line that names a memory order carries a [tag], there or where
its expression ends on the next line; every tag is argued in the file's head, or in that of the
header with the same name; no argued tag is left over. An order may be C++'s, C's, or one of the
compiler's builtins; a constant that stands for one, an order made of a number and an instruction
that orders are as good as one; an atomic access without any is a finding. The head of an algorithm
has all its fields.

Usage: check_memory_orders.py [ROOT]
Prints one line per finding; exit status 1 when there is one.
"""

import re
import sys
from pathlib import Path

from rooms.text import PARTS, without_comments

# Folders of algorithms.
FOLDERS = ("locks", "locks/auto", "rwlocks", "condition", "barriers", "deques")
# Where the files are that are none, in all folders below; and those whose code handles orders as
# data, so that only accesses are looked at: the machines that model them.
PRODUCT_FOLDERS = ("include", "src", "products")
ENDINGS = (".h", ".cpp", ".c", ".S", ".def", ".inc")
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
ORDERS = "relaxed|consume|acquire|release|acq_rel|seq_cst"
ORDERING = (  # instructions
    r"(?:lock;?\s+(?:cmpxchg|x?add|inc|dec|x?or|and|sub|xchg|bt)"
    r"|[mls]fence\b|xchg|ldax?r|stlx?r|d[ms]b\b)"
)
ORDER = re.compile(
    rf"\bmemory_order(?:_|::)(?:{ORDERS})\b|\b__ATOMIC_(?:{ORDERS.upper()})\b|\b__sync_\w+\s*\("
    r"|\bstatic_cast<std::memory_order>\s*\(|\bmemory_order\s*[({]"
    rf'|(?<!== )"\s*{ORDERING}'
)
INSTRUCTION = re.compile(rf"^\s*{ORDERING}")
CONSTANT = re.compile(
    r"\bconstexpr\s+(?:auto|std::memory_order)\s+(\w+)\s*=[^;]*?memory_order", re.S
)
# An access, up to its arguments; and how many it has where its order is left out.
ACCESS = re.compile(
    r"(?:\.|->)(load|store|exchange|fetch_\w+|compare_exchange_(?:weak|strong)|test_and_set)\s*\("
    r"|\b(__atomic_\w+|atomic_(?:load|store|exchange|fetch_\w+|compare_exchange_(?:weak|strong)|"
    r"flag_\w+|thread_fence))\s*\("
)
WITHOUT_ORDER = {
    "load": 0,
    "test_and_set": 0,
    "compare_exchange_weak": 2,
    "compare_exchange_strong": 2,
}
DECLARED = re.compile(r"\bstd::atomic<[^;{}()]*>\s+(\w+)\s*[{;=,]")
CHANGED = (  # by an operator
    r"(?<![\w:.>])NAME\s*(?:\+\+|--|[-+|&^]?=(?!=))|(?:\+\+|--)(?:\w+(?:\.|->))*NAME\b"
)
TYPE_BEFORE = re.compile(r"(?:[\w>*&]\s+[*&]?|,\s*)$")
ARGUED = re.compile(r"^(?://| \*)\s+\[(\w+)\]", re.M)
TAG = re.compile(r"\[(\w+)\]")


def arguments(code: str, begin: int) -> list[str]:
    """The arguments of a call, from behind its parenthesis."""
    found, depth, start = [], 0, begin
    for index in range(begin, len(code)):
        letter = code[index]
        depth += (letter in "([{") - (letter in ")]}")
        if depth < 0 or (depth == 0 and letter == ","):
            found.append(code[start:index].strip())
            start = index + 1
        if depth < 0:
            break
    return found if found != [""] else []


def find_bare(code: str) -> list[int]:
    """The lines of accesses whose order is left out, so that it is the strongest by default."""
    lines = []
    for access in ACCESS.finditer(code):
        given = arguments(code, access.end())
        if access[2]:
            name = access[2]
            bare = (
                not name.endswith("_explicit") and "fence" not in name and name != "__atomic_always"
            )
            bare &= not any("__ATOMIC_" in each or "order" in each for each in given)
            bare &= "lock_free" not in name
        else:
            bare = len(given) == WITHOUT_ORDER.get(access[1], 1)
        if bare:
            lines.append(code.count("\n", 0, access.start()))
    for name in set(DECLARED.findall(code)):
        for operator in re.finditer(CHANGED.replace("NAME", name), code):
            if not TYPE_BEFORE.search(code[: operator.start()]):  # else another variable
                lines.append(code.count("\n", 0, operator.start()))
    return lines


def comments_of(text: str) -> list[str]:
    """The comments of each line."""
    found = [""] * (text.count("\n") + 1)
    for part in PARTS.finditer(text):
        if part[0][0] == "/":
            first = text.count("\n", 0, part.start())
            for number, line in enumerate(part[0].split("\n"), first):
                found[number] += line
    return found


def look(path: str, before: int, body: str) -> tuple[set[str], set[str], list[str]]:
    """The tags that stand in comments of the body, those at memory orders, and where none is.

    `before`: lines of the file that precede the body."""
    code = without_comments(body)
    comments = comments_of(body)
    lines = code.split("\n")
    constants = "|".join(set(CONSTANT.findall(code)))
    constant = re.compile(rf"\b(?:{constants})\b") if constants else None
    model = path.startswith(MODELS)
    mentioned, used = {tag for comment in comments for tag in TAG.findall(comment)}, set()
    messages = [
        f"{path}:{before + 1 + index}: an atomic access without an order"
        for index in find_bare(code)
    ]
    for index, line in enumerate(lines):
        is_site = ORDER.search(line) or (path.endswith(".S") and INSTRUCTION.match(line))
        is_site = is_site or (constant and constant.search(line))
        if not is_site or (model and not ACCESS.search(line)):
            continue
        tags = set(TAG.findall(comments[index]))
        # The formatter may break a long expression between an order and the comment behind it.
        if not tags and not line.rstrip().endswith((";", "{", "}")) and index + 1 < len(lines):
            tags = set(TAG.findall(comments[index + 1]))
        used |= tags
        if not tags:
            messages.append(f"{path}:{before + 1 + index}: memory order without a [tag]")
    return mentioned, used, messages


def check_text(path: str, text: str) -> list[str]:
    """The findings in one header of an algorithm."""
    header, pragma, body = text.partition("#pragma once")
    if not pragma:
        return [f"{path}: no #pragma once"]
    if not ORDER.search(without_comments(body)) and not find_bare(without_comments(body)):
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
    if text.startswith("/*"):
        head, end, body = text.partition("*/\n")
        return head + end, body
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
            if path.suffix in ENDINGS and path not in algorithms:
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
