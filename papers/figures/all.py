#!/usr/bin/env python3
"""Makes every figure of this folder: `make figures`."""

import importlib
import sys
from pathlib import Path

from common import Figure, arguments, guarded, make_figure, need_matplotlib, not_built
from sweep import Refusal, Setting


def figures() -> list[Figure]:
    """What the folder's *_figN.py declare, simulated and measured."""
    folder = Path(__file__).parent
    paths = [*folder.glob("*_fig[0-9]*.py"), *folder.glob("*_table[0-9]*.py")]
    names = sorted(path.stem for path in paths)
    return [importlib.import_module(name).FIGURE for name in names]


def make_all() -> int:
    options = arguments("Every figure of the papers, on simulated machines.").parse_args()
    todo = [figure for figure in figures() if options.redraw or not figure.measure]
    need_matplotlib()
    if not options.redraw:
        lacking = {figure.name: not_built(figure, options) for figure in todo}
        print(*filter(None, lacking.values()), sep="\n", file=sys.stderr)
        todo = [figure for figure in todo if not lacking[figure.name]]
        # Everything is looked for before the first sweep, which may take minutes.
        for figure in todo:
            machine = options.machine or figure.machine
            Setting(machine, options.programs).check(figure.points(options.quick))
    status = 0
    for number, figure in enumerate(todo, 1):
        print(f"== figure {number} of {len(todo)}: {figure.title}", file=sys.stderr)
        try:
            status = max(status, make_figure(figure, options))
        except Refusal as refusal:  # Lua's figures need more than `make`
            print(refusal, file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(guarded(make_all, "figures"))
