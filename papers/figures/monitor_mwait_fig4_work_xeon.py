#!/usr/bin/env python3
"""Akkan, Lang & Ionkov, figure 4: the taskbench against the work of a task, on a Xeon of today."""

import sys

from common import main
from monitor_mwait import XEON
from monitor_mwait_fig4_work import figure

FIGURE = figure(XEON)

if __name__ == "__main__":
    sys.exit(main(FIGURE))
