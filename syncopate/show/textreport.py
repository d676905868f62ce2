"""The report for a terminal."""

from __future__ import annotations

import shlex
import textwrap

from syncopate.base import terminal
from syncopate.base.units import count, duration, percent, several
from syncopate.records import account, findings, processes, waiting
from syncopate.records.lockfigures import named_processors, of_which_time
from syncopate.records.naming import without_starters
from syncopate.records.recordformat import HOLDER_COUNTS
from syncopate.show import (
    lockcolumns,
    openmptext,
    openwaittext,
    processtext,
    quiettext,
    runtext,
    sections,
    transactiontext,
)
from syncopate.show.lockcolumns import name_of

DETAILED = 5  # locks whose stacks are shown
FRAMES = 8  # of a stack
FOR = {  # a table's "for"
    "mutex_relock": "relock",
    "spinlock": "mutex",
    "semaphore_lock": "mutex",
    "futex_lock": "mutex",
}
BLOCK_ROWS = 10
MANY_THREADS = 12  # from here on who-blocks-whom tells threads apart by name only


def show(records: list[dict], pattern: str | None = None, view: dict | None = None) -> None:
    """`pattern`: of the names that the records' locks were chosen by; `view`: of all processes, as
    records/processes.py makes it of all that their records have."""
    console = terminal.console()
    if len(records) > 1:
        processtext.show(console, view or processes.of(records))
    busy = [results for results in records if _has_something(results) or len(records) == 1]
    for number, results in enumerate(busy):
        if number:
            console.print()
            console.rule()
        _show_one(console, results, pattern)
    for results in records:
        if results not in busy:
            console.print(
                f"{results['file']}: {_command(results)}: no lock to show; {_in_short(results)}",
                style="dim",
            )


def _has_something(results: dict) -> bool:
    return bool(results["locks"] or results["transactions"] or len(results["threads"]) > 1)


def _in_short(results: dict) -> str:
    """How long a program ran that has nothing else to show, and what it mostly did."""
    ran = runtext.ran(results["process"])
    parts = account.lines(results)
    return f"{ran}, {' '.join(parts[0].split())}" if parts else ran


def _show_one(console, results: dict, pattern: str | None) -> None:
    _heading(console, results)
    if results["transactions"]:
        return transactiontext.show(console, results["transactions"])
    _open_waits(console, results)
    _findings(console, results, pattern)
    for kind in sections.SECTIONS:
        locks = sections.of_section(results["locks"], kind)
        waited = [lock for lock in locks if _is_waited_for(lock)]
        if not locks:
            continue
        console.print(f"\n{sections.title_of(kind, results['process'])}", style="bold cyan")
        if waited:
            if kind in sections.LOST:
                _lost_table(console, waited)
            else:
                _wait_table(console, waited)
        idle = sum(lock["members"] for lock in locks if not _is_waited_for(lock))
        if idle:
            others = [lock for lock in locks if not _is_waited_for(lock)]
            taken = sum(lock["acquisitions"] for lock in others)
            in_part = any(lock.get("counted_in_part", False) for lock in others)
            uses = (
                f", taken {'once' if taken == 1 else f'{count(taken)} times'}{' or more' * in_part}"
                if kind in sections.LOST
                else ""
            )
            console.print(f"  {count(idle)} more that nobody waited for{uses}", style="dim")
    if any(lock["waits"] for lock in results["locks"]):
        console.print("\np50 and p99 are within half an octave", style="dim")
    if results["hidden"]:
        console.print(f"\n{several(results['hidden'], 'more row')}: use --top", style="dim")
    openmptext.arrivals(console, results)
    openmptext.region_ends(console, results)
    _interrupted(console, results)
    _elision(console, results)
    _speculation(console, results)
    _details(console, results, pattern)
    _blocks(console, results)


def _is_waited_for(lock: dict) -> bool:
    """Of a killed process a wait may begin with the last that is known of it."""
    return bool(lock["waited_ns"] or lock.get("open"))


def _command(results: dict) -> str:
    """The command line as a shell would take it, on one line."""
    return shlex.join(results["process"]["command"])


def ran_with(results: dict) -> str:
    if results["transactions"]:
        return f"transactions by {results['transactions']['algorithm']}"
    return runtext.ran_with(results["process"])


def _how_many(results: dict) -> str:
    threads = len(results["threads"])
    more = " or more" * results["process"]["more_threads"]
    some = " that met OpenMP's calls" * results["process"]["only_openmp"]
    return f"{count(threads)} thread{'s' * (threads != 1)}{more}{some}"


