"""`syncopate bench list`."""

import json
import textwrap

from syncopate.base import terminal
from syncopate.base.arguments import Parser
from syncopate.bench.suites import Suite, find_suite
from syncopate.bench.suitetable import SUITES
from syncopate.machines import machinefiles


def main(arguments: list[str]) -> int:
    parser = Parser("bench list", description="Shows the suites that `bench run` can run.")
    parser.add_argument("suite", nargs="?", metavar="SUITE", help="only this one")
    parser.add_argument("--json", action="store_true", help="as JSON")
    options = parser.parse_args(arguments)
    names = [find_suite(options.suite, SUITES)[0]] if options.suite else list(SUITES)
    if options.json:
        print(json.dumps({name: described(SUITES[name]) for name in names}, indent=1))
        return 0
    show = terminal.console().print
    for name in names:
        rows = described(SUITES[name])
        show(f"{name}: {rows.pop('summary')}", style="bold")
        for label, items in rows.items():
            text = ", ".join(items) or "-"
            show(
                textwrap.fill(text, 96, initial_indent=f"  {label:9} ", subsequent_indent=" " * 12)
            )
    show("\nsimulated machines: " + ", ".join(machinefiles.files()))
    return 0


def described(suite: Suite) -> dict:
    """What a user can choose in a suite."""
    return {
        "summary": suite.summary,
        "programs": list(suite.programs),
        "variants": [*suite.variants, *(f"{prefix}NAME" for prefix in suite.families)],
        "sizes": list(suite.sizes),
        "metrics": [
            f"{metric.name} ({metric.unit})".replace(" ()", "") for metric in suite.metrics
        ],
        "machines": suite.machines().split(", "),
        "papers": list(suite.papers),
    }
