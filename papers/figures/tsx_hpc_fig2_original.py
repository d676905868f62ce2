#!/usr/bin/env python3
"""TSX for HPC, figure 2, with the original STAMP."""

import sys
from dataclasses import replace

import tsx_hpc_fig2 as rewritten
from common import Point, main
from originals import STAMP, pinned, stamp
from sweep import seeded

FORMS = {rewritten.SINGLE: "sgl", rewritten.TL2: "stm", rewritten.TSX: "tsx"}
ENDS = (rewritten.THREADS[0], rewritten.THREADS[-1])


def points(quick: bool) -> list[Point]:
    found = [
        stamp(name, series, n, form)
        for name in STAMP
        for series, form in FORMS.items()
        for n in (ENDS if quick else rewritten.THREADS)
        # Its runs are the longest, and no row is about its lock.
        if (name, form) != ("bayes", "sgl") or n == 1
    ]
    return seeded(
        found, lambda point: not quick and point.x in ENDS and point.panel in rewritten.COMPARED
    )


NOTES = (
    f"The programs are the original ones ({pinned('stamp')}), built unmodified by `syncopate bench"
    " originals`, with the sizes that their README files recommend for simulators; those for real"
    " machines, which the paper has, are 100 to 1000 times as large. A run counts if the program"
    " finds its own result right. The time is that of the parallel regions. The paper plots"
    " execution times; these are their inverses. tl2 is this project's (src/tm), which the programs"
    " reach as they reach their own, by a call for each access to what is shared; it runs on the"
    " modeled machine itself, which charges each load and store of it at its latency, one after the"
    " other. bayes and kmeans are in no row: the paper discounts them, as their results depend on"
    " the order of the computations."
)

FIGURE = replace(
    rewritten.FIGURE,
    name="tsx_hpc_fig2_original",
    title="The original STAMP (TSX for HPC, figure 2)",
    points=points,
    beyond="",
    original="stamp",
    notes=NOTES,
)

if __name__ == "__main__":
    sys.exit(main(FIGURE))
