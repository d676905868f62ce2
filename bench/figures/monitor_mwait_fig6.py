#!/usr/bin/env python3
"""Akkan, Lang & Ionkov, figure 6: barriers after 250 microseconds of work."""

import sys

from barriers import figure
from common import main

FIGURE = figure(6, work=250_000, rounds=40)

if __name__ == "__main__":
    sys.exit(main(FIGURE))
