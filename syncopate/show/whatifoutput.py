"""The answers of `syncopate simulate --from` as a table with bars, as JSON and as a picture."""

import json
import os

from syncopate.base import figurefile, wholefile
from syncopate.base.errors import BAD_USE, Failure
from syncopate.records.lockuse import LockUse

SCHEMA, VERSION = "syncopate-whatif", 1
BAR = 24  # columns of the longest bar


def check(options: dict[str, str]) -> None:
    """Complains about files that cannot be written, before the runs: they may take long."""
    if "--figure" in options:
        figurefile.check(options["--figure"])
    if "--json" in options:
        if not options["--json"].endswith(".json"):
            raise Failure(f"--json {options['--json']}: give the file a name in .json", BAD_USE)
        wholefile.check_place(options["--json"], "simulate: --json")


def show(use: LockUse, machine: str, answers: list) -> None:
    """What the record says of the lock, the table, and what was assumed."""
    from rich.table import Table

    from syncopate.base import terminal, units

    console = terminal.console()
    share = use.contended / use.acquisitions if use.acquisitions else 0.0
    outside = sum(thread.outside_ns for thread in use.threads) / len(use.threads)
    console.print(
        f"{use.name}: {_several(use.acquisitions, 'section')} of {units.duration(use.hold_ns)},"
        f" {units.duration(outside)} of work between them, {units.percent(share)} waited;"
        f" recorded with {_several(len(use.threads), 'thread')} at a time on"
        f" {_several(use.processors, 'processor')},"
        f" lock {use.algorithm}\n"
    )
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("what if", "threads", "now/s", "then/s", "gain", "range", ""):
        left = heading in ("what if", "")
        table.add_column(heading, justify="left" if left else "right", no_wrap=True)
    largest = max(answer.gain for answer in answers)
    for answer in answers:
        table.add_row(
            answer.label,
            str(answer.threads),
            f"{answer.before:,.0f}",
            f"{answer.after:,.0f}",
            f"{answer.gain:.2f}x",
            f"{answer.low:.2f}-{answer.high:.2f}",
            "█" * round(BAR * answer.gain / largest),
        )
    console.print(table)
    if held := against_record(use, answers):
        console.print(f"\n{held}")
    console.print(f"\nSimulated on {machine}. Sections a second, of this lock alone. Assumed:")
    for line in dict.fromkeys(use.assumptions):
        console.print(f"  - {line}")


def _several(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"


def document(use: LockUse, machine: str, answers: list[dict]) -> dict:
    """What --json writes; docs/reference/json.md says what the fields mean."""
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "machine": os.path.abspath(machine),
        "lock": {
            "name": use.name,
            "algorithm": use.algorithm,
            "acquisitions": use.acquisitions,
            "contended": use.contended,
            "hold_ns": use.hold_ns,
            "members": use.members,
            "threads": len(use.threads),
            "outside_ns": [thread.outside_ns for thread in use.threads],
            "reads_percent": use.reads,
            "asleep_share": use.asleep_share(),
            "asleep_runs_share": use.runs,
            "recorded_rate": use.rate,
        },
        "assumptions": list(dict.fromkeys(use.assumptions)),
        "answers": answers,
    }


def against_record(use: LockUse, answers: list) -> str:
    """The replay without a change beside the record itself: on the recorded machine, how far off it
    is. Empty where that was not replayed."""
    as_recorded = [
        answer
        for answer in answers
        if answer.threads == len(use.threads)
        and answer.what.split("=")[0] not in ("rwlock", "elide")
    ]
    if not as_recorded:
        return ""
    first = as_recorded[0]
    held = " On the same machine, quiet, these should agree."
    if first.recorded:
        held += f" Ranges count a difference of {first.difference():.2f}x."
    return (
        f"As recorded: {use.rate:,.0f} sections a second; replayed unchanged:"
        f" {first.before:,.0f}.{held}"
    )


def write_json(path: str, use: LockUse, machine: str, answers: list[dict]) -> None:
    """Writes document() to a file. A Failure says why it cannot."""
    wholefile.write(path, [json.dumps(document(use, machine, answers), indent=1), "\n"])


def draw(path: str, use: LockUse, machine: str, answers: list) -> None:
    """Gains by number of threads, one line for each change, with error bars."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(9, 4))
    for label in dict.fromkeys(answer.label for answer in answers):
        mine = [answer for answer in answers if answer.label == label]
        gains = [answer.gain for answer in mine]
        below = [answer.gain - answer.low for answer in mine]
        above = [answer.high - answer.gain for answer in mine]
        places = [answer.threads for answer in mine]
        axis.errorbar(places, gains, yerr=[below, above], marker="o", capsize=3, label=label)
    axis.axhline(1, color="gray", linewidth=0.8)
    axis.set_xlabel("threads")
    axis.set_ylabel("predicted gain (new / old throughput)")
    axis.set_yscale("log")
    axis.set_title(f"{use.name}, simulated on {machine}", fontsize="medium")
    axis.legend(fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
    axis.grid(alpha=0.3)
    figure.tight_layout()
    try:
        figurefile.save(figure, path)
    finally:
        pyplot.close(figure)
