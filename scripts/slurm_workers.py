#!/usr/bin/env python3
"""Workers for `syncopate bench --engine dask` on a Slurm cluster, by dask-jobqueue.

    scripts/slurm_workers.py --jobs 8 --queue NAME [--account NAME] [--cpus 16] [--sbatch WORDS]
    scripts/slurm_workers.py --queue NAME --print     # the job script, and nothing else

Runs the scheduler here, submits that many jobs, prints the scheduler's address, and waits; Ctrl-C
ends the jobs. A job has a node for itself and runs one task at a time, since timings would disturb
each other. Needs `sbatch`, the Python package dask-jobqueue, and this folder on the nodes, too.
"""

import argparse
import contextlib
import shutil
import signal
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


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


def cluster(options: argparse.Namespace):
    """The scheduler, running here, which submits jobs when it is scaled."""
    from dask_jobqueue import SLURMCluster

    return SLURMCluster(
        queue=options.queue,
        account=options.account,
        cores=1,  # tasks at a time
        processes=1,
        job_cpu=options.cpus,
        memory=options.memory,
        walltime=options.walltime,
        interface=options.interface,
        nanny=False,  # a worker that dies is Slurm's to start anew, its round another worker's
        python=sys.executable,
        log_directory=options.logs,
        job_extra_directives=["--exclusive", *(f"--{word}" for word in options.sbatch)],
        job_script_prologue=[f"export PYTHONPATH={ROOT}"],
        scheduler_options={"dashboard": False},
    )


def main() -> int:
    options = parse()
    if not options.print and shutil.which("sbatch") is None:
        print("slurm_workers: there is no sbatch here; run it on a Slurm cluster", file=sys.stderr)
        return 2
    try:
        workers = cluster(options)
    except ImportError as error:
        print(f"slurm_workers: {error}; `pip install dask-jobqueue`", file=sys.stderr)
        return 2
    with workers:
        if options.print:
            print(workers.job_script(), end="")
            return 0
        workers.scale(jobs=options.jobs)
        print(workers.scheduler_address, flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            signal.signal(signal.SIGTERM, signal.default_int_handler)
            signal.pause()
    return 0


if __name__ == "__main__":
    sys.exit(main())
