#!/usr/bin/env python3
"""Akkan, Lang & Ionkov, figure 1: lock/unlock pairs, on a Xeon of today."""

import sys

from common import main
from monitor_mwait import XEON
from monitor_mwait_fig1 import figure

FIGURE = figure(XEON)

if __name__ == "__main__":
    sys.exit(main(FIGURE))
