#!/usr/bin/env python3
"""Akkan, Lang & Ionkov, figure 6: barriers after 250 microseconds of work."""

import sys

from barriers import barrier_figure
from common import Figure, main
from monitor_mwait import OPTERON, Cores


def figure(cores: Cores) -> Figure:
    return barrier_figure(6, work=250_000, rounds=40, cores=cores)


FIGURE = figure(OPTERON)

if __name__ == "__main__":
    sys.exit(main(FIGURE))
