#!/usr/bin/env python3
"""Figure 8 and table 3: library functions that are safe in transactions."""

import sys

from common import Claim, Results, main
from gcc_tm import CHEAP_ALONE, branches, compared, counted, figure, is_faster, is_slower

STAGES = ("callable", "max", "lib")


def claims(results: Results) -> list[Claim]:
    made = []
    for branch in ("ip", "it"):
        made += compared(results, "safe library functions: a notable improvement",
                         f"{branch}-lib", f"{branch}-max", is_faster,
                         CHEAP_ALONE)  # fmt: skip
    made += compared(results, "still not as good as IP-Callable", "it-lib", "ip-callable",
                     is_slower, "few transactions run alone any more")  # fmt: skip
    made.append(counted(results, "IP-Lib: fewer run alone, 2.4 % in flight", "ip-lib",
                        lambda c: c[1] + c[2] < 0.048 * c[0]))  # fmt: skip
    made.append(counted(results, "IT-Lib: fewer run alone, 7.6 % at start", "it-lib",
                        lambda c: c[1] + c[2] < 0.088 * c[0]))  # fmt: skip
    return made


FIGURE = figure("fig8", "safe library functions", branches(*STAGES), claims, (3, STAGES))

if __name__ == "__main__":
    sys.exit(main(FIGURE))