def _heading(console, results: dict) -> None:
    process = results["process"]
    console.print(_command(results), style="bold", overflow="ellipsis", no_wrap=True)
    console.print(
        f"process {process['id']}, {ran_with(results)}, {runtext.ran(process)},"
        f" {_how_many(results)} on {named_processors(results)}",
        style="dim",
    )
    if not results["transactions"]:
        console.print(
            f"Lost to locks: {percent(results['lost_share'])} of {of_which_time(results)}"
            f" ({duration(results['lost_ns'])} of {duration(results['thread_time_ns'])})"
            + account.perhaps_other(results),
            style="bold",
        )
        for line in account.lines(results):
            console.print(line)
    for sentence in waiting.sentences(results):
        console.print(sentence, style="dim")
    for note in results["notes"]:
        console.print(f"note: {note}", style="yellow")


def _called(results: dict) -> dict[str, str]:
    """By name, what the program's source calls the locks."""
    return {lock["name"]: lock["called"] for lock in results["locks"]}


def _open_waits(console, results: dict) -> None:
    """What threads wait for at the end of the record; deadlocks first."""
    for deadlock in results["deadlocks"]:
        console.print(f"\n{deadlock['sentence']}", style="bold red", highlight=False)
    waits = openwaittext.shown(results)
    if not waits:
        return
    console.print("\nWaits that are not over", style="bold cyan")
    shown, called = waits[: openwaittext.SHOWN], _called(results)
    columns = {
        "thread": [each["thread"] for each in shown],
        "waits for": [called.get(each["lock"], each["lock"]) for each in shown],
        "by": [each["kind"].replace("_", " ") for each in shown],
        "at": [each["place"] for each in shown],
        "waited": [openwaittext.how_long(each) for each in shown],
        "held by": [openwaittext.holders_of(each) for each in shown],
    }
    console.print(terminal.table(console, columns, ("by", "at")))
    if len(waits) > openwaittext.SHOWN:
        console.print(f"  {len(waits) - openwaittext.SHOWN} more in --json", style="dim")


def _findings(console, results: dict, pattern: str | None) -> None:
    """The worst locks in sentences."""
    from rich.text import Text

    costs = results["lost_share"] >= account.LARGE and bool(results["findings"])
    if pattern is None and not costs and not any(map(_is_worth_it, results["findings"])):
        quiettext.say_that_none_costs_much(console, results)
    for number, found in enumerate(results["findings"]):
        if number == 0:
            of_these = " of those chosen" * (pattern is not None)
            console.print(f"\nWhat costs most{of_these}", style="bold cyan")
        name = terminal.in_sentence(found["called"])
        name += f" x{count(found['members'])}" if found["members"] > 1 else ""
        console.print(Text.assemble((name, "bold"), f": {found['cost']}"))
        for title, texts in _lines_of(found):
            for text in texts:
                lines = textwrap.wrap(
                    f"{title}: {text}", console.width, initial_indent="  ", subsequent_indent="    "
                )
                console.print("\n".join(lines), style="dim" if title == "seen" else "")


def _is_worth_it(found: dict) -> bool:
    """Not where there is hardly anything to gain, and so nothing to do."""
    most = found["gain_at_most"]
    return bool(found["do"]) or most is None or most >= findings.HARDLY


def _lines_of(found: dict) -> list[tuple[str, list[str]]]:
    """What is said of one lock, by what it answers. How sure a reason is stands with it."""
    sure = {reason["why"]: reason["sure"] for reason in found["reasons"]}
    why = [f"{text} ({sure[text]})" if text in sure else text for text in found["why"]]
    return [
        ("gain", [found["gain"]] if found["gain"] else []),
        ("why", why),
        ("do", found["do"]),
        ("declared at", [found["declared"]] if found["declared"] else []),
        ("if", [_prediction(each) for each in found["predictions"]]),
        ("seen", [found["seen"]]),
    ]


def _prediction(of: dict) -> str:
    """What a replay on a modeled machine says of one change."""
    return (
        f"{of['label']}: {of['gain']:.2f}x as many sections a second ({of['low']:.2f} to"
        f" {of['high']:.2f}) with {of['threads']}"
        f" thread{'s' * (of['threads'] != 1)}, simulated on {of['machine']}"
        + (f", if {of['assumes']}" if of["assumes"] else "")
    )


def _lost_table(console, locks: list[dict]) -> None:
    """One row for each lock and kind of wait; narrow terminals do without the last columns."""
    rows = []
    for lock in locks:
        for number, (kind, waits) in enumerate(lock["waits"].items()):
            row = {"lock": "" if number else name_of(lock), "for": FOR.get(kind, kind)}
            for column in lockcolumns.in_text():
                known = column.needs != "counted" or lock["counted"]
                shown = column.shown(lock, waits) if known else "-"
                row[column.text] = "" if number and not column.of_waits else shown
            rows.append(row)
    titles = [title for title in rows[0] if title != "for" or _several_kinds(rows)]
    columns = {title: [row[title] for row in rows] for title in titles}
    console.print(terminal.table(console, columns, lockcolumns.optional()))


