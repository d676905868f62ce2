#!/usr/bin/env python3
"""Writes docs/internals/order-mutation.md from the outcome of order mutation.

Usage: syncopate check --mutate --json --executions 5000 all | mutation_table.py DOCUMENT

Accesses of the tests themselves are left out.
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

To repeat it: `syncopate check --mutate NAME`, for one primitive, or `all`. tests/check/
test_mutation.py fails when a mutant survives without a reason in tests/check/survivors.toml, or
when one that stands there is caught. `scripts/mutation_table.py` writes this page.

Not in the table: the runtime of transactions as a language feature (src/tm), whose programs `check`
does not build. tests/check/regime_scenarios.cpp drives its regime (who may run alone) and its list
of threads without transactions: of their 25 ordered accesses 23 are caught, each by one of thirteen
scenarios that are explored to the end. The others are the acquire load of the epoch in
`regime::enter`, and the release store of a quick transaction that finds its thread alone no longer
(`quick::leave`): the fence beside them orders as well, since the explored machine makes
light_fence() a full fence; where that is one for the compiler only, they need their order. Two
more orders were not needed and are relaxed now (the stores that leave a thread alone, and that
choose the algorithm).
"""
OF_A_TEST = re.compile(r" at \w+_check\.cpp:")


def totals(mutants: list[dict]) -> list[str]:
    lines = ["| primitive | ordered accesses | caught | survivors |", "|---|--:|--:|--:|"]
    for target in sorted({mutant["target"] for mutant in mutants}):
        verdicts = [each["verdict"] for each in mutants if each["target"] == target]
        caught = verdicts.count("caught")
        lines.append(f"| {target} | {len(verdicts)} | {caught} | {len(verdicts) - caught} |")
    caught = sum(each["verdict"] == "caught" for each in mutants)
    lines.append(f"| **all** | {len(mutants)} | {caught} | {len(mutants) - caught} |")
    return lines


def survivors(mutants: list[dict]) -> list[str]:
    targets: dict[tuple[str, str, str], list[str]] = {}
    for each in mutants:
        if each["verdict"] == "caught":
            continue
        access = f"{each['operation']} {each['order']}"
        key = (access, each["position"].removeprefix("syncopate::"), each["reason"] or "unknown")
        targets.setdefault(key, []).append(each["target"])
    lines = ["| access | where | of | why it stays |", "|---|---|---|---|"]
    for (access, position, reason), names in sorted(targets.items(), key=lambda item: item[0][1]):
        lines.append(f"| {access} | `{position}` | {', '.join(sorted(names))} | {reason} |")
    return lines


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        sys.stderr.write(__doc__ or "")
        return 2
    report = json.load(sys.stdin)
    mutants = [each for each in report["mutants"] if not OF_A_TEST.search(each["position"])]
    parts = [HEAD, "", *totals(mutants), "", "## Survivors", "", *survivors(mutants)]
    Path(arguments[0]).write_text("\n".join(parts).replace("\n\n\n", "\n\n") + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
