#!/usr/bin/env python3
"""Akkan, Lang & Ionkov, figure 5: barriers after 1 microsecond of work."""

import sys

from barriers import barrier_figure
from common import Figure, main
from monitor_mwait import OPTERON, Cores


def figure(cores: Cores) -> Figure:
    return barrier_figure(5, work=1000, rounds=1000, cores=cores)


FIGURE = figure(OPTERON)

if __name__ == "__main__":
    sys.exit(main(FIGURE))
