"""A standard's own tests, built outside their tree, compared with and without the preload library.

The source is Debian's package, fetched when first needed and never kept in this repository. A test
that does not build outside its tree, or does not pass without us on this machine, says nothing
about us and is left out; what remains must pass under every lock.
"""

import contextlib
import os
import re
import signal
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SECONDS = 60  # For one test; those that take longer without us are left out.
COMPILES = 300  # Seconds; one that takes longer does not build.
STARVED = 40  # A run ends after so many times its seconds, however little of them it had.
LOOK = 0.2  # Seconds; a thread that wants a processor and does not run meanwhile has none.
PATIENCE = 5 * SECONDS  # For one that is judged alone: a lock may be slow with many threads.
REPEATS = 5
PASSED = 0
# Some send themselves signals before their handler stands, and are killed when that was fast: such
# a run says nothing.
OVERTAKEN = (-signal.SIGUSR1, -signal.SIGUSR2)
MOST_OVERTAKEN = 20
# In /proc/PID/stat, counted from what follows the name.
SESSION = 3
TIMES = slice(11, 15)


class UnfetchedError(Exception):
    """The source cannot be had here; its text says why."""


@dataclass(frozen=True)
class Test:
    """One program of a suite, how to build it, and how it is started."""

    name: str
    sources: tuple
    flags: tuple = ()
    libraries: tuple = ()
    environment: dict = field(default_factory=dict, hash=False)
    compiler: str = "gcc"


def fetch(package, folder):
    """Returns the folder of the Debian source package `package`, unpacked below `folder`."""
    whole = folder / "apt" / "unpacked"
    if not whole.exists():
        script = ROOT / "integrations" / "debian_source.sh"
        fetched = subprocess.run(
            ["sh", script, folder, package], capture_output=True, text=True, check=False
        )
        if fetched.returncode:
            last = ["no reason given", *fetched.stderr.strip().splitlines()][-1]
            raise UnfetchedError(f"Debian's source package {package} cannot be fetched: {last}")
        whole.touch()
    return next(folder.glob(f"apt/{package}-*/"))


def compiled(output, sources, flags, libraries=(), compiler="gcc"):
    """Builds `output` unless it is there; returns whether that worked. Errors go to a file."""
    if output.exists():
        return True
    output.parent.mkdir(parents=True, exist_ok=True)
    # Where the compiler runs Fortran's modules are written, some by several tests at a time; and a
    # program that is not whole, if the build is ended.
    with (
        open(f"{output}.err", "wb") as errors,
        tempfile.TemporaryDirectory(dir=output.parent) as folder,
    ):
        command = [compiler, "-w", *flags, *sources, "-o", "program", *libraries]
        try:
            run = subprocess.run(command, stderr=errors, cwd=folder, check=False, timeout=COMPILES)
        except subprocess.TimeoutExpired:
            return False
        if run.returncode == 0:
            Path(folder, "program").rename(output)
        return run.returncode == 0


def build(tests, folder, jobs):
    """Returns {test: program} of those tests that build."""

    def one(test):
        program = folder / test.name
        return (
            test,
            program,
            compiled(program, test.sources, test.flags, test.libraries, test.compiler),
        )

    with ThreadPoolExecutor(jobs) as pool:
        return {test: program for test, program, works in pool.map(one, tests) if works}


