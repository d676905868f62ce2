#!/usr/bin/env python3
"""Elided interpreter lock, figures 5, 8 and 9: the NAS kernels, on Sapphire Rapids."""

import sys

from common import main
from ruby_gil import SAPPHIRE_RAPIDS
from ruby_gil_kernels import figure

FIGURE = figure(
    "ruby_gil_fig5_sapphire_rapids",
    SAPPHIRE_RAPIDS,
    "Kernels with the elided interpreter lock, Sapphire Rapids (figures 5, 8, 9)",
)

if __name__ == "__main__":
    sys.exit(main(FIGURE))
