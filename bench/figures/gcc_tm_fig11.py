#!/usr/bin/env python3
"""Figure 11: algorithms and contention managers, with our own beside the paper's."""

import sys

from common import Claim, Results, main
from gcc_tm import ALONE, at_most_threads, compared, figure, is_same, is_slower

NO_MANAGER, BACKOFF, HOURGLASS = (f"ip-on-commit@encounter_time:{manager}"
                                  for manager in ("none", "backoff", "hourglass"))  # fmt: skip
LAZY, NOREC = "ip-on-commit@lazy:none", "ip-on-commit@norec:none"
OURS = ["ip-on-commit@two_phase:none", "ip-on-commit@auto"]
STATED_ABORTS = {NOREC: 0.2, LAZY: 14, NO_MANAGER: 12.6}


def aborts(results: Results, series: str) -> Claim:
    """Per commit, at the most threads; the paper: at 12."""
    run = results.run(ALONE, series, max(results.xs(ALONE))) or {}
    found, stated = run.get("aborts", float("nan")), STATED_ABORTS[series]
    return Claim(
        f"{series.partition('@')[2]}: {stated:g} aborts per commit at 12 threads",
        f"{ALONE}: {found:.3g} at {max(results.xs(ALONE))} threads",
        stated / 2 <= found <= stated * 2,
        "two transactions at most run at the same moment on two processors",
    )


def claims(results: Results) -> list[Claim]:
    made = compared(results, "hourglass best matches no contention management", HOURGLASS,
                    NO_MANAGER, is_same, "the machine's other load")  # fmt: skip
    made += compared(results, "back-off performs poorly at many threads", BACKOFF, NO_MANAGER,
                     is_slower, "there are few aborts to back off from",
                     at_most_threads)  # fmt: skip
    for series, name in ((LAZY, "lazy"), (NOREC, "NOrec")):
        made += compared(results, f"GCC's algorithm has lower latency than {name}", series,
                         NO_MANAGER, is_slower,
                         "our redo log holds words and reads them from there")  # fmt: skip
    return made + [aborts(results, series) for series in STATED_ABORTS]


FIGURE = figure("fig11", "algorithms and contention managers",
                [NO_MANAGER, BACKOFF, HOURGLASS, LAZY, NOREC, *OURS], claims)  # fmt: skip

if __name__ == "__main__":
    sys.exit(main(FIGURE))
