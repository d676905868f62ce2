"""The file of a suite's results (docs/bench.md has its schema).

Every finished run is written at once: the whole file under another name, which then replaces it, so
that a reader or a killed program never meets half of it. A key is merged once: a result that comes
again, from a worker thought dead for instance, changes nothing.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import get_type_hints

from syncopate.base import boundedfile, wholefile
from syncopate.base.errors import FAILED, Failure
from syncopate.bench.jobs import Job, Place

KIND, SCHEMA = "syncopate-bench", 1


@dataclass
class ResultFile:
    """What a file holds. runs: by place; each has its key and values, or an error."""

    path: Path
    suite: str
    machine: str
    measured: list[dict] = field(default_factory=list)
    runs: dict[Place, dict] = field(default_factory=dict)
    written: int = 0  # runs that the file holds, as opposed to `runs`
    fresh: bool = False  # begun anew, whatever was there
    _lines: dict[Place, str] = field(default_factory=dict)

    def has(self, job: Job) -> bool:
        """Whether the job has succeeded before."""
        run = self.runs.get(job.place)
        return run is not None and run["key"] == job.key and "values" in run

    def add(self, job: Job, result: dict, origin: dict) -> bool:
        """Merges one result. Returns False, and changes nothing, when the job has one already.

        origin: provenance() of where it was measured.
        """
        if self.has(job):
            return False
        if origin not in self.measured:
            self.measured.append(origin)
        measured = self.measured.index(origin)
        self._lines.pop(job.place, None)
        self.runs[job.place] = {"key": job.key, "measured": measured, **result}
        self.save()
        return True

    def save(self) -> None:
        """Replaces the file. Raises a Failure that says what is kept when it cannot."""
        try:
            with (
                wholefile.replacing(self.path) as place,
                open(place, "w", encoding="utf-8") as file,
            ):
                file.write(self.text())
                file.flush()
                os.fsync(file.fileno())
        except Failure as failure:
            raise Failure(f"bench: {failure}; {self.kept()}", FAILED) from None
        self.written = len(self.runs)

    def kept(self) -> str:
        """What the file holds, where no more is written."""
        if not self.written:
            return f"no run is kept{f', and {self.path} is as it was' * self.path.exists()}"
        runs = "1 run is" if self.written == 1 else f"{self.written} runs are"
        goes_on = f"the same command{', without --fresh,' * self.fresh} goes on with the rest"
        return f"{runs} kept in {self.path}, and {goes_on}"

    def text(self) -> str:
        """The file: JSON with one line for each run. Lines are kept: a file is written often."""
        head = {
            "kind": KIND,
            "schema": SCHEMA,
            "suite": self.suite,
            "machine": self.machine,
            "measured": self.measured,
        }
        for place, run in self.runs.items():
            if place not in self._lines:
                self._lines[place] = json.dumps({**asdict(place), **run})
        lines = ",\n".join(self._lines[place] for place in self.runs)
        return f'{json.dumps(head)[:-1]},\n"runs": [\n{lines}\n]}}\n'

    def check(self, suite: str, machine: str, jobs: list[Job]) -> None:
        """Raises a Failure unless these jobs may go on in this file."""
        if (self.suite, self.machine) != (suite, machine):
            raise Failure(
                f"bench: {self.path} holds suite {self.suite} on {self.machine},"
                f" not {suite} on {machine}; name another file with --out"
            )
        for job in jobs:
            run = self.runs.get(job.place)
            if run and run["key"] != job.key and "values" in run:
                raise Failure(
                    f"bench: {self.path} holds {job.place.text()}, of another build or with other"
                    " options; name another file with --out, or begin anew with --fresh"
                )


def read(path: str | Path) -> ResultFile:
    """Returns what a file holds; a Failure of one line when it is no result file of ours."""
    path = Path(path)
    document = boundedfile.read_json(str(path))
    if not isinstance(document, dict) or document.get("kind") != KIND:
        raise Failure(f"bench: {path} is no result file of `bench run`")
    if document.get("schema") != SCHEMA:
        raise Failure(
            f"bench: {path} has schema {document.get('schema')}, and this version reads"
            f" {SCHEMA}; write it anew with `bench run`, or use the version that wrote it"
        )
    try:
        _check_types(document)
        runs = {}
        for run in document["runs"]:
            place = Place(*(run.pop(name) for name in Place.__dataclass_fields__))
            runs[place] = run
        names = (document[name] for name in ("suite", "machine", "measured"))
        return ResultFile(path, *names, runs, len(runs))
    except (KeyError, TypeError, AttributeError, IndexError):
        raise Failure(
            f"bench: {path} is damaged: a part of schema {SCHEMA} is missing, or of another type"
        ) from None


def _check_types(document: dict) -> None:
    """Raises a TypeError, KeyError or IndexError where a file is not what save() writes."""

    def need(value, kind) -> None:
        if not isinstance(value, kind) or isinstance(value, bool):
            raise TypeError

    for name in ("suite", "machine"):
        need(document[name], str)
    need(document["measured"], list)
    for origin in document["measured"]:
        need(origin, dict)
        for name in ("processor", "kernel", "date", "commit"):
            need(origin[name], str)
    kinds = get_type_hints(Place)
    for run in document["runs"]:
        for name, kind in kinds.items():
            need(run[name], kind)
        need(run["key"], str)
        need(run["measured"], int)
        document["measured"][run["measured"]]
        if "values" not in run:
            need(run["error"], str)
            continue
        need(run["values"], dict)
        for value in run["values"].values():
            need(value, (int, float))


def open_or_new(path: Path, suite: str, machine: str, fresh: bool) -> ResultFile:
    """The file to go on with: what is there, or an empty one."""
    if path.exists() and not fresh:
        return read(path)
    return ResultFile(path, suite, machine, fresh=fresh)
