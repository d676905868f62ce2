"""Who runs the jobs: this process, or the workers of a Dask scheduler.

An engine yields (job, result, provenance of it) as they finish, in any order. Should a job come
twice, its key says so, and resultfile.py merges it once.
"""

import hashlib
import logging
import pickle
import re
import sys
from collections.abc import Callable, Iterator

from syncopate.base.errors import BAD_USE, FAILED, Failure
from syncopate.base.since import zip_equal
from syncopate.bench.jobs import Job
from syncopate.bench.measure import measure, measure_block
from syncopate.bench.provenance import ROOT, provenance

CONNECT_SECONDS = 15
ADDRESS = re.compile(r"([a-z]+://)?([\w.-]+|\[[\da-fA-F:]+\]):\d+")
ENGINES = ("local", "dask")
HELP = "local (default): here; dask: on its workers"


def check(options, parser) -> None:
    """Refuses half of --engine dask --scheduler ADDRESS."""
    if (options.engine == "dask") != (options.scheduler is not None):
        parser.error("--engine dask and --scheduler ADDRESS belong together")


Finished = Iterator[tuple[Job, dict, dict]]


def local(blocks: list[list[Job]]) -> Finished:
    """One run after the other, here."""
    for block in blocks:
        origin = provenance()
        for job in block:
            yield job, measure(job), origin


def dask(blocks: list[list[Job]], scheduler: str, native: bool) -> Finished:
    """A round a task, so that what is compared runs on one worker.

    A task's key is made of its jobs' keys: whoever submits it again, and however often a worker
    dies with it, there is one result for it.
    """
    client = connect(scheduler)
    with client:
        warn_of_threads(client, native)
        tasks = {task_key(block): block for block in blocks}
        for key, outcome in gather(client, measure_block, tasks):
            block = tasks[key]
            if isinstance(outcome, str):
                outcome = [({"error": outcome, "status": None}, provenance())] * len(block)
            for job, (result, origin) in zip_equal(block, outcome):
                yield job, result, origin


def task_key(block: list[Job]) -> str:
    return "syncopate-" + hashlib.sha256("".join(job.key for job in block).encode()).hexdigest()


def connect(scheduler: str):
    """A client of the scheduler; a Failure of one line when there is none."""
    try:
        from distributed import Client
    except ImportError:
        raise Failure(
            "bench: --engine dask needs the Python package `distributed`;"
            " `pip install distributed`, or leave --engine out",
            BAD_USE,
        ) from None
    if not ADDRESS.fullmatch(scheduler):
        raise Failure(
            f"bench: --scheduler needs HOST:PORT or tcp://HOST:PORT, not '{scheduler}'", BAD_USE
        )
    # What it logs of lost connections is long; what a user has to know is a Failure.
    logging.disable(logging.CRITICAL)
    try:
        return Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        said = str(error).splitlines()[:1] or [type(error).__name__]
        raise Failure(f"bench: no Dask scheduler at {scheduler}: {said[0]}") from None


def warn_of_threads(client, native: bool) -> None:
    """Says once that timings of several runs at a time on one worker disturb each other."""
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    if native and any(worker["nthreads"] > 1 for worker in workers):
        print(
            "syncopate: a worker runs several tasks at a time, which spoils native timings;"
            " start workers with --nthreads 1",
            file=sys.stderr,
        )


def one_line(error: BaseException) -> str:
    """What an error says, and what caused it: Dask wraps a worker's in sentences of its own."""
    said = []
    while error is not None:
        said.append(" ".join(str(error).split()) or type(error).__name__)
        error = error.__cause__
    return (said[0] if len(said) == 1 else f"{said[0].partition('. ')[0]}: {said[-1]}")[:400]


class Call:
    """Unpickled, it is what function(argument) returns.

    Dask itself sees the bytes alone: a worker that cannot import us would end when it is told of
    our functions, and nobody would learn why.
    """

    def __init__(self, function: Callable, argument):
        self.function, self.argument = function, argument

    def __reduce__(self):
        return self.function, (self.argument,)


def why(error: BaseException) -> str:
    """Why a task has no result."""
    said = one_line(error)
    if isinstance(error, ImportError):
        return f"a worker cannot import Syncopate ({said}); its PYTHONPATH needs {ROOT}"
    return said


def gather(client, function: Callable, tasks: dict) -> Iterator[tuple]:
    """Submits function(argument) for each task. Yields its key and the result, or a line that says
    why there is none, as they finish."""
    from distributed import CancelledError, as_completed

    futures = {
        client.submit(pickle.loads, pickle.dumps(Call(function, argument)), key=key, pure=True): key
        for key, argument in tasks.items()
    }
    try:
        for future in as_completed(list(futures), loop=client.loop):
            # An error: its workers died again and again, or cannot import us.
            failed = future.status == "error"
            outcome = why(future.exception()) if failed else future.result()
            key = futures.pop(future)
            # Let go of it: else what a dying worker holds of merged results would be run again.
            future.release()
            yield key, outcome
    except (OSError, CancelledError):
        raise Failure(
            "bench: the Dask scheduler is gone; finished runs are kept, and the same command goes"
            " on with the rest",
            FAILED,
        ) from None
    finally:
        if client.status == "running":
            client.cancel(list(futures))
