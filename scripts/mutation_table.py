#!/usr/bin/env python3
"""Writes docs/internals/order-mutation.md from the outcome of order mutation.

Usage: syncopate check --mutate --json --executions 5000 all | mutation_table.py DOCUMENT

With a primitive's name in place of `all` only its rows are written anew. Accesses of the tests
themselves are left out.
"""

import json
import re
import sys
from pathlib import Path

HEAD = """\
# Is every memory order needed?

Order mutation makes each ordered access of a primitive relaxed, one at a time, and runs the
primitive's explored tests (tests/check) with it: a mutant that none of them catches marks an order
that is stronger than needed, or a test that is missing. An access is an operation with an order on
a line of the source; a compare-exchange counts once for each of its two orders. Each scenario of a
mutant is explored systematically up to 5,000 executions, and, where that was not all of them, 5,000
executions more at random. The order of an access that is caught is needed; that its mutant failed
says nothing of what else a weaker order than the given one, but stronger than relaxed, would do.

To repeat it: `syncopate check --mutate NAME`, for one primitive, or `all`.
tests/check/test_mutation.py fails when a mutant survives without a reason in
tests/check/survivors.toml, when one that stands there is caught, or when this page, which
`scripts/mutation_table.py` writes, has other primitives or reasons.

Not in the table: the runtime of transactions as a language feature (src/tm), whose programs `check`
does not build: tests/check/regime_scenarios.cpp drives its regime (who may run alone) and its list
of threads; of their 25 ordered accesses 23 are caught. The others are the acquire load of the epoch
in `regime::enter`, and the release store of a quick transaction that finds its thread alone no
longer (`quick::leave`): the fence beside them orders as well, since the explored machine's
light_fence() is a full one; a fence for the compiler only would need their order.
"""
OF_A_TEST = re.compile(r" at \w+_check\.cpp:")
TOTALS = ["| primitive | its ways to wait | ordered accesses | caught | survivors |"]
TOTALS.append("|---|---|--:|--:|--:|")
SURVIVORS = ["| access | where | of | why it stays |", "|---|---|---|---|"]


def family(target: str) -> str:
    return target.partition(":")[0]


def rows_of(page: str, head: str) -> list[list[str]]:
    """The cells of the rows below a table's head."""
    lines = page.splitlines()
    if head not in lines:
        return []
    rows = []
    for line in lines[lines.index(head) + 2 :]:
        if not line.startswith("| "):
            break
        rows.append([cell.strip() for cell in line.strip("|").split(" | ")])
    return rows


def totals(mutants: list[dict], before: list[list[str]]) -> list[str]:
    """A row for each primitive, all its ways to wait together."""
    told = {family(mutant["target"]) for mutant in mutants}
    rows = {row[0]: row for row in before if row[0] not in told and "**" not in row[0]}
    for name in told:
        own = [each for each in mutants if family(each["target"]) == name]
        ways = {each["target"].partition(":")[2] for each in own} - {""}
        caught = sum(each["verdict"] == "caught" for each in own)
        numbers = [str(len(own)), str(caught), str(len(own) - caught)]
        rows[name] = [name, ", ".join(sorted(ways)), *numbers]
    sums = [str(sum(int(row[column]) for row in rows.values())) for column in (2, 3, 4)]
    all_rows = [*sorted(rows.values()), ["**all**", "", *sums]]
    return [*TOTALS, *("| " + " | ".join(row) + " |" for row in all_rows)]


def survivors(mutants: list[dict], before: list[list[str]]) -> list[str]:
    """A row for each access that some primitives' tests do not need."""
    told = {family(mutant["target"]) for mutant in mutants}
    names: dict[tuple[str, str, str], set[str]] = {}
    for access, where, of, reason in before:
        left = {name for name in of.split(", ") if family(name) not in told}
        if left:
            names[access, where, reason] = left
    for each in mutants:
        if each["verdict"] == "caught":
            continue
        where = each["position"].removeprefix("syncopate::").partition(" at ")[0]
        key = (
            f"{each['operation']} {each['order']}",
            f"`{where}`",
            each["reason"] or "unknown",
        )
        names.setdefault(key, set()).add(each["target"])
    waits: dict[str, set[str]] = {}
    for mutant in mutants:
        waits.setdefault(family(mutant["target"]), set()).add(mutant["target"])
    lines = []
    for (access, where, reason), targets in sorted(names.items(), key=lambda item: item[0][1]):
        whole = {name for name, all_ways in waits.items() if all_ways <= targets}
        short = whole | {name for name in targets if family(name) not in whole}
        lines.append(f"| {access} | {where} | {', '.join(sorted(short))} | {reason} |")
    return [*SURVIVORS, *lines]


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        sys.stderr.write(__doc__ or "")
        return 2
    report = json.load(sys.stdin)
    mutants = [each for each in report["mutants"] if not OF_A_TEST.search(each["position"])]
    document = Path(arguments[0])
    page = document.read_text("utf-8") if document.exists() else ""
    table = totals(mutants, rows_of(page, TOTALS[0]))
    rest = survivors(mutants, rows_of(page, SURVIVORS[0]))
    document.write_text("\n".join([HEAD, *table, "", "## Survivors", "", *rest]) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
