"""One run of a program: natively, or on a modeled machine with the machine's report."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
from functools import cache
from pathlib import Path

from syncopate.base import ownsettings, scratch

# How a variable begins that changes what is compared.
FOREIGN = ("LD_PRELOAD", "OMP_", "GOMP_", "KMP_", "ITM_", "GLIBC_TUNABLES")
running: set[subprocess.Popen] = set()  # by any thread


class RunError(Exception):
    """One run gave no result; the text is one line. status: the program's, None without one."""

    def __init__(self, text: str, status: int | None = None):
        super().__init__(text)
        self.status = status


def inherited() -> dict[str, str]:
    """This process's environment without the user's own settings: SYNCOPATE_SEED or OMP_SCHEDULE,
    for two, would change the numbers."""
    return {
        name: text
        for name, text in ownsettings.without(os.environ).items()
        if not name.startswith(FOREIGN)
    }


def run(command: list, environment: dict[str, str], limit: float, folder=None) -> str:
    """Runs a program to its end. Returns its standard output; raises RunError."""
    with subprocess.Popen(
        [str(word) for word in command],
        env=environment,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        running.add(process)
        try:
            said = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            raise RunError(f"not done after {limit:g} s") from None
        finally:
            process.kill()  # nothing where it has ended
            running.discard(process)
    output, errors = (part.decode(errors="replace") for part in said)
    if process.returncode != 0:
        lines = (errors or output).strip().splitlines()
        status = process.returncode
        raise RunError(lines[-1] if lines else f"status {status}", status)
    return output


def end_all() -> None:
    """Ends the programs that other threads run; each run() says that there is no result."""
    for process in list(running):
        process.kill()


def run_simulated(
    command: list, machine: Path, limit: float, variables=None, folder=None
) -> tuple[str, dict]:
    """Runs a program on a modeled machine. Returns its output and what of_report() takes."""
    with scratch.folder() as place:
        stats = Path(place) / "stats.json"
        environment = {
            **inherited(),
            "SYNCOPATE_MACHINE": str(machine),
            "SYNCOPATE_STATS": str(stats),
            "SYNCOPATE_QUIET": "1",
            **(variables or {}),
        }
        output = run(command, environment, limit, folder)
        try:
            report = of_report(json.loads(stats.read_text(encoding="utf-8")))
        except (OSError, ValueError, KeyError) as error:
            raise RunError(f"{Path(command[0]).name}: no report of the machine: {error}") from error
    return output, report


def simulated_fields(run: tuple) -> dict:
    """Runs (command, machine file, seconds at most[, variables, what a right run prints]): what is
    printed and reported, or an error.

    Workers on other machines call it: plain data in and out.
    """
    command, machine, limit, *more = run
    variables, says = more or ({}, "")
    try:
        output, report = run_simulated(command, Path(machine), limit, variables)
        if says not in output:
            raise RunError(f"{Path(command[0]).name} does not say '{says}': its result is wrong")
        measured = last_line(output, Path(command[0]).name)
    except (RunError, OSError) as error:
        return {"error": str(error)}
    measured.pop("per_thread", None)
    return measured | report


def last_line(output: str, program: str) -> dict:
    """The JSON object in the last line that a program printed; raises RunError."""
    try:
        fields = json.loads(output.splitlines()[-1])
    except (ValueError, IndexError) as error:
        raise RunError(f"{program}: no result in its output: {error}") from error
    if not isinstance(fields, dict):
        raise RunError(f"{program}: no result in its output")
    return fields


def of_report(report: dict) -> dict:
    """What the figures use of the machine's report (docs/reference/machine-report-schema.md)."""
    begins = sum(t["begins"] for t in report.get("transactions", []))
    commits = sum(t["commits"] for t in report.get("transactions", []))
    aborts: dict[str, int] = {}
    for transaction in report.get("transactions", []):
        for cause, count in transaction["aborts"].items():
            if count:
                aborts[cause] = aborts.get(cause, 0) + count
    return {
        "machine": report["machine"],
        "machine_seconds": report["seconds"],
        "joules": report["energy"]["joules"],
        "watts": report["energy"]["average_watts"],
        "transactions": {"begins": begins, "commits": commits, "aborts": aborts},
        "most_waited": most_waited(report),
    }


def most_waited(report: dict) -> dict:
    """Of the word that was held most often after a wait for it, in most programs a lock's: how
    often, and for how long in the mean; nothing where there is none."""
    words = [word for word in report.get("waits", []) if word["held"]["count"]]
    if not words:
        return {}
    held = max((word["held"] for word in words), key=lambda held: held["count"])
    mean = held["sum"] / held["count"] / report["hertz"] * 1e9
    return {"held": held["count"], "held_ns": mean}


@cache
def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


@cache
def library_of(program: Path) -> Path | None:
    """The simulated machine's library that the program loads; None where that cannot be told."""
    command = ["ldd", str(program)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return None
    found = re.search(r"libsyncopate-simulated\S* => (/.+) \(", done.stdout)
    return Path(found[1]) if found else None
