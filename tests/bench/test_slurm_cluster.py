"""--engine dask on a Slurm cluster: its daemons run here, for the test alone, with two nodes that
are both this machine, in a folder and on ports of their own."""

import contextlib
import getpass
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections import Counter

import pytest
from conftest import ROOT, SECONDS, bench, command, document, environment, run_words, waited

pytestmark = pytest.mark.long

NODES = ("first", "second")
CONFIGURATION = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
KillWait=1
PartitionName=here Nodes=ALL State=UP
"""
NODE = "NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1 RealMemory=500\n"


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


class Slurm:
    """A cluster; its commands work with `variables`."""

    def __init__(self, folder, stack: contextlib.ExitStack):
        self.folder, self.stack = folder, stack
        self.variables = {**environment(), "SLURM_CONF": str(folder / "slurm.conf")}

    def start(self) -> None:
        self.configure()
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        files = {name: self.folder / f"munge.{name}" for name in ("socket", "seed", "pid", "log")}
        words = [f"--{name}{'' if name == 'socket' else '-file'}={files[name]}" for name in files]
        self.daemon("munged", "--foreground", "--force", f"--key-file={key}", *words)
        waited(files["socket"].exists, "munged")
        self.daemon("slurmctld", "-D")
        for node in NODES:
            self.daemon("slurmd", "-D", "-N", node)
        waited(lambda: self.nodes() == dict.fromkeys(NODES, "idle"), "the nodes")

    def configure(self) -> None:
        port, *ports = free_ports(1 + len(NODES))
        host = socket.gethostname().partition(".")[0]
        text = CONFIGURATION.format(
            host=host, port=port, user=getpass.getuser(), folder=self.folder
        )
        for name, at in zip(NODES, ports, strict=True):
            text += NODE.format(name=name, host=host, port=at)
            (self.folder / name).mkdir()
        (self.folder / "state").mkdir()
        (self.folder / "slurm.conf").write_text(text)

    def daemon(self, name: str, *words: str) -> None:
        """One that ends with the test; what it says goes to a file."""
        path = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")
        assert path, f"{name} is not installed; run scripts/setup.sh long"
        with open(self.folder / f"{name}.log", "ab") as log:
            process = subprocess.Popen([path, *words], env=self.variables, stdout=log, stderr=log)
        self.stack.callback(ended, process)

    def said(self, *words: str) -> list[str]:
        """The lines that a command of Slurm's prints; none while its daemon does not answer."""
        done = subprocess.run(
            words, env=self.variables, capture_output=True, text=True, check=False, timeout=SECONDS
        )
        return done.stdout.splitlines()

    def nodes(self) -> dict[str, str]:
        return dict(line.split() for line in self.said("sinfo", "-h", "-N", "-o", "%N %t"))

    def jobs(self, state: str = "pending,running,completing") -> set[str]:
        return set(self.said("squeue", "-h", "-t", state, "-o", "%i"))


def ended(process: subprocess.Popen) -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@pytest.fixture
def slurm(tmp_path):
    folder = tmp_path / "slurm"
    folder.mkdir()
    with contextlib.ExitStack() as stack:
        made = Slurm(folder, stack)
        made.start()
        yield made


@contextlib.contextmanager
def workers(slurm: Slurm, jobs: int):
    """The address of the scheduler of scripts/slurm_workers.py; at the end its jobs are, too."""
    script = [sys.executable, str(ROOT / "scripts" / "slurm_workers.py"), "--queue", "here"]
    script += ["--jobs", str(jobs), "--cpus", "1", "--memory", "400MB", "--interface", "lo"]
    with subprocess.Popen(
        script, env=slurm.variables, stdout=subprocess.PIPE, text=True, cwd=slurm.folder
    ) as running:
        try:
            yield running.stdout.readline().strip()
        finally:
            running.send_signal(signal.SIGINT)
    assert running.returncode == 0
    waited(lambda: not slurm.jobs(), "the end of all jobs")


@pytest.mark.parametrize("cancelled", [1, 2])
def test_a_cancelled_job_loses_and_doubles_nothing(build, tmp_path, slurm, cancelled):
    build.hold(True)
    out = tmp_path / "out.json"
    words = run_words(build, out, "--variant", "tatas,ticket", "--threads", "1,2", "--repeat", 6)
    with workers(slurm, len(NODES)) as address:
        first = waited(lambda: len(found := slurm.jobs("running")) == 2 and found, "two jobs")
        words += ["--engine", "dask", "--scheduler", address]
        with subprocess.Popen(
            command(*words), env=environment(), stderr=subprocess.PIPE, text=True
        ) as running:
            waited(lambda: build.held() == 2 and out.exists(), "both jobs in the middle")
            gone = set(sorted(first)[:cancelled])
            assert slurm.said("scancel", "--verbose", *gone) == []
            waited(lambda: len(now := slurm.jobs("running")) == 2 and not now & gone, "new jobs")
            build.hold(False)
            _, said = running.communicate(timeout=SECONDS)
        assert running.returncode == 0, said
        before = len(build.calls())
        assert "24 of 24 runs are in" in bench(*words).stderr
        assert len(build.calls()) == before
    runs = document(out)["runs"]
    places = Counter((run["variant"], run["threads"], run["repetition"]) for run in runs)
    assert len(places) == 24 and set(places.values()) == {1}
    assert len({run["key"] for run in runs}) == 24
    assert {run["values"]["throughput"] for run in runs} == {1000.0, 500.0}