def _several_kinds(rows: list[dict]) -> bool:
    return any(row["for"] != "mutex" for row in rows)


def _wait_table(console, locks: list[dict]) -> None:
    waits = [(lock, waits) for lock in locks for waits in lock["waits"].values()]
    columns = {
        "lock": [name_of(lock) for lock, _ in waits],
        "waited": [duration(each["total_ns"]) for _, each in waits],
        "times": [count(each["count"]) for _, each in waits],
        "mean": [duration(each["mean_ns"]) for _, each in waits],
        "p50": [duration(each["p50_ns"]) for _, each in waits],
        "p99": [duration(each["p99_ns"]) for _, each in waits],
        "max": [duration(each["max_ns"]) for _, each in waits],
        "threads": [count(each["threads"]) for _, each in waits],
    }
    console.print(terminal.table(console, columns))


def _interrupted(console, results: dict) -> None:
    """Locks whose holders lost or gave up their processor, the most frequent first."""
    kinds = ("preempted", "slept")
    locks = [lock for lock in results["locks"] if any(interrupted(lock)[kind] for kind in kinds)]
    if not locks:
        return
    locks.sort(key=lambda lock: [-interrupted(lock)[kind] for kind in ("preemptions", "slept")])
    console.print("\nHolders that did not run on (among sampled holds)", style="bold cyan")
    of = [interrupted(lock) for lock in locks]
    columns = {
        "lock": [name_of(lock) for lock in locks],
        "holds seen": [count(each["watched"]) for each in of],
        "preempted": [count(each["preempted"]) for each in of],
        "share": [percent(each["preempted"] / each["watched"]) for each in of],
        "times": [count(each["preemptions"]) for each in of],
        "slept": [count(each["slept"]) for each in of],
        "of seen": [percent(each["slept"] / each["watched"]) for each in of],
    }
    console.print(terminal.table(console, columns))


def interrupted(lock: dict) -> dict:
    """What is known of a lock's holders that did not run on."""
    nothing = dict.fromkeys(("watched", *HOLDER_COUNTS), 0)
    return (lock["hold"] or {}).get("interrupted") or nothing


def _elision(console, results: dict) -> None:
    """What became of sections that ran as transactions, one line a lock."""
    elided = [lock for lock in results["locks"] if lock["elision"]]
    if not elided:
        return
    console.print("\nElided sections (aborted transactions by cause)", style="bold cyan")
    of = [lock["elision"] for lock in elided]
    columns = {
        "lock": [name_of(lock) for lock in elided],
        "attempts": [count(each["attempts"]) for each in of],
        "committed": [count(each["committed"]) for each in of],
        "fell back": [count(each["fell_back"]) for each in of],
    }
    for cause in of[0]["aborts"]:
        columns[cause.replace("_", " ")] = [count(each["aborts"][cause]) for each in of]
    console.print(terminal.table(console, columns))


def _speculation(console, results: dict) -> None:
    """What became of waiters' runs ahead, one line a lock or barrier."""
    locks = [lock for lock in results["locks"] if lock["speculation"]]
    if not locks:
        return
    console.print(
        "\nRuns ahead of locks and barriers (not whole: ended by cause)", style="bold cyan"
    )
    of = [lock["speculation"] for lock in locks]
    columns = {
        "lock": [name_of(lock) for lock in locks],
        "runs": [count(each["runs"]) for each in of],
        "whole": [count(each["whole"]) for each in of],
        **{cause: [count(each["aborts"][cause]) for each in of] for cause in of[0]["aborts"]},
        "lines each": [lines_each(each) for each in of],
        "left out": [count(each["left_out"]) for each in of],
        "trials": [count(each["trials"]) for each in of],
        "profit": ["-" if each["gain"] is None else f"{each['gain']:+.0%}" for each in of],
    }
    console.print(terminal.table(console, columns))


def lines_each(runs: dict) -> str:
    """Cache lines touched by one run; no processor tells them."""
    return f"{runs['lines'] / runs['runs']:.1f}" if runs["lines"] else "not told"


