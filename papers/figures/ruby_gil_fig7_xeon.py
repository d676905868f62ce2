#!/usr/bin/env python3
"""Elided interpreter lock, figure 7: a web server, on a 4-core Xeon E3-1275 v3."""

import sys

from common import main
from ruby_gil import HASWELL
from ruby_gil_http import figure

FIGURE = figure(
    "ruby_gil_fig7_xeon",
    HASWELL,
    "A web server with the elided interpreter lock, 4-core Xeon E3-1275 v3 (figure 7)",
)

if __name__ == "__main__":
    sys.exit(main(FIGURE))
