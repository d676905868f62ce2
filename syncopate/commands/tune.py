"""`syncopate tune`: find what makes a program faster, and prove it."""

import re
import shlex

from syncopate.base import locktable, wholefile
from syncopate.base.arguments import MOST_SECONDS, Parser
from syncopate.base.errors import BAD_USE, Failure
from syncopate.tuning.metric import Metric
from syncopate.tuning.runner import Runner
from syncopate.tuning.session import Session

UNITS = {"s": 1, "m": 60, "h": 3600}


def _parser() -> Parser:
    parser = Parser(
        "tune",
        description="Runs a program many times, with other locks and without, and writes what is\n"
        "better to a policy file, if anything is; `syncopate run --policy FILE` applies it.\n"
        "Its output is not shown. Nothing else should run on the machine meanwhile.",
        epilog="Exit status: 0, also when nothing is better; 1 the program failed, 2 bad use,\n"
        "130 interrupted (143 by SIGTERM, 129 by SIGHUP): what was found by then is written.",
    )
    parser.add_argument(
        "--metric",
        default="wall",
        metavar="WHAT",
        help="wall: time of the run (default); REGEX: the number in its group, in the last place"
        " of the output that matches; command:COMMAND: the number that it prints after each"
        " run; larger is better, but for wall",
    )
    parser.add_argument(
        "--smaller-is-better", action="store_true", help="the metric is a cost, as wall always is"
    )
    parser.add_argument(
        "--budget", default="10m", metavar="TIME", help="such as 90s (default: 10m)"
    )
    parser.add_argument(
        "--locks", metavar="NAME[:WAIT],...", help="try these only (default: all that may help)"
    )
    parser.add_argument(
        "-o", "--output", default="policy.toml", metavar="FILE", help="the policy (%(default)s)"
    )
    parser.add_argument(
        "--server", metavar="COMMAND", help="the program is a server: this command starts it"
    )
    parser.add_argument(
        "--load",
        metavar="COMMAND",
        help="and this one is its load, whose end is the run's; {port} in both: a free port",
    )
    parser.add_argument("program", nargs="*", metavar="PROGRAM", help="and its arguments, after --")
    return parser


def main(arguments: list[str]) -> int:
    parser = _parser()
    # argparse would look for options among the program's arguments.
    end = arguments.index("--") if "--" in arguments else len(arguments)
    options = parser.parse_args(arguments[:end])
    command = [*options.program, *arguments[end + 1 :]]
    wholefile.check_place(options.output, "tune: -o")
    metric = Metric.parse(options.metric, options.smaller_is_better)
    named = options.locks.split(",") if options.locks else []
    only = [locktable.check_choice(name) for name in named]
    if "glibc" in only:  # beside which no single lock is chosen
        raise Failure("tune: --locks glibc: that is the program as it is; leave it out", BAD_USE)
    return Session(
        Runner(metric, *_commands(options, command)),
        seconds_of(options.budget),
        only,
        options.output,
    ).run()


def _commands(options, command: list[str]) -> tuple[list[str], list[str]]:
    """The program's command, or the load's; and the server's, or none."""
    if bool(options.server) != bool(options.load):
        raise Failure("tune: --server and --load go together", BAD_USE)
    if not options.server:
        if not command:
            raise Failure("tune: no program named; try `syncopate tune -- PROGRAM`", BAD_USE)
        return command, []
    if command:
        raise Failure("tune: with --server, the program is the server's; name no other", BAD_USE)
    try:
        return shlex.split(options.load), shlex.split(options.server)
    except ValueError as error:
        raise Failure(f"tune: --server or --load: {error}", BAD_USE) from None


def seconds_of(text: str) -> float:
    """The seconds of "90", "90s", "10m" or "1h"."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text)
    budget = float(found[1]) * UNITS[found[2] or "s"] if found else 0.0
    if not 0 < budget < MOST_SECONDS:
        raise Failure(f"--budget {text}: a time such as 90s, 10m or 1h is wanted", BAD_USE)
    return budget
