#!/usr/bin/env python3
"""Elided interpreter lock, figure 7: a web server, on Sapphire Rapids."""

import sys

from common import main
from ruby_gil import SAPPHIRE_RAPIDS
from ruby_gil_http import figure

FIGURE = figure(
    "ruby_gil_fig7_sapphire_rapids",
    SAPPHIRE_RAPIDS,
    "A web server with the elided interpreter lock, Sapphire Rapids (figure 7)",
)

if __name__ == "__main__":
    sys.exit(main(FIGURE))
