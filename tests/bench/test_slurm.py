"""scripts/slurm_workers.py: the job script, and a run on its workers, with commands in the place of
Slurm's that run a job at once, here."""

import contextlib
import os
import shlex
import signal
import socket
import subprocess
import sys

import pytest
from conftest import ROOT, SECONDS, bench, document, environment, run_words, waited

SCRIPT = ROOT / "scripts" / "slurm_workers.py"
SBATCH = """#!/bin/sh
cp "$1" {folder}/job.sh
bash {folder}/job.sh >{folder}/job.log 2>&1 &
echo $! >{folder}/job.pid
echo "Submitted batch job 17"
"""
SCANCEL = """#!/bin/sh
echo "$*" >>{folder}/cancelled
"""


@pytest.fixture
def slurm(tmp_path):
    """A folder with sbatch and scancel, to stand first in PATH; its jobs end with the test."""
    for name, text in (("sbatch", SBATCH), ("scancel", SCANCEL)):
        (tmp_path / name).write_text(text.format(folder=tmp_path))
        (tmp_path / name).chmod(0o755)
    yield tmp_path
    with contextlib.suppress(OSError, ValueError):
        os.kill(int((tmp_path / "job.pid").read_text()), signal.SIGKILL)


def words(*more: str) -> list[str]:
    return [sys.executable, str(SCRIPT), "--queue", "long", *more]


def test_the_job_script():
    asked = words(
        "--print", "--cpus", "24", "--account", "physics", "--sbatch", "constraint=avx512"
    )
    done = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    for line in (
        "#SBATCH -p long",
        "#SBATCH -A physics",
        "#SBATCH --cpus-per-task=24",
        "#SBATCH -t 04:00:00",
        "#SBATCH --exclusive",
        "#SBATCH --constraint=avx512",
        f"export PYTHONPATH={shlex.quote(str(ROOT))}",
    ):
        assert line in lines
    worker = lines[-1]
    assert worker.startswith(
        f"exec {shlex.quote(sys.executable)} -m distributed.cli.dask_worker tcp://"
    )
    assert "--nthreads 1 " in worker and "--no-nanny" in worker, "one task at a time"


def test_a_run_on_its_workers(build, slurm):
    path = f"{slurm}:{os.environ['PATH']}"
    asked = words("--logs", str(slurm / "logs"))
    with subprocess.Popen(
        asked, env={**environment(), "PATH": path}, stdout=subprocess.PIPE, text=True, cwd=slurm
    ) as running:
        try:
            address = running.stdout.readline().strip()
            waited(lambda: (slurm / "job.pid").exists(), "the job")
            out = slurm / "out.json"
            suite = run_words(build, out, "--variant", "tatas,ticket", "--repeat", 2)
            done = bench(*suite, "--engine", "dask", "--scheduler", address)
            assert done.returncode == 0, done.stderr
            assert len(document(out)["runs"]) == 8
            assert len(build.calls()) == 8
        finally:
            running.send_signal(signal.SIGINT)
    assert running.returncode == 0
    assert (slurm / "cancelled").read_text().split() == ["17"], "Ctrl-C ends the jobs"


@pytest.fixture
def taken_port():
    """The port at which Dask has its pages is taken: by us, unless it already was."""
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with contextlib.suppress(OSError):
            taken.bind(("", 8787))
            taken.listen()
        yield


def test_a_refused_job(slurm, taken_port):
    (slurm / "sbatch").write_text(
        "#!/bin/sh\necho 'sbatch: error: no such partition' >&2; exit 1\n"
    )
    path = f"{slurm}:{os.environ['PATH']}"
    done = subprocess.run(
        words("--jobs", "2"),
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
        env={**environment(), "PATH": path},
        cwd=slurm,
    )
    assert done.returncode == 1
    assert done.stderr.splitlines() == ["slurm_workers: sbatch: error: no such partition"] * 2


@pytest.mark.parametrize(
    ("more", "said"),
    [([], "there is no sbatch here"), (["--jobs", "0"], "--jobs and --cpus need at least 1")],
)
def test_bad_use(more, said, tmp_path):
    done = subprocess.run(
        words(*more),
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
        env={**environment(), "PATH": str(tmp_path)},
    )
    assert done.returncode == 2 and said in done.stderr.splitlines()[-1]
