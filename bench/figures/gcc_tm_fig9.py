#!/usr/bin/env python3
"""Figure 9 and table 4: waking and logging moved into onCommit handlers."""

import sys

from common import Claim, Results, main
from gcc_tm import (
    CHEAP_ALONE,
    branches,
    compared,
    counted,
    counts,
    figure,
    is_faster,
    is_same,
)

STAGES = ("callable", "lib", "on-commit")


def claims(results: Results) -> list[Claim]:
    made = compared(results, "running times drop to almost as low as IP-Callable's", "it-on-commit",
                    "ip-callable", lambda r: is_same(r) or is_faster(r),
                    CHEAP_ALONE)  # fmt: skip
    made += compared(results, "without serialization, item locks as transactions (IT) perform"
                     " better than by privatization (IP)", "it-on-commit", "ip-on-commit",
                     is_faster, "two more small transactions a command, less in them")  # fmt: skip
    for branch in ("ip", "it"):
        made.append(counted(results, "no transaction begins alone or goes so on its way",
                            f"{branch}-on-commit", lambda c: c[1] == c[2] == 0))  # fmt: skip
    fewer = counts(results, "it-on-commit")[3] <= counts(results, "ip-on-commit")[3]
    made.append(counted(results, "IT: fewer run alone after aborts than in IP (8K to 48K)",
                        "it-on-commit", lambda c: fewer))  # fmt: skip
    return made


FIGURE = figure("fig9", "onCommit handlers", branches(*STAGES), claims, (4, STAGES))

if __name__ == "__main__":
    sys.exit(main(FIGURE))
