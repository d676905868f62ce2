#!/usr/bin/env python3
"""Elided interpreter lock, figures 5, 8 and 9: the NAS kernels, on a 4-core Xeon E3-1275 v3."""

import sys

from common import main
from ruby_gil import HASWELL
from ruby_gil_kernels import figure

FIGURE = figure(
    "ruby_gil_fig5_xeon",
    HASWELL,
    "Kernels with the elided interpreter lock, 4-core Xeon E3-1275 v3 (figures 5, 8, 9)",
)

if __name__ == "__main__":
    sys.exit(main(FIGURE))
