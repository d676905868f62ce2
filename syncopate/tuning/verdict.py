"""The end of a search in words."""

from __future__ import annotations

import os
import platform
import shlex
import time

from syncopate import __version__
from syncopate.base.shown import shown, typed, typed_file
from syncopate.base.units import several
from syncopate.tuning.hotlocks import LEAST_LOST
from syncopate.tuning.plan import Outcome
from syncopate.tuning.policyfile import gain
from syncopate.tuning.runner import PORT
from syncopate.tuning.search import Verdict

NAMED = "PORT"  # what stands for a port in what is told


def nothing(
    outcome: Outcome, names: dict[int, str], lost: float | None, runs: int, interrupted: bool
) -> str:
    """`lost`: to locks, of all thread time, where that is known. `runs`: the first is the program
    as it is, and what is behind one that failed is not counted."""
    if runs <= 1:
        if interrupted:
            return "nothing else was tried"
        if lost is not None and lost < LEAST_LOST:
            return f"nothing else was tried: locks cost {lost * 100:.2f} % of its time"
        return "nothing else was tried: too little time was left; give it more with --budget"
    text = f"no change is better than what you have, as far as {several(runs, 'run')} can tell"
    compared = [each for each in outcome.rejected if each.against.as_is]
    if outcome.verdict or compared:
        last = outcome.verdict or min(compared, key=lambda each: each.ratio.value)
        what = "what was left at the end" if outcome.verdict else "the best of what was compared"
        return f"{text}; {what}: {shown(last.choice.text(names))}: {gain(last)}"
    return text


def better(
    outcome: Outcome, names: dict[int, str], path: str, command: list[str], has_port: bool = False
) -> str:
    """`has_port`: the command has a port for the reader to choose (of_server)."""
    lines = [f"better than what you have: {gain(outcome.verdict)}"]
    lines += [f"  {shown(outcome.verdict.choice.text(names))}"]
    run = f"syncopate run --policy {typed_file(path)} -- {' '.join(map(typed, command))}"
    where = f" ({NAMED}: the one that it is to have)" if has_port else ""
    return "\n".join([*lines, f"wrote {shown(path)}; to use it: {run}{where}"])


def of_server(command: list[str]) -> list[str]:
    """A server's command for the reader: in nobody else's runs a port takes the place of {port}."""
    return [word.replace(PORT, NAMED) for word in command]


def comments(verdict: Verdict, command: list[str], durations: list[float]) -> list[str]:
    """What stands at the top of the policy file: how all this is known."""
    return [
        f"Found by syncopate tune {__version__}, {time.strftime('%Y-%m-%d')}, measured on"
        f" {several(len(os.sched_getaffinity(0)), 'processor')}, Linux {platform.release()},"
        f" {several(len(durations), 'run')}:",
        f"  {shlex.join(command)}",
        f"Against the program as it is: {gain(verdict)}",
    ]
