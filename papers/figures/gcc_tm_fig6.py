#!/usr/bin/env python3
"""Figure 6 and table 2: volatiles and reference counts as transactions, too."""

import sys

from common import Claim, Results, main
from gcc_tm import branches, compared, figure, table_rows
from rules import more

STAGES = ("callable", "max")


def claims(results: Results) -> list[Claim]:
    made = []
    for branch in ("ip", "it"):
        made += compared(results, "performance degrades at all numbers of threads",
                         f"{branch}-max", f"{branch}-callable", more(),
                         "more transactions, but fewer of them alone")  # fmt: skip
    made += compared(results, "IT-Max: the slowdown is more pronounced than IP-Max's", "it-max",
                     "ip-max", more(), "its transactions are fewer by half")  # fmt: skip
    return [*made, *table_rows(results, 2, "max")]


FIGURE = figure("fig6", "maximal", branches(*STAGES), claims, (2, STAGES))

if __name__ == "__main__":
    sys.exit(main(FIGURE))
