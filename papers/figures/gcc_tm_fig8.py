#!/usr/bin/env python3
"""Figure 8 and table 3: library functions that are safe in transactions."""

import sys
from math import nan

from claims import claim
from common import Claim, Results, main
from gcc_tm import CHEAP_ALONE, WHY_COUNTS, alone, branches, compared, figure, table_rows
from rules import less, more

STAGES = ("callable", "max", "lib")


def claims(results: Results) -> list[Claim]:
    made = []
    for branch in ("ip", "it"):
        made += compared(results, "safe library functions: a notable improvement",
                         f"{branch}-lib", f"{branch}-max", less(clearly=True),
                         CHEAP_ALONE)  # fmt: skip
    made += compared(results, "still not as good as IP-Callable", "it-lib", "ip-callable",
                     more(), "few transactions run alone any more")  # fmt: skip
    fewer = {
        f"{branch}-lib": alone(results, f"{branch}-lib") / (alone(results, f"{branch}-max") or nan)
        for branch in ("ip", "it")
    }
    return [
        *made,
        *table_rows(results, 3, "lib"),
        claim(
            "fewer transactions run alone",
            less(),
            fewer,
            WHY_COUNTS["lib"],
            what="share over that of max",
        ),
    ]


FIGURE = figure("fig8", "safe library functions", branches(*STAGES), claims, (3, STAGES))

if __name__ == "__main__":
    sys.exit(main(FIGURE))
