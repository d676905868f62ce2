"""Runs one job and reads its figures. Workers on other machines call it: plain data in and out."""

import math
from pathlib import Path

from syncopate.base import preloading
from syncopate.bench.jobs import Job
from syncopate.bench.onerun import RunError, inherited, last_line, run, run_simulated
from syncopate.bench.provenance import provenance
from syncopate.bench.realprograms import measure_real


def measure(job: Job) -> dict:
    """Returns {"values": {metric: figure}}, or {"error": a line, "status": the program's}."""
    from syncopate.bench.suitetable import SUITES

    suite = SUITES[job.suite]
    try:
        fields = run_job(job, suite.reader)
    except (RunError, OSError) as error:
        return {"error": str(error), "status": getattr(error, "status", None)}
    if fields.get("consistent") is False:
        return {"error": "the program's own check of its result failed", "status": None}
    figures = {metric.name: metric.of(fields) for metric in suite.metrics}
    values = {name: figure for name, figure in figures.items() if figure is not None}
    if not values:
        return {"error": "no figure of the suite is in its output", "status": None}
    for name, figure in values.items():
        if not math.isfinite(figure):  # JSON has no such number: the file could not be read again
            return {"error": f"the program's {name} is {figure}", "status": None}
    return {"values": values}


def measure_block(jobs: list[Job]) -> list[tuple[dict, dict]]:
    """One round, in its order: each result, and where it was measured."""
    origin = provenance()
    return [(measure(job), origin) for job in jobs]


def run_job(job: Job, reader: str) -> dict:
    """Returns the fields that the program printed, and those of the machine's report."""
    if reader == "real":
        return measure_real(job.command[0], job.variables, "quick" in job.command)
    program, report = Path(job.command[0]).name, {}
    if job.machine_file:
        output, report = run_simulated(
            list(job.command), Path(job.machine_file), job.limit, job.variables, job.folder
        )
    else:
        output = run(list(job.command), environment(job.variables), job.limit, job.folder)
    return READERS[reader](output, program) | report


def environment(variables: dict[str, str]) -> dict[str, str]:
    """This process's environment without settings that are a variant's to choose."""
    return preloading.changed(inherited(), variables)


def pairs(output: str, program: str) -> dict:
    """Lines of a name and a number."""
    try:
        return {name: float(text) for name, text in map(str.split, output.splitlines())}
    except ValueError as error:
        raise RunError(f"{program}: no result in its output: {error}") from error


def lua(output: str, program: str) -> dict:
    """papers/workloads/lua/common.lua: microseconds, and the result."""
    words = output.split()
    try:
        return {"microseconds": float(words[0]), "result": words[1]}
    except (ValueError, IndexError) as error:
        raise RunError(f"{program}: no result in its output: {error}") from error


READERS = {"last_line": last_line, "pairs": pairs, "lua": lua}
