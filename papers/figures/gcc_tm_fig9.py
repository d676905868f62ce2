#!/usr/bin/env python3
"""Figure 9 and table 4: waking and logging moved into onCommit handlers."""

import sys
from math import nan

from claims import claim
from common import Claim, Results, main
from gcc_tm import (
    CHEAP_ALONE,
    WHY_COUNTS,
    branches,
    compared,
    counts,
    figure,
    not_the_papers,
    table_rows,
)
from rules import equal, less

STAGES = ("callable", "lib", "on-commit")


def claims(results: Results) -> list[Claim]:
    made = compared(results, "running times drop to almost as low as IP-Callable's", "it-on-commit",
                    "ip-callable", equal(), CHEAP_ALONE)  # fmt: skip
    made += compared(results, "without serialization, item locks as transactions (IT) perform"
                     " better than by privatization (IP)", "it-on-commit", "ip-on-commit",
                     less(), "two more small transactions a command, less in them")  # fmt: skip
    it, ip = (counts(results, f"{branch}-on-commit")[3] for branch in ("it", "ip"))
    return [
        *made,
        *table_rows(results, 4, "on-commit", original="it-on-commit"),
        claim(
            "IT: fewer run alone after aborts than in IP (8K to 48K)",
            less(),
            {"it-on-commit": it / ip if ip else nan},
            WHY_NONE if ip == it == 0 else WHY_COUNTS["on-commit"],
            what=f"{it} to {ip}",
            beyond=not_the_papers(results.figure.machine),
        ),
    ]


WHY_NONE = "two processors run too few transactions at a time for any to abort so often"
FIGURE = figure("fig9", "onCommit handlers", branches(*STAGES), claims, (4, STAGES))

if __name__ == "__main__":
    sys.exit(main(FIGURE))
