"""memcached's own tests (testapp and t/*.t, as they are), each by itself: what fails, by name."""

import contextlib
import glob
import os
import re
import signal
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

SECONDS = 600
# testapp may read its server's file of the process number before the server has written it.
TOO_EARLY = "start_server: Assertion"
TRIES = 10
JOBS = 3  # they sleep most of their time


def run(tree: str, environ: dict[str, str], only: str = "") -> tuple[int, set[str]]:
    """How many tests passed of the memcached in the folder `tree`, and the names of the others.
    Requires: memcached-debug, testapp, timedrun and sizes are there. `only`: scripts it finds."""
    scripts = [os.path.relpath(name, tree) for name in sorted(glob.glob(f"{tree}/t/*.t"))]
    commands = [("testapp", ["./testapp"]), *((name, ["perl", name]) for name in scripts)]
    chosen = [of for of in commands if re.search(only, of[0])]
    if not chosen:
        raise SystemExit(f"no test of memcached's is called like {only!r}")
    with ThreadPoolExecutor(JOBS) as pool:
        results = list(pool.map(lambda of: _one(tree, environ, *of), chosen))
    return sum(passed for passed, _ in results), set().union(*(failed for _, failed in results))


def _one(tree: str, environ: dict[str, str], name: str, command: list) -> tuple[int, set[str]]:
    for _ in range(TRIES):
        status, said, complaints = _run(tree, environ, command)
        if not (status and TOO_EARLY in complaints):
            break
    if status is None:
        return 0, {f"{name}: not over after {SECONDS} s"}
    failed = {f"{name}: {number}" for number in re.findall(r"^not ok (\d+)", said, re.M)}
    passed = len(re.findall(r"^ok \d+", said, re.M))
    plan = re.search(r"^1\.\.(\d+)", said, re.M)
    if plan and passed + len(failed) != int(plan[1]):
        failed.add(f"{name}: {passed + len(failed)} of {plan[1]} tests were run")
    if status != 0 and not failed:
        failed.add(f"{name}: exit status {status}")
    if not plan:
        failed.add(f"{name}: says of no test how it went")
    return passed, failed


def _run(tree: str, environ: dict[str, str], command: list) -> tuple[int | None, str, str]:
    """Exit status (None: it hung), standard output and standard error."""
    with (
        tempfile.TemporaryFile("w+", errors="replace") as out,
        tempfile.TemporaryFile("w+", errors="replace") as err,
    ):
        running = subprocess.Popen(
            command, cwd=tree, env={**os.environ, **environ}, stdin=subprocess.DEVNULL, stdout=out,
            stderr=err, start_new_session=True,
        )  # fmt: skip
        try:
            status = running.wait(SECONDS)
        except subprocess.TimeoutExpired:
            status = None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)  # servers that it left, too
        running.wait()
        out.seek(0)
        err.seek(0)
        return status, out.read(), err.read()
