#!/usr/bin/env python3
"""Figure 11: algorithms and contention managers, with our own beside the paper's."""

import math
import sys

from claims import claim
from common import Claim, Results, main
from gcc_tm import ALONE, OWN_PANEL, compared, figure, not_the_papers
from rules import equal, more, number

NO_MANAGER, BACKOFF, HOURGLASS = (f"ip-on-commit@encounter_time:{manager}"
                                  for manager in ("none", "backoff", "hourglass"))  # fmt: skip
LAZY, NOREC = "ip-on-commit@lazy:none", "ip-on-commit@norec:none"
OURS = ["ip-on-commit@two_phase:none", "ip-on-commit@auto"]
STATED_ABORTS = {NOREC: 0.2, LAZY: 14, NO_MANAGER: 12.6}


def aborts(results: Results) -> Claim:
    """Per commit, at the most threads; the paper: at 12."""
    most_threads = max(results.xs(ALONE))
    names = {series: series.partition("@")[2] for series in STATED_ABORTS}
    runs = {series: results.run(ALONE, series, most_threads) or {} for series in names}
    others = not_the_papers(results.figure.machine)
    return claim(
        "aborts per commit at 12 threads",
        number({f"{ALONE}: {names[s]}": stated for s, stated in STATED_ABORTS.items()}, None),
        {f"{ALONE}: {names[s]}": run.get("aborts", math.nan) for s, run in runs.items()},
        "two transactions at most run at the same moment on two processors",
        unit="",
        beyond="; ".join(filter(None, (OWN_PANEL, others))),
    )


def claims(results: Results) -> list[Claim]:
    made = compared(results, "hourglass best matches no contention management", HOURGLASS,
                    NO_MANAGER, equal(), "the machine's other load")  # fmt: skip
    made += compared(results, "back-off performs poorly at high thread counts", BACKOFF, NO_MANAGER,
                     more(), "there are few aborts to back off from", at_most=True)  # fmt: skip
    for series, name in ((LAZY, "lazy"), (NOREC, "NOrec")):
        made += compared(results, f"GCC's algorithm has lower latency than {name}", series,
                         NO_MANAGER, more(),
                         "our redo log holds words and reads them from there")  # fmt: skip
    return [*made, aborts(results)]


FIGURE = figure("fig11", "algorithms and contention managers",
                [NO_MANAGER, BACKOFF, HOURGLASS, LAZY, NOREC, *OURS], claims)  # fmt: skip

if __name__ == "__main__":
    sys.exit(main(FIGURE))
