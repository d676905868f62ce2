#!/usr/bin/env python3
"""Workers for `syncopate bench run --engine dask` on a Slurm cluster, by dask-jobqueue.

    scripts/slurm_workers.py --jobs 8 --queue NAME [--account NAME] [--cpus 16] [--sbatch WORDS]
    scripts/slurm_workers.py --queue NAME --print     # the job script, and nothing else

Runs the scheduler here, submits that many jobs, prints the scheduler's address, and waits; Ctrl-C
ends the jobs. A job that was at work and is cancelled, or out of time, is submitted again. A job
has a node for itself and runs one task at a time, since timings would disturb each other. Needs
`sbatch`, the Python package dask-jobqueue, and this folder on the nodes, too.
"""

import argparse
import contextlib
import logging
import shlex
import shutil
import signal
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOOKS_EVERY = 2  # seconds between two looks for jobs that were refused or ended


def parse(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=1, help="how many (1)")
    parser.add_argument("--queue", required=True, help="Slurm's partition")
    parser.add_argument("--account")
    parser.add_argument("--cpus", type=int, default=16, help="for the program of each job (16)")
    parser.add_argument("--memory", default="16GB", help="of each job (16GB)")
    parser.add_argument("--walltime", default="04:00:00", help="of each job (04:00:00)")
    parser.add_argument("--interface", help="the network that all nodes share, as ib0")
    parser.add_argument("--logs", default="slurm-logs", help="folder of the jobs' output")
    parser.add_argument("--sbatch", nargs="*", default=[], help="further directives, as mem=0")
    parser.add_argument("--print", action="store_true", help="print the job script and end")
    options = parser.parse_args(words)
    if options.jobs < 1 or options.cpus < 1:
        parser.error("--jobs and --cpus need at least 1")
    return options


def cluster(options: argparse.Namespace, submitted: list[str]):
    """The scheduler, running here, which submits jobs when it is scaled.

    submitted: gets for each job what sbatch said against it, or nothing.
    """
    from dask_jobqueue import SLURMCluster
    from dask_jobqueue.slurm import SLURMJob
    from distributed.core import Status

    class Job(SLURMJob):
        async def start(self):
            try:
                await super().start()
            except RuntimeError as error:  # its text ends with what sbatch printed
                submitted.append(str(error).strip().splitlines()[-1])
                self.status = Status.failed  # else the cluster does not close
                raise
            submitted.append("")

    return SLURMCluster(
        job_cls=Job,
        queue=options.queue,
        account=options.account,
        cores=1,  # tasks at a time
        processes=1,
        job_cpu=options.cpus,
        memory=options.memory,
        walltime=options.walltime,
        interface=options.interface,
        nanny=False,  # a worker ends with its job
        # No shell between: what ends the job ends the worker.
        python=f"exec {shlex.quote(sys.executable)}",
        log_directory=options.logs,
        job_extra_directives=["--exclusive", *(f"--{word}" for word in options.sbatch)],
        job_script_prologue=[f"export PYTHONPATH={shlex.quote(str(ROOT))}"],
        # A free port: at the usual one another scheduler of this machine may be.
        scheduler_options={"dashboard": False, "dashboard_address": ":0"},
    )


def keep(workers, jobs: int, submitted: list[str]) -> int:
    """Submits the jobs, and new ones for those that end, until interrupted. Returns the exit
    status, 1, when Slurm has refused all of them."""
    workers.scale(jobs=jobs)
    print(workers.scheduler_address, flush=True)
    said = 0
    while True:
        time.sleep(LOOKS_EVERY)
        for line in filter(None, submitted[said:]):
            print(f"slurm_workers: {line}", file=sys.stderr)
        said = len(submitted)
        if said >= jobs and all(submitted):
            return 1
        workers.scale(jobs=jobs)


def main() -> int:
    options = parse()
    if not options.print and shutil.which("sbatch") is None:
        print("slurm_workers: there is no sbatch here; run it on a Slurm cluster", file=sys.stderr)
        return 2
    submitted: list[str] = []
    try:
        workers = cluster(options, submitted)
    except ImportError as error:
        print(f"slurm_workers: {error}; `pip install dask-jobqueue`", file=sys.stderr)
        return 2
    with workers:
        if options.print:
            print(workers.job_script(), end="")
            return 0
        logging.disable(logging.CRITICAL)  # a refused job is a line of ours
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        with contextlib.suppress(KeyboardInterrupt):
            return keep(workers, options.jobs, submitted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
