#!/usr/bin/env python3
"""Figure 10: without the readers/writer lock that every transaction of GCC's library takes."""

import sys

from common import Claim, Results, main
from gcc_tm import compared, figure
from rules import inside, less

NO_LOCK = "@encounter_time:none"
SERIES = [f"{branch}-on-commit{more}" for branch in ("ip", "it") for more in ("", NO_LOCK)]


def claims(results: Results) -> list[Claim]:
    made = []
    for branch in ("ip", "it"):
        made += compared(
            results, "at high thread counts that lock is the primary source of overhead",
            f"{branch}-on-commit{NO_LOCK}", f"{branch}-on-commit", less(clearly=True),
            "its one cache line does not travel far between two processors", at_most=True,
        )  # fmt: skip
    return made + compared(
        results, "performance is within 30 % of the baseline", f"ip-on-commit{NO_LOCK}", "locks",
        inside(0.7, 1.3), "every access of a section is a call, and nothing hides it",
        headline="within 30 % of the time of locks, without the readers/writer lock",
    )  # fmt: skip


FIGURE = figure("fig10", "without the readers/writer lock", SERIES, claims)

if __name__ == "__main__":
    sys.exit(main(FIGURE))
