"""One session of `syncopate tune`: measures the program, looks at its record, searches, reports."""

import os
import sys
import time
from collections.abc import Collection

from syncopate.base import ending, locktable, optiontable, ownsettings, scratch, wholefile
from syncopate.base.errors import BAD_USE, FAILED, Failure
from syncopate.base.shown import shown
from syncopate.launch import policy, preload, program
from syncopate.machines import processor
from syncopate.records.analysis import Analysis
from syncopate.records.recordfile import Record
from syncopate.records.recordformat import BARRIER, MUTEX, RWLOCK
from syncopate.records.recordstamps import children_of
from syncopate.records.results import Results
from syncopate.tuning import hotlocks, plan, policyfile, verdict
from syncopate.tuning.choice import AS_IS, Choice, specifications
from syncopate.tuning.hotlocks import HotLock
from syncopate.tuning.plan import Ground, Outcome
from syncopate.tuning.progress import Progress
from syncopate.tuning.runner import Runner
from syncopate.tuning.search import Dropped, Search, Unjudged

PATIENCE = 10.0  # times as long as without us: a run beyond that is ended
SLACK = 5.0  # seconds on top of it


class Session:
    """What is run, what is known of it, what was found."""

    def __init__(self, runner: Runner, budget: float, names: list[str], output: str):
        """`budget` in seconds; `names`: the only locks to try, empty: whatever may help; `output`:
        the policy file."""
        self.runner = runner
        self.command = runner.server or runner.program
        self.path = program.find_program(self.command[0])
        self.library = preload.library()
        program.check_preloadable(self.path, self.library)
        self.names = names
        self.output = output
        self.progress = Progress()
        self.deadline = time.monotonic() + budget
        self.limit = budget  # of one run, in seconds
        self.least = 0.0  # what any run may take, the budget spent or not
        self.locks: dict[int, HotLock] = {}
        self.lost: float | None = None  # to locks, of all thread time; None before the record
        self.outcome = Outcome()
        self.environs: dict[Choice, dict[str, str]] = {}
        self.clean = preload.without(self.library, ownsettings.without(os.environ))
        say_left_out(os.environ.keys() - self.clean.keys())

    def run(self) -> int:
        search = Search(self.measure, time.monotonic, self.deadline, self.progress.detail)
        try:
            self.progress.stage("the program as it is", self.deadline)
            self._first_run(search)
            self.progress.stage("recording where it waits", self.deadline)
            ground = self._look(search)
            if ground.has_something_to_try():
                plan.explore(search, ground, self.outcome, self._stage)
        except Dropped as why:
            self.progress.done()
            who = f"{self.command[0]}{' under load' if self.runner.server else ''}"
            what = "cannot be judged" if isinstance(why, Unjudged) else "fails by itself"
            raise Failure(f"tune: {who} {what}: {why}", FAILED) from None
        except KeyboardInterrupt:
            self.progress.done()
            self._finish(search, "interrupted; ")
            return ending.status()
        self.progress.done()
        self._finish(search, "")
        return 0

    def measure(self, choice: Choice) -> float:
        if choice not in self.environs:
            self.environs[choice] = self._environ(choice)
        left = max(self.deadline - time.monotonic(), self.least)
        return self.runner.run(self.environs[choice], min(self.limit, left))

    def _environ(self, choice: Choice) -> dict[str, str]:
        if choice.as_is:
            return self.clean
        chosen = policy.check("tune", policyfile.document(choice, self.locks))
        environ = policy.environment(chosen, self.clean, self.path)
        preload.suit(environ, self.path)
        return environ

    def _first_run(self, search: Search) -> None:
        """Finds out how long a run takes, and so whether the budget will do."""
        begun = time.monotonic()
        self.measure(AS_IS)
        took = time.monotonic() - begun
        search.durations.append(took)
        if took * plan.AT_LEAST > search.left():
            raise Failure(
                f"tune: one run takes {took:.1f} s, and at least {plan.AT_LEAST} are needed;"
                f" try --budget {round(took * 3 * plan.AT_LEAST) + 1}s, or a shorter run",
                BAD_USE,
            )
        self.least = PATIENCE * took
        self.limit = self.least + SLACK

    def _look(self, search: Search) -> Ground:
        """Records the program once and keeps its hot locks."""
        with scratch.folder("syncopate-tune-") as folder:
            path = os.path.join(folder, "tune.rec")
            environ = preload.environment(self.library, "futex", "futex", False, self.clean)
            preload.suit(environ, self.path)
            try:
                self.runner.run(environ | {"SYNCOPATE_RECORD": path}, self.limit)
            except Dropped as why:
                raise Failure(f"tune: while it is recorded, {why}", FAILED) from None
            files = [path, *children_of(path)]
            analyses = [Analysis(Record(file)) for file in files if os.path.exists(file)]
            if not analyses:
                raise Failure("tune: nothing was recorded: the library did not start", FAILED)
            return self._ground(max(analyses, key=_lost))

    def _ground(self, analysis: Analysis) -> Ground:
        time_of_all = Results(analysis).thread_time()
        self.lost = _lost(analysis) / time_of_all if time_of_all else 0.0
        hot = hotlocks.hot_locks(analysis, self.path)
        hot += hotlocks.hot_barriers(analysis, self.path, analysis.ns(time_of_all))
        self.locks = dict(enumerate(hot))
        much = hotlocks.are_used_much(analysis, analysis.ns(time_of_all))
        worth = self.lost >= hotlocks.LEAST_LOST or much
        processors = analysis.record.header.processors
        oversubscribed = hotlocks.threads_at_once(analysis) > processors
        return Ground(
            names=self._worth_trying(oversubscribed) if worth else [],
            hot=self._named(MUTEX),
            rwlocks=self._named(RWLOCK) if worth else {},
            barriers=self._named(BARRIER),
            elides=worth and _transactions_commit(),
            openmp=hotlocks.is_openmp(analysis),
            oversubscribed=oversubscribed,
        )

    def _named(self, kind: int) -> dict[int, str]:
        return {number: hot.name for number, hot in self.locks.items() if hot.object == kind}

    def _worth_trying(self, oversubscribed: bool) -> list[str]:
        return self.names or specifications(locktable.load(), oversubscribed)

    def _stage(self, text: str) -> None:
        self.progress.stage(text, self.deadline)

    def _finish(self, search: Search, before: str) -> None:
        """Says what was found, and writes it if it is better."""
        self.outcome.forget(search.dropped)  # an interrupt may have come before the search did it
        names = {number: lock.name for number, lock in self.locks.items()}
        for choice, why in search.dropped.items():
            text = shown(f"{choice.text(names)}: {why}")
            print(f"syncopate: tune: left out: {text}", file=sys.stderr)
        if self.outcome.verdict is None or not self.outcome.verdict.is_better:
            runs = len(search.durations)
            said = verdict.nothing(self.outcome, names, self.lost, runs, interrupted=bool(before))
            print(before + said)
            return
        document = policyfile.document(self.outcome.verdict.choice, self.locks, self.outcome)
        policy.check(self.output, document)
        command = verdict.of_server(self.command) if self.runner.server else self.command
        comments = verdict.comments(self.outcome.verdict, command, search.durations)
        wholefile.write(self.output, [policyfile.text(document, comments)])
        has_port = command != self.command
        print(before + verdict.better(self.outcome, names, self.output, command, has_port))


def say_left_out(variables: Collection[str]) -> None:
    """One line for each variable that tells our libraries how to run, which is tune's to choose."""
    known = optiontable.rows()
    for name in sorted(variable for variable in variables if os.environ[variable]):
        if name in known and {"preload", "openmp", "transactions"} & set(known[name]["readers"]):
            said = "is set, and left out: the program is tried without it"
            print(f"syncopate: tune: {name} {said}", file=sys.stderr)


def _lost(analysis: Analysis) -> int:
    return sum(group.lost() for group in analysis.groups)


def _transactions_commit() -> bool:
    return any(each.name == "rtm" and each.state == "good" for each in processor.features())
