#!/usr/bin/env python3
"""Akkan, Lang & Ionkov, figure 5: barriers after 1 microsecond of work."""

import sys

from barriers import figure
from common import main

FIGURE = figure(5, work=1000, rounds=1000)

if __name__ == "__main__":
    sys.exit(main(FIGURE))
