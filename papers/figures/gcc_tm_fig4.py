#!/usr/bin/env python3
"""Figure 4 and table 1: memcached's locks as relaxed transactions."""

import sys
from math import nan

from claims import claim
from common import Claim, Results, main
from gcc_tm import WHY_COUNTS, alone, branches, compared, figure, table_rows
from rules import equal, more, no_loss

STAGES = ("relaxed", "callable")


def claims(results: Results) -> list[Claim]:
    made = compared(results, "semaphores for condition variables: negligible", "semaphores",
                    "locks", equal(), "the same code but for waking")  # fmt: skip
    made += compared(results, "item locks by privatization (IP) scale better than as transactions"
                     " (IT)", "it-callable", "ip-callable", more(),
                     "IP has two more transactions an item lock, and who fails yields",
                     at_most=True)  # fmt: skip
    for branch in ("ip", "it"):
        made += compared(results, "no evidence that callable improves performance",
                         f"{branch}-callable", f"{branch}-relaxed", no_loss(),
                         "callable ones begin instrumented, and then once more alone")  # fmt: skip
    share = {series: alone(results, series) for series in branches(*STAGES)}
    return [
        *made,
        *table_rows(results, 1, *STAGES),
        claim(
            "callable does not change how many run alone",
            equal(),
            {f"{branch}-callable": share[f"{branch}-callable"] / (share[f"{branch}-relaxed"] or nan)
             for branch in ("ip", "it")},
            WHY_COUNTS["callable"],
            what="share over that of relaxed",
        ),
        claim(
            "in the IT branch a larger share runs alone",
            more(),
            {f"it-{stage}": share[f"it-{stage}"] / (share[f"ip-{stage}"] or nan)
             for stage in STAGES},
            WHY_COUNTS["relaxed"],
            what="share over that of IP",
        ),
    ]  # fmt: skip


FIGURE = figure("fig4", "baseline", branches(*STAGES), claims, (1, STAGES))

if __name__ == "__main__":
    sys.exit(main(FIGURE))
