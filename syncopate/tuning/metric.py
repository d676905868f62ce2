"""What a run is judged by: --metric, as a cost (positive, smaller is better)."""

import re
import shlex
import subprocess
from dataclasses import dataclass

from syncopate.base.errors import BAD_USE, Failure
from syncopate.tuning.search import Dropped

_NUMBER = re.compile(r"[-+]?(\d[\d,]*\.?\d*|\.\d+)([eE][-+]?\d+)?")
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
        kind, colon, rest = text.partition(":")
        if colon and kind in ("output", "command") and rest:
            metric = cls(kind, rest, smaller_is_better)
        else:
            metric = cls("output", text, smaller_is_better)
        if metric.kind == "output":
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
        number = _NUMBER.search(text)
        value = float(number[0].replace(",", "")) if number else 0.0
        if value <= 0:
            raise Dropped(f"the metric is '{text.strip()[:40]}', and must be a number above zero")
        return value if self.smaller_is_better else 1 / value

    def _found(self, output: str) -> str:
        found = re.findall(self.text, output)
        if not found:
            raise Dropped(f"its output has nothing that matches '{self.text}'")
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
            raise Dropped(f"the metric's command failed: {error}") from None
        if done.returncode != 0:
            raise Dropped(f"the metric's command ended with status {done.returncode}")
        return done.stdout
