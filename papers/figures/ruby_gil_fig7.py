#!/usr/bin/env python3
"""Elided interpreter lock, figure 7: a web server, on a 12-core zEC12."""

import sys

from common import main
from ruby_gil import ZEC12
from ruby_gil_http import figure

FIGURE = figure(
    "ruby_gil_fig7",
    ZEC12,
    "A web server with the elided interpreter lock, 12-core zEC12 (figure 7)",
)

if __name__ == "__main__":
    sys.exit(main(FIGURE))
