"""The end of a search in words."""

from __future__ import annotations

import os
import platform
import shlex
import time

from syncopate import __version__
from syncopate.tuning.hotlocks import LEAST_LOST
from syncopate.tuning.plan import Outcome
from syncopate.tuning.policyfile import gain
from syncopate.tuning.search import Verdict


def nothing(outcome: Outcome, names: dict[int, str], lost: float | None, runs: int) -> str:
    text = f"no change is better than what you have, as far as {runs} runs can tell"
    tried = [outcome.verdict] if outcome.verdict else outcome.rejected
    if tried:
        best = min(tried, key=lambda each: each.ratio.value)
        return f"{text}; the best of what was tried: {best.choice.text(names)}: {gain(best)}"
    if lost is not None and lost < LEAST_LOST and runs <= 1:
        return f"no change is better than what you have: locks cost {lost * 100:.2f} % of its time"
    return text


def better(outcome: Outcome, names: dict[int, str], path: str, command: list[str]) -> str:
    lines = [f"better than what you have: {gain(outcome.verdict)}"]
    lines += [f"  {outcome.verdict.choice.text(names)}"]
    run = shlex.join(["syncopate", "run", "--policy", path, "--", *command])
    return "\n".join([*lines, f"wrote {path}; to use it: {run}"])


def comments(verdict: Verdict, command: list[str], durations: list[float]) -> list[str]:
    """What stands at the top of the policy file: how all this is known."""
    return [
        f"Found by syncopate tune {__version__}, {time.strftime('%Y-%m-%d')}, measured on"
        f" {os.cpu_count()} processors, Linux {platform.release()}, {len(durations)} runs:",
        f"  {shlex.join(command)}",
        f"Against the program as it is: {gain(verdict)}",
    ]
