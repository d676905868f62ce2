#!/usr/bin/env python3
"""Akkan, Lang & Ionkov, figure 4: energy of the taskbench, on a Xeon of today."""

import sys

from common import main
from monitor_mwait import XEON
from monitor_mwait_fig4 import figure

FIGURE = figure(XEON)

if __name__ == "__main__":
    sys.exit(main(FIGURE))
