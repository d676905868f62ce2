#!/usr/bin/env python3
"""Elided interpreter lock, figures 5, 8 and 9: the NAS kernels, on a 12-core zEC12."""

import sys

from common import main
from ruby_gil import ZEC12
from ruby_gil_kernels import figure

FIGURE = figure(
    "ruby_gil_fig5",
    ZEC12,
    "Kernels with the elided interpreter lock, 12-core zEC12 (figures 5, 8, 9)",
)

if __name__ == "__main__":
    sys.exit(main(FIGURE))
