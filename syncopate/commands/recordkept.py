"""What is left to do when a recording has ended: what was measured, the bundle, and where it is."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import sys

from syncopate.base.errors import Failure
from syncopate.base.shown import shown, typed_file
from syncopate.launch import openmp
from syncopate.machines import energy, machine
from syncopate.records import recordfile, recordformat, recordstamps


def keep_measured(
    record: str,
    meters: energy.Session,
    seconds: float,
    used: resource.struct_rusage | None = None,
) -> None:
    """Adds energy and processor time to the record, as far as they fit in. `used`: of the program
    and its children; None: of all that we have waited for."""
    used = used or resource.getrusage(resource.RUSAGE_CHILDREN)
    found = {
        "seconds": round(seconds, 6),
        "user_seconds": used.ru_utime,
        "system_seconds": used.ru_stime,
        **meters.finish(),
        **limit_of("self"),  # of the program: it was ours
    }
    while len(text := json.dumps(found)) > recordformat.MEASURED.size:
        (found["rejected"] or found["meters"]).pop()
    keep(record, text)
    for child in recordstamps.children_of(record):
        keep_limit(child, limit_of("self"))


def limit_of(process: int | str) -> dict[str, float]:
    """What limits the processor time of a process, as a part of what was measured; none: {}."""
    limit = machine.processor_limit(process)
    return {} if limit is None else {"processor_limit": limit}


def keep(record: str, text: str) -> None:
    with contextlib.suppress(OSError, Failure):  # there is none, which say_where() tells
        recordstamps.write_measured(record, text)


def keep_limit(record: str, limit: dict[str, float]) -> None:
    """Adds what limits a process to a record of which nothing else is measured."""
    if limit:
        keep(record, json.dumps(limit))


def is_kept(record: str, named: str, options: dict) -> bool:
    """Writes the bundle that was asked for and says where what is. Returns: whether it is
    there."""
    is_packed = pack(options, record)
    if "--quiet" not in options:
        say_where(record, named, options)
    return is_packed


def pack(options: dict, record: str) -> bool:
    """Writes the bundle that was asked for; what is wrong with it is one line, since the program
    has run, and its record is there. Returns: whether nothing is."""
    if "--bundle" not in options or not os.path.exists(record):
        return True
    from syncopate.records import bundle  # here: most recordings need neither

    named = options["--bundle"]
    try:
        bundle.of_records(named, [record, *recordstamps.children_of(record)])
    except Failure as failure:
        print(f"syncopate: {failure}", file=sys.stderr)
        return False
    if "--quiet" not in options:
        print(f"syncopate: wrote {shown(named)}", file=sys.stderr)
    return True


def say_where(record: str, named: str, options: dict) -> None:
    where = shown(named)
    if not os.path.exists(record):
        needs = ""
        if "--tm" in options:
            needs = ", or does not use libitm.so.1 (compile with -fgnu-tm)"
        elif openmp.wanted(options):
            needs = ", or calls no OpenMP runtime that it has loaded"
        print(
            f"syncopate: no record was written to {where}: the program ended before the library"
            f" started, or replaced its environment{needs}",
            file=sys.stderr,
        )
        return
    others = also_written(record)
    also = f" (and {' and '.join(others)} in {where}.*)" if others else ""
    typed = typed_file(named)
    every = f" {typed}.[0-9]*" if others else ""
    header = header_of(record)
    lack = recordformat.lack_of_room(header.flags) if header else None
    until = f", until {lack}" if lack else ""
    without = header.without_record() if header else None
    until += f", but {without}" if without else ""
    print(
        f"syncopate: recorded in {where}{also}{until}; to read it: syncopate report {typed}{every}",
        file=sys.stderr,
    )


def also_written(record: str) -> list[str]:
    """What records there are beside this one, which have the numbers of their processes."""
    others = recordstamps.children_of(record)
    own = ""
    with contextlib.suppress(Failure):  # damaged or not ours, which the report tells
        own = str(recordfile.Record(record).header.process_id)
    became = sum(other[len(record) + 1 :].split(".")[0] == own for other in others)
    counts = {"of child processes": len(others) - became, "of what it became by exec": became}
    return [f"{count} {of}" for of, count in counts.items() if count]


def header_of(record: str) -> recordformat.Header | None:
    try:
        return recordfile.Record(record).header
    except Failure:
        return None  # damaged or not ours, which the report tells
