"""What a change of one lock would bring, on any machine: its record replayed on a model."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field

from syncopate.base import boundedfile, locktable, ownsettings, paths
from syncopate.base.errors import BAD_USE, FAILED, Failure, near
from syncopate.base.since import zip_equal
from syncopate.base.workers import Workers
from syncopate.machines import machinefiles
from syncopate.records import lockuse
from syncopate.records.lockuse import LockUse

FOREIGN = "SYNCOPATE_FOREIGN_"  # variables that put other programs onto a simulated machine
ELIDED = "elided_auto"  # what the replay calls `auto` with elision
REPLAY = "libexec/syncopate/replay.simulated"
MOST_THREADS = 4096  # papers/workloads/replay.cpp
MOST_SHARDS = 1024  # each is a lock of its own, made before a replay begins
DEFAULT_CHANGES = "lock=auto,lock=mcs,halve,shard=8,rwlock,elide"
READS, CONFLICTS = lockuse.READS, 10  # percent, where the question names none
SEEDS = 3
SECTIONS = 40_000  # least to replay, and by thread:
SECTIONS_BY_THREAD = 100
MOST_SECTIONS = 400_000
LEAST_SECTION_NS = 100.0  # of an empty one: what taking and releasing the lock takes
TIME_SLICES = 10  # to replay by thread and processor when there are more threads
# Within so much, either way, are nine of ten predicted gains of whatif_check.json and
# whatif_truth.json in papers/results/measured (tests/cli/test_whatif.py), beyond what the replay
# without a change differs from the record by; and where these were not compared.
MODEL_ERROR, UNCOMPARED_ERROR = 0.213, 0.748


@dataclass(frozen=True)
class Change:
    """One question: how the replay runs without and with the change."""

    text: str  # as the user wrote it
    label: str
    before: dict[str, str] = field(default_factory=dict)
    after: dict[str, str] = field(default_factory=dict)
    assumption: str = ""

    @property
    def needs_transactions(self) -> bool:
        return self.after.get("lock") == ELIDED


@dataclass(frozen=True)
class Answer:
    """A predicted gain: new throughput by old one; `low` and `high` are its error bar."""

    what: str
    label: str
    threads: int
    before: float  # sections a second
    after: float
    gain: float
    low: float
    high: float
    assumes: str = ""  # of this change: what has to be so for that
    recorded: float = 0.0  # as `before`, of the record; 0 where that was of another size

    def difference(self) -> float:
        """Of record and replay, as difference() has it."""
        return difference(self.recorded, self.before)


def parse(text: str) -> Change:
    """A change by its text: lock=mcs, halve, length=25, move=50, shard=8, rwlock=90, elide=10."""
    kind, equals, value = text.strip().partition("=")
    number = int(value) if value.isdecimal() else None
    if equals and number is None and kind != "lock":
        raise Failure(f"--what {text}: '{value}' is no whole number", BAD_USE)
    if kind == "lock" and value:
        return Change(text, f"swap to {value}", after={"lock": check_lock(value)})
    if kind == "halve" and not equals:
        return Change(text, "halve the section", after={"length": "50"})
    if kind == "length" and number is not None and number <= 100:
        return Change(text, f"section to {number} %", after={"length": str(number)})
    if kind == "move" and number is not None and number <= 100:
        moved = {"length": str(100 - number), "moved": str(number)}
        return Change(text, f"move {number} % out", after=moved)
    if kind == "shard" and number and number > MOST_SHARDS:
        raise Failure(f"--what {text}: {MOST_SHARDS:,} shards at most are replayed", BAD_USE)
    if kind == "shard" and number:
        note = "what it guards can be split, and each section needs one part, any as often"
        return Change(text, f"shard by {number}", after={"shards": str(number)}, assumption=note)
    if kind == "rwlock" and (number is None or number <= 100):
        reads = {"reads": str(READS if number is None else number)}
        note = f"{reads['reads']} % of the sections only read"
        note += ": a record does not tell (rwlock=N)" * (number is None)
        return Change(text, "reader-writer lock", reads, {**reads, "lock": "rwlock"}, note)
    if kind == "elide" and (number is None or number <= 100):
        shared = {"conflicts": str(CONFLICTS if number is None else number)}
        note = f"{shared['conflicts']} % of the sections conflict"
        note += ": not in a record (elide=N)" * (number is None)
        return Change(text, "elide", shared, {**shared, "lock": ELIDED}, note)
    raise Failure(
        f"--what {text}: no such change; there are lock=NAME, halve, length=PERCENT, move=PERCENT,"
        " shard=N, rwlock[=PERCENT], elide[=PERCENT]",
        BAD_USE,
    )


def check_lock(choice: str) -> str:
    """A lock of the library, as NAME or NAME:WAIT, or `glibc` as what the replay calls it."""
    name, colon, wait = choice.partition(":")
    locks = {lock["name"]: lock for lock in locktable.load()}
    if name not in locks:
        raise Failure(
            f"no lock is named '{name}'{near(name, list(locks))}; see `syncopate list`", BAD_USE
        )
    if colon and wait not in locks[name]["waits"]:
        waits = ", ".join(locks[name]["waits"]) or "none of its own"
        raise Failure(f"lock {name} does not wait by '{wait}'; it has: {waits}", BAD_USE)
    return "pthread" if name == "glibc" else choice


def _foreign_load() -> dict[str, str]:
    """What the user says of other programs on the machine, which are part of the question."""
    return {name: text for name, text in os.environ.items() if name.startswith(FOREIGN)}


class Replayer:
    """Runs the trace of one lock on one machine."""

    def __init__(self, use: LockUse, machine: str, folder: str, program: str | None = None):
        self.use = use
        self.program = program or paths.require(REPLAY)
        self.machine = machine
        # The user's own lock, seed or report would be that of every replay.
        self.inherited = ownsettings.without(os.environ) | _foreign_load()
        described = machinefiles.read(machine)
        remedy = "docs/reference/machine-files.md says what has to be in it"
        with boundedfile.damaged_where_wrong(machine, remedy, BAD_USE):
            shape = described["topology"]
            self.processors = int(shape["cores"]) * int(shape["smt"])  # cores: of all sockets
            self.slice_ns = int(described["os"]["time_slice_microseconds"]) * 1000
            if min(self.processors, self.slice_ns, int(shape["sockets"])) < 1:
                raise ValueError("a number is below 1")
        self.trace = os.path.join(folder, "lock.trace")
        with open(self.trace, "w", encoding="utf-8") as file:
            file.write(use.trace())

    def recorded_rate(self) -> float:
        """How fast the program was, if that was on as many processors as the machine has; else
        0."""
        return self.use.rate if self.use.processors == self.processors else 0.0

    def apart(self, threads: int, section: float, moved: float = 0.0) -> float:
        """About the least time between the beginnings of two sections, in nanoseconds; `moved`:
        what comes after the release instead."""
        runs = self.use.awake_ns() / max(1.0, self.use.hold_ns)
        outside = statistics.fmean(
            t.outside_ns + t.away_chance * t.away_ns for t in self.use.threads
        )
        busy = statistics.fmean(t.outside_ns for t in self.use.threads) + runs * (section + moved)
        return max(
            section / self.use.members,
            (outside + section + moved) / threads,
            busy / min(threads, self.processors),
        )

    def microseconds(self, threads: int, length: int = 100, moved: int = 0) -> int:
        """How long to replay: enough sections, and time slices where threads take turns; not too
        many sections where the change leaves little of them. Both in percent."""
        section = max(1.0, self.use.hold_ns)
        apart = self.apart(threads, section)
        wanted = max(SECTIONS, SECTIONS_BY_THREAD * threads) * apart
        if threads > self.processors:
            slices = TIME_SLICES * -(-threads // self.processors)
            wanted = max(wanted, min(slices * self.slice_ns, MOST_SECTIONS * apart))
        left = max(LEAST_SECTION_NS, section * length / 100)
        wanted = min(wanted, MOST_SECTIONS * self.apart(threads, left, section * moved / 100))
        return max(10, round(wanted / 1000))

    def rate(self, settings: dict[str, str], threads: int, seed: int) -> float:
        """Sections a second of one replay. A Failure when it fails."""
        given = {"lock": self.use.algorithm, **settings}
        given["shards"] = str(int(given.get("shards", "1")) * self.use.members)
        given |= {"trace": self.trace, "threads": str(threads), "seed": str(seed)}
        percent = [int(given.get(name, value)) for name, value in (("length", 100), ("moved", 0))]
        given["microseconds"] = str(self.microseconds(threads, *percent))
        words = [word for name, value in given.items() for word in (f"--{name}", value)]
        environ = {**self.inherited, "SYNCOPATE_MACHINE": self.machine, "SYNCOPATE_QUIET": "1"}
        done = subprocess.run(
            [self.program, *words], env=environ, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise Failure(f"the replay failed ({done.returncode}): {reason}", FAILED)
        result = json.loads(done.stdout)
        return result["operations"] / result["seconds"]


def answers(
    replayer: Replayer,
    changes: list[Change],
    threads: list[int],
    seeds: int = SEEDS,
    progress: Callable[[str], None] = lambda text: None,
) -> list[Answer]:
    """Replays each change and what it is compared with, for every number of threads."""
    base = {"reads": str(replayer.use.reads)} if replayer.use.algorithm == "rwlock" else {}
    jobs: dict[tuple, tuple] = {}  # the same run is made once
    for count in threads:
        for change in changes:
            for settings in ({**base, **change.before}, {**base, **change.after}):
                for seed in range(1, seeds + 1):
                    jobs[_key(settings, count, seed)] = (settings, count, seed)
    rates = {}
    with Workers(os.cpu_count()) as pool:
        running = {key: pool.submit(replayer.rate, *job) for key, job in jobs.items()}
        for number, (key, job) in enumerate(running.items()):
            progress(f"replaying {number + 1} of {len(running)}")
            rates[key] = pool.result(job)

    def seen(settings: dict[str, str], count: int) -> list[float]:
        whole = {**base, **settings}
        replayed = (rates[_key(whole, count, seed)] for seed in range(1, seeds + 1))
        return [min(each, replayer.use.most) for each in replayed]

    recorded = replayer.recorded_rate()
    return [
        answer(
            change,
            count,
            seen(change.before, count),
            seen(change.after, count),
            recorded if count == len(replayer.use.threads) else 0.0,
        )
        for count in threads
        for change in changes
    ]


def difference(recorded: float, before: float) -> float:
    """How many times as fast the record is as its replay, or this as that; 1 where there is no
    such record."""
    return max(recorded / before, before / recorded) if recorded else 1.0


def error_of_nine_in_ten(rows: list[dict], compared: bool = True) -> float:
    """The relative error, either way, that nine of ten keep to: of rows with `predicted` and
    `measured` gains, as bench/whatif_check.py and bench/whatif_truth.py write them. `compared`:
    beyond the difference of record and replay."""
    errors = []
    for each in rows:
        ratio = each["predicted"] / each["measured"]
        known = difference(each["recorded"], each["before"]) if compared else 1.0
        errors.append(max(1.0, max(ratio, 1 / ratio) / known) - 1)
    return sorted(errors)[min(len(errors) - 1, int(0.9 * len(errors)))]


def _key(settings: dict[str, str], threads: int, seed: int) -> tuple:
    return (*sorted(settings.items()), threads, seed)


def answer(
    change: Change, threads: int, before: list[float], after: list[float], recorded: float = 0.0
) -> Answer:
    """The gain over seeds; its range covers their spread, nine of ten errors of the model, and what
    the replay without the change differs by from the record, where that was of as many threads and
    processors (`recorded`): who meets less often at a lock gains less."""
    gains = [new / old for new, old in zip_equal(after, before)]
    gain = statistics.fmean(gains)
    spread = (max(gains) - min(gains)) / 2 / gain
    old, new = statistics.fmean(before), statistics.fmean(after)
    error = (spread**2 + (MODEL_ERROR if recorded else UNCOMPARED_ERROR) ** 2) ** 0.5
    factor = (1 + error) * difference(recorded, old)
    return Answer(
        change.text,
        change.label,
        threads,
        old,
        new,
        gain,
        gain / factor,
        gain * factor,
        change.assumption,
        recorded,
    )
