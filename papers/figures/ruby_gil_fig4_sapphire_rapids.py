#!/usr/bin/env python3
"""Elided interpreter lock, figure 4: the While and Iterator microbenchmarks, on Sapphire Rapids."""

import sys

from common import main
from ruby_gil import SAPPHIRE_RAPIDS
from ruby_gil_micro import figure

FIGURE = figure(
    "ruby_gil_fig4_sapphire_rapids",
    SAPPHIRE_RAPIDS,
    "While and Iterator without waiting for the interpreter lock, Sapphire Rapids (figure 4)",
)

if __name__ == "__main__":
    sys.exit(main(FIGURE))
