"""What a run is judged by: --metric, as a cost (positive, smaller is better)."""

import math
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass

from syncopate.base.errors import BAD_USE, Failure
from syncopate.tuning.search import Unjudged

# Commas stand between thousands. What looks like a number and is none of this form, as 12,5 and
# 1.234.567 and 1:30, is not read as another one.
_DIGITS = r"(?:[1-9]\d{0,2}(?:,\d{3})+|\d+)"
_NUMBER = re.compile(rf"(?<![\w.,])[-+]?(?:{_DIGITS}(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?", re.ASCII)
_GOES_ON = re.compile(r"[.,:_]?\d")
COMMAND_SECONDS = 60


@dataclass(frozen=True)
class Metric:
    """`kind` is wall, output (a regular expression with one group) or command."""

    kind: str
    text: str
    smaller_is_better: bool

    @classmethod
    def parse(cls, text: str, smaller_is_better: bool) -> "Metric":
        if text == "wall":
            return cls("wall", "", True)
        kind, _, rest = text.partition(":")
        if kind == "command" and rest:
            return cls(kind, rest, smaller_is_better)
        metric = cls("output", text, smaller_is_better)
        metric._check_expression()
        return metric

    def _check_expression(self) -> None:
        try:
            groups = re.compile(self.text).groups
        except re.error as error:
            raise Failure(
                f"--metric: '{self.text}' is no regular expression: {error}", BAD_USE
            ) from None
        if groups != 1:
            raise Failure(
                f"--metric: '{self.text}' must have one group, around the number, as in"
                " 'ops/s: ([0-9.]+)'; or say command:COMMAND",
                BAD_USE,
            )

    def cost(self, seconds: float, output: str) -> float:
        """The cost of a run that took so long and printed this. Raises Dropped without a number."""
        if self.kind == "wall":
            return max(seconds, 1e-9)
        text = self._found(output) if self.kind == "output" else self._printed()
        value = _number(text)
        if not sys.float_info.min <= value < math.inf:
            raise Unjudged(f"the metric is '{text.strip()[:40]}', and must be a number above zero")
        return value if self.smaller_is_better else 1 / value

    def _found(self, output: str) -> str:
        found = re.findall(self.text, output)
        if not found:
            raise Unjudged(f"its output has nothing that matches '{self.text}'")
        return found[-1]

    def _printed(self) -> str:
        try:
            done = subprocess.run(
                shlex.split(self.text),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=COMMAND_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired, ValueError) as error:
            raise Unjudged(f"the metric's command failed: {error}") from None
        if done.returncode != 0:
            raise Unjudged(f"the metric's command ended with status {done.returncode}")
        return done.stdout


def _number(text: str) -> float:
    """The first number in a text; 0 where there is none that can be read in one way only."""
    number = _NUMBER.search(text)
    if number is None or _GOES_ON.match(text, number.end()):
        return 0.0
    return float(number[0].replace(",", ""))
