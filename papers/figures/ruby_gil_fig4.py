#!/usr/bin/env python3
"""Elided interpreter lock, figure 4: the While and Iterator microbenchmarks, on a 12-core zEC12."""

import sys

from common import main
from ruby_gil import ZEC12
from ruby_gil_micro import figure

FIGURE = figure(
    "ruby_gil_fig4",
    ZEC12,
    "While and Iterator without waiting for the interpreter lock (figure 4)",
)

if __name__ == "__main__":
    sys.exit(main(FIGURE))
