#!/usr/bin/env python3
"""Figure 4 and table 1: memcached's locks as relaxed transactions."""

import sys

from common import Claim, Results, main
from gcc_tm import branches, compared, counted, counts, figure, is_same, is_slower, share

STAGES = ("relaxed", "callable")


def claims(results: Results) -> list[Claim]:
    made = compared(results, "semaphores for condition variables: negligible", "semaphores",
                    "locks", is_same, "the same code but for waking")  # fmt: skip
    made += compared(results, "item locks by privatization (IP) scale better than as transactions"
                     " (IT)", "it-callable", "ip-callable", is_slower,
                     "IP has two more transactions an item lock, and who fails yields")  # fmt: skip
    for branch in ("ip", "it"):
        made += compared(results, "no evidence that callable improves performance",
                         f"{branch}-callable", f"{branch}-relaxed", is_same,
                         "callable ones begin instrumented, and then once more alone")  # fmt: skip
        alone = [share(counts(results, f"{branch}-{stage}"), i) for stage in STAGES for i in (1, 2)]
        same = is_same(sum(alone[2:]) / max(sum(alone[:2]), 1e-9))
        made.append(counted(results, "callable does not change how many run alone",
                            f"{branch}-callable", lambda c, same=same: same))  # fmt: skip
    made.append(counted(results, "the IT branch: a larger share runs alone", "it-callable",
                        lambda c: share(c, 1) + share(c, 2) > 0.11))  # fmt: skip
    return made


FIGURE = figure("fig4", "baseline", branches(*STAGES), claims, (1, STAGES))

if __name__ == "__main__":
    sys.exit(main(FIGURE))
