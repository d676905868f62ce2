#!/usr/bin/env python3
"""TSX for HPC, table 1, with the original STAMP."""

import sys
from dataclasses import replace

import tsx_hpc_fig2_original as figure2
import tsx_hpc_table1 as rewritten
from common import Point, main


def points(quick: bool) -> list[Point]:
    return [each for each in figure2.points(quick) if each.series in rewritten.SYSTEMS]


FIGURE = replace(
    rewritten.FIGURE,
    name="tsx_hpc_table1_original",
    title="Aborted transactions of the original STAMP (TSX for HPC, table 1)",
    points=points,
    beyond="",
    original="stamp",
    kept="tsx_hpc_fig2_original",
    notes=figure2.NOTES.partition(" The paper plots")[0] + " The runs are those of figure 2. An"
    " attempt is each begin of a transaction, again after an abort, too.",
)

if __name__ == "__main__":
    sys.exit(main(FIGURE))
