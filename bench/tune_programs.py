"""The programs of bench/tune_goals.py, and what a person would try by hand for each."""

import re
import shlex
from dataclasses import dataclass

from interleaved import ROOT
from servers import require, unprivileged_user

from syncopate.base import locktable
from syncopate.tuning.choice import AS_IS, Choice, of_openmp_barriers, specifications
from syncopate.tuning.metric import Metric
from syncopate.tuning.runner import Runner

BUILD = ROOT / "build" / "release"


@dataclass(frozen=True)
class Case:
    """A program; `server`: what is tuned, the command then being its load."""

    name: str
    command: tuple[str, ...]
    server: tuple[str, ...] = ()
    metric: str = "wall"
    is_openmp: bool = False

    def slug(self) -> str:
        return re.sub(r"\W+", "-", self.name.lower()).strip("-")

    def tuned(self) -> tuple[str, ...]:
        """The command that runs with other locks."""
        return self.server or self.command

    def for_tune(self) -> list[str]:
        if not self.server:
            return ["--", *self.command]
        return ["--server", shlex.join(self.server), "--load", shlex.join(self.command)]

    def runner(self) -> Runner:
        return Runner(Metric.parse(self.metric, False), self.command, self.server)

    def by_hand(self) -> dict[str, Choice]:
        if self.is_openmp:
            tried = of_openmp_barriers(AS_IS, True)
            return {f"barrier {dict(each.default)['omp_barrier']}": each for each in tried}
        names = specifications(locktable.load(), oversubscribed=True)
        return {name: Choice().with_default("lock", name) for name in names}


def cases(processors: int) -> list[Case]:
    """All programs, with four threads for each processor."""
    threads = str(4 * processors)
    memcached = ("-l", "127.0.0.1", "-p", "{port}", "-U", "0", "-m", "64", "-t", threads)
    load = (str(BUILD / "bench/memcached_load"), "--port", "{port}", "--seconds", "0.6")
    operations = r'operations_per_second": *([0-9.e+]+)'
    sqlite = (str(ROOT / "bench/sqlite_load.py"), "--threads", threads, "--seconds", "0.5")
    solver = str(BUILD / "papers/workloads/backward_solver/backward_solver.openmp")
    pool = str(BUILD / "papers/workloads/request_server/request_server")
    kccachetest = require("kccachetest", "kyotocabinet-utils")
    sysbench, for_events = require("sysbench", "sysbench"), ("--time=0", "--events=300")
    return [
        Case(
            "memcached, one hot key",
            (*load, "--noreply", "20"),
            (require("memcached", "memcached"), *memcached, "-u", unprivileged_user()),
            operations,
        ),
        Case(
            "Kyoto Cabinet, kccachetest wicked",
            (kccachetest, "wicked", "-th", threads, "-bnum", "500000", "100000"),
        ),
        Case(
            "backward solver (OpenMP)",
            (solver, "--threads", threads, "--solves", "30"),
            is_openmp=True,
        ),
        Case("SQLite from Python", ("/usr/bin/python3", *sqlite), metric=operations),
        Case(
            "request server (C++ thread pool)",
            (pool, "--workers", threads, "--requests", "20000"),
        ),
        Case(
            "sysbench threads",
            (sysbench, "threads", f"--threads={threads}", "--thread-locks=4", *for_events, "run"),
        ),
    ]
