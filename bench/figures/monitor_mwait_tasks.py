"""What figures 3 and 4 of the monitor-mwait paper share: parallel tasks, a queue with one lock."""

from common import Point
from monitor_mwait import LIBGOMP, MONITOR, PLAIN, Cores

LOCKS = {LIBGOMP: "libgomp"} | MONITOR | PLAIN
WORK = 100  # nanoseconds of a task: "the default for openmpbench 0.1 us"
NOTES = (
    "PARALLEL TASK of the taskbench: every thread makes tasks, then all run what is left. The tasks"
    " are kept as libgomp keeps them, in one queue under one lock (workloads/task_queue.h); only"
    " that lock differs."
)


def task_point(name: str, x: int, threads: int, tasks: int, work: int) -> Point:
    options = {"lock": LOCKS[name], "threads": threads, "tasks": tasks, "work": work}
    return Point("", name, x, "parallel_tasks", options | {"pin": "compact"})


def points_on(cores: Cores):
    def points(quick: bool) -> list[Point]:
        tasks = 50 if quick else 200
        return [task_point(name, n, n, tasks, WORK) for name in LOCKS for n in cores.used(quick)]

    return points


def microseconds(run: dict) -> float:
    """What each thread spends on one task that it makes, its work and all."""
    return run["seconds"] * run["threads"] / run["operations"] * 1e6