def run(test, program, environment, seconds=SECONDS):
    """Returns (exit status, the end of the output) of one run in an empty folder of its own."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        if "SYNCOPATE_RECORD" in environment:
            environment = {**environment, "SYNCOPATE_RECORD": f"{folder}/program.rec"}
        with open(f"{folder}/output", "w+b") as output:
            process = subprocess.Popen(
                [program],
                cwd=folder,
                env={**environment, **test.environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                status = _wait(process, seconds)
            except subprocess.TimeoutExpired:
                status = "hangs"
                output.write(_waits(process.pid).encode())
            finally:
                _end(process)
            output.seek(0)
            return status, output.read()[-4000:].decode(errors="replace")


def _wait(process, seconds):
    """The status of a process that ends within so many seconds.

    While one of its threads wants a processor, only what they had of it counts, up to STARVED times
    as many seconds: beside many others a program may take minutes for what takes it a second. Which
    of them wants one says nothing: some programs begin and end threads all the time.
    """
    begun = time.monotonic()
    left = seconds
    while True:
        try:
            return process.wait(left)
        except subprocess.TimeoutExpired:
            took = time.monotonic() - begun
            if took > STARVED * seconds:
                raise
            _, wanted, _ = _delays(process)
            time.sleep(LOOK)
            longest, wants, ran = _delays(process)
            if ran >= seconds:
                raise
            # A wait is in a thread's delay only when it is over.
            left = 1 if wanted and wants else seconds - max(took - longest, ran)
            if left <= 0:
                raise


def _delays(process):
    """What the test's threads have had of the processors.

    Returns (seconds that the one that has waited longest did, whether one wants a processor now,
    seconds that have passed at least while they ran: those of one thread, or of all together with
    all processors).
    """
    longest, wants, most, ran = 0, False, 0, 0
    processors = len(os.sched_getaffinity(0))
    for pid in _session(process):
        ran += _had(pid)
        for thread in Path("/proc", str(pid), "task").glob("*"):
            with contextlib.suppress(OSError):
                state = (thread / "stat").read_text(encoding="utf-8", errors="replace")
                told = (thread / "schedstat").read_text(encoding="ascii").split()
                longest = max(longest, int(told[1]))
                most = max(most, int(told[0]))
                wants = wants or state.rsplit(") ", 1)[1].startswith("R")
    return longest / 1e9, wants, max(most / 1e9, ran / processors)


def _had(pid):
    """Seconds of processors that a process and those that it has waited for had, of all threads."""
    with contextlib.suppress(OSError):
        stat = Path("/proc", str(pid), "stat").read_text(encoding="utf-8", errors="replace")
        had = stat.rsplit(") ", 1)[1].split()[TIMES]
        return sum(map(int, had)) / os.sysconf("SC_CLK_TCK")
    return 0


def _session(process):
    """The process that began a test and the children that it has, some in groups of their own."""
    for pid in filter(str.isdigit, os.listdir("/proc")):  # some end meanwhile
        with contextlib.suppress(OSError):
            stat = Path("/proc", pid, "stat").read_text(encoding="utf-8", errors="replace")
            if int(stat.rsplit(") ", 1)[1].split()[SESSION]) == process.pid:
                yield int(pid)


def _waits(pid):
    """What each thread of a process waits for, as its stack tells where there is a tool for it."""
    try:
        told = subprocess.run(
            ["eu-stack", "-p", str(pid), "-n", "8"],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"\nit hangs; where is not known: {error}"
    calls = [re.sub(r" 0x[0-9a-f]+ ", " ", line) for line in told.stdout.splitlines()[1:]]
    return "\nit hangs in\n" + "\n".join(calls)


def _end(process):
    """Ends a test and the children that it left behind."""
    for pid in _session(process):
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    process.wait()


def passing(programs, environment, jobs, seconds=SECONDS):
    """Runs all programs, `jobs` at a time; returns ({passing test: program}, {failed: result})."""
    with ThreadPoolExecutor(jobs) as pool:
        results = pool.map(lambda item: run(*item, environment, seconds), programs.items())
    results = dict(zip(programs, results, strict=True))
    passed = {test: programs[test] for test, (status, _) in results.items() if status == PASSED}
    return passed, {test: result for test, result in results.items() if test not in passed}


def _mostly_passes(test, program, environment):
    """Whether most of REPEATS runs of the test alone pass; stops when that is decided."""
    most = REPEATS // 2 + 1
    passes = failures = overtaken = 0
    while passes < most and failures < most:
        status, _ = run(test, program, environment, PATIENCE)
        if status == PASSED:
            passes += 1
        elif status in OVERTAKEN and overtaken < MOST_OVERTAKEN:
            overtaken += 1
        else:
            failures += 1
    return passes == most


def verdict(test, program, without_us, with_us):
    """Judges a test that failed among others, alone: "fails", or "unsteady" where it often passes.

    Such tests count on sleeps; on a loaded machine some fail now and then without us, too.
    """
    if _mostly_passes(test, program, with_us):
        return "unsteady"
    return "fails" if _mostly_passes(test, program, without_us) else "unsteady"


def fails_only_with_us(test, program, without_us, with_us, seconds=SECONDS):
    """The stricter judgement: whether of REPEATS runs alone one fails with us, and without us none.

    Returns (that, how the last failure with us ended; None: there was none).
    """
    ends = [run(test, program, with_us, seconds) for _ in range(REPEATS)]
    failures = [end for end in ends if end[0] != PASSED]
    if not failures:
        return False, None
    stock = (run(test, program, without_us, seconds)[0] for _ in range(REPEATS))
    return all(status == PASSED for status in stock), failures[-1]
