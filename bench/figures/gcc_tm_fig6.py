#!/usr/bin/env python3
"""Figure 6 and table 2: volatiles and reference counts as transactions, too."""

import sys

from common import Claim, Results, main
from gcc_tm import branches, compared, counted, figure, is_slower

STAGES = ("callable", "max")


def claims(results: Results) -> list[Claim]:
    made = []
    for branch in ("ip", "it"):
        made += compared(results, "performance degrades at all numbers of threads",
                         f"{branch}-max", f"{branch}-callable", is_slower,
                         "more transactions, but fewer of them alone")  # fmt: skip
    made += compared(results, "IT-Max: the slowdown is more pronounced than IP-Max's", "it-max",
                     "ip-max", is_slower, "its transactions are fewer by half")  # fmt: skip
    made.append(counted(results, "IP-Max: none begins alone, yet 4.8 % end so", "ip-max",
                        lambda c: c[2] == 0 and c[1] > 0.01 * c[0]))  # fmt: skip
    made.append(counted(results, "IT-Max: 8.8 % go alone on their way", "it-max",
                        lambda c: c[1] > 0.01 * c[0]))  # fmt: skip
    return made


FIGURE = figure("fig6", "maximal", branches(*STAGES), claims, (2, STAGES))

if __name__ == "__main__":
    sys.exit(main(FIGURE))
