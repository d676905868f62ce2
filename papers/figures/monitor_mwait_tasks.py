"""What figures 3 and 4 of the monitor-mwait paper share: parallel tasks, a queue with one lock."""

from common import Point, Results
from monitor_mwait import LIBGOMP, LOW, MONITOR, OPTERON, PLAIN, Cores
from sweep import seeded

COMPARED = (LIBGOMP, *MONITOR)
LOCKS = {LIBGOMP: "libgomp"} | MONITOR | PLAIN
WORK = 100  # nanoseconds of a task: "the default for openmpbench 0.1 us"
NOTES = (
    "PARALLEL TASK of the taskbench: every thread makes tasks, then all run what is left. The tasks"
    " are kept as libgomp keeps them, in one queue under one lock (papers/workloads/task_queue.h);"
    " only that lock differs. Where more than 64 tasks a thread are unfinished, a thread runs its"
    " next one at once, without the lock: the factors depend on how many tasks a thread makes"
    " ([the curve](monitor_mwait_fig3_tasks.md)), and a short run says nothing about a long one."
)


def notes(cores: Cores) -> str:
    as_paper = "" if cores.beyond else ", as in the paper"
    each = f" Each thread makes {cores.tasks:,} tasks of {WORK / 1000:g} us{as_paper}."
    return NOTES + each


def why(results: Results, on_opteron: str) -> str:
    """Why a row differs: what was looked at, was on one machine alone."""
    return on_opteron if results.figure.machine == OPTERON.machine else WHY_ELSEWHERE


WHY_ELSEWHERE = "why was not looked at on this machine"


def task_point(name: str, x: int, threads: int, tasks: int, work: int) -> Point:
    options = {"lock": LOCKS[name], "threads": threads, "tasks": tasks, "work": work}
    return Point("", name, x, "parallel_tasks", options | {"pin": "compact"})


def points_on(cores: Cores):
    def points(quick: bool) -> list[Point]:
        used, tasks = cores.used(quick), cores.tasks  # as many tasks in a quick run
        many = [task_point(name, n, n, tasks, WORK) for name in LOCKS for n in used]
        if cores.beyond or quick:
            return many
        return seeded(many, lambda p: p.x in (*LOW, cores.all[-1]) and p.series in COMPARED)

    return points


def microseconds(run: dict) -> float:
    """What each thread spends on one task that it makes, its work and all."""
    return run["seconds"] * run["threads"] / run["operations"] * 1e6