def _details(console, results: dict, pattern: str | None) -> None:
    """The two stacks of the heaviest locks, side by side where there is room."""
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    heavy = [lock for lock in results["locks"] if lock["lost_ns"]][:DETAILED]
    if not heavy and pattern is not None:
        console.print(f"\n{terminal.none_matches(pattern, bool(results['locks']))}", style="bold")
        return
    if not heavy:
        if not any(lock["open"] for lock in results["locks"]):
            quiettext.say_that_none_waited(console, results)
        return
    told = {found["lock"] for found in results["findings"]}
    console.print("\nWho waited, and who held it meanwhile", style="bold cyan")
    for lock in heavy:
        made = {"symbol": "in", "creation": "created at", "first use": "first used at"}
        where = f"{made[lock['named_by']]} {lock['place']}" if lock["named_by"] in made else ""
        said = Text(f"\n{name_of(lock)}", style="bold")
        console.print(said.append(f"  {where}" if where else "", style="not bold dim"))
        if worst := lock.get("worst"):
            console.print(
                f"  {percent(worst['share'])} of it at one of the {count(lock['members'])}:"
                f" {worst['called'] or worst['address']}"
                + (f", {worst['told_by']}" if worst["told_by"] else ""),
                style="dim",
            )
        if lock["unexplained"] and lock["name"] not in told:
            for line in textwrap.wrap(lock["unexplained"], console.width - 2):
                console.print(f"  {line}", style="dim")
        waiters, holders = _stacks("waited", lock["waiters"]), _stacks("held by", lock["holders"])
        if console.width >= 100:
            grid = Table.grid(padding=(0, 2), expand=True)
            grid.add_column(ratio=1)
            grid.add_column(ratio=1)
            grid.add_row(waiters, holders)
            console.print(Padding(grid, (0, 0, 0, 2)))
        else:
            console.print(Padding(waiters, (0, 0, 0, 2)))
            console.print(Padding(holders, (0, 0, 0, 2)))


def _own_frames(stack: dict) -> list[dict]:
    """A stack without what lies between program and lock, and between kernel and program."""
    return without_starters(stack["frames"][stack["wrapper_frames"] :])


def _stacks(title: str, stacks: list[dict]):
    from rich.text import Text

    text = Text(overflow="ellipsis", no_wrap=True)
    # Stacks are sampled: shares are of the time whose stacks were seen, and say so if not all was.
    seen = [stack for stack in stacks if stack["frames"]]
    known = 1 - sum(stack["share"] for stack in stacks if not stack["frames"])
    if not seen:
        text.append(f"{title}: no stack sampled", style="dim")
        return text
    for number, stack in enumerate(seen[:2]):
        share = percent(stack["share"] / known)
        text.append("\n" * (number > 0) + f"{title} {share}", style="italic")
        if number == 0 and known < 0.995:
            text.append(f"  (stacks seen for {percent(known)})", style="dim")
        own = _own_frames(stack)
        for frame in own[:FRAMES]:
            text.append(f"\n  {frame['function']}")
            place = frame["file"].rsplit("/", 1)[-1] if frame["file"] else ""
            if place:
                line = f":{frame['line']}" if frame["line"] else ""
                text.append(f" {place}{line}", style="dim")
        if len(own) > FRAMES:
            text.append(f"\n  ... {len(own) - FRAMES} more", style="dim")
    return text


def _blocks(console, results: dict) -> None:
    blocks = results["blocks"]
    if not blocks:
        return
    where = "in --json"
    if len(results["threads"]) > MANY_THREADS:
        blocks, where = _by_name(blocks), "of such names; --json has each thread's"
    console.print("\nWho blocks whom", style="bold cyan")
    total = sum(block["ns"] for block in blocks)
    shown, called = blocks[:BLOCK_ROWS], _called(results)
    columns = {
        "waiter": [block["waiter"] for block in shown],
        "holder": [block["holder"] for block in shown],
        "lock": [called.get(block["lock"], block["lock"]) for block in shown],
        "time": [duration(block["ns"]) for block in shown],
        "share": [percent(block["ns"] / total if total else 0) for block in shown],
    }
    console.print(terminal.table(console, columns))
    if len(blocks) > BLOCK_ROWS:
        console.print(f"  {several(len(blocks) - BLOCK_ROWS, 'more pair')} {where}", style="dim")


def _by_name(blocks: list[dict]) -> list[dict]:
    """Pairs of pools: with many threads, which one of a pool it was says little."""
    sums: dict[tuple[str, str, str], int] = {}
    for block in blocks:
        key = (_pool(block["waiter"]), _pool(block["holder"]), block["lock"])
        sums[key] = sums.get(key, 0) + block["ns"]
    ranked = sorted(sums.items(), key=lambda item: -item[1])
    return [
        {"waiter": waiter, "holder": holder, "lock": lock, "ns": ns}
        for (waiter, holder, lock), ns in ranked
    ]


def _pool(label: str) -> str:
    """A thread's label without its id and number: "worker-3/1234" is one of "worker-"."""
    name = label.rpartition("/")[0] or label
    return name.rstrip("0123456789") or name
