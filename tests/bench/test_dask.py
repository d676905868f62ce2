"""--engine dask: a scheduler and two workers on this machine, one of them killed in the middle."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections import Counter

import pytest
from conftest import (
    ROOT,
    SECONDS,
    bench,
    command,
    document,
    environment,
    one_line,
    run_words,
    waited,
)

from syncopate.base.errors import Failure
from syncopate.bench import engines
from syncopate.bench.jobs import Job, Place
from syncopate.bench.resultfile import ResultFile


@contextlib.contextmanager
def started(module: str, *words: object, folder, **how):
    """A process of Dask; killed at the end."""
    with open(folder / f"{module}.log", "ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.dask_{module}", *map(str, words)],
            **{"env": environment(), "stdout": log, "stderr": log} | how,
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def clustered(tmp_path, *names: str, **how):
    """(the scheduler's address, its workers of these names); how: they are started."""
    file = tmp_path / "scheduler.json"
    common = ["--scheduler-file", file, "--no-dashboard"]
    with contextlib.ExitStack() as stack:
        scheduler = ["--host", "127.0.0.1", "--port", 0, *common]
        stack.enter_context(started("scheduler", *scheduler, folder=tmp_path))
        waited(lambda: file.exists() and file.read_text().endswith("}"), "the scheduler")
        address = json.loads(file.read_text())["address"]
        workers = []
        for name in names:
            place = ["--name", name, "--local-directory", tmp_path / name]
            words = [*common, "--nthreads", 1, "--no-nanny", *place]
            workers.append(stack.enter_context(started("worker", *words, folder=tmp_path, **how)))
        from distributed import Client

        with Client(address, set_as_default=False) as client:
            client.wait_for_workers(len(names), timeout=SECONDS)
        yield address, workers


@pytest.fixture
def cluster(tmp_path):
    with clustered(tmp_path, "first", "second") as made:
        yield made


@pytest.mark.long
def test_a_killed_worker_loses_and_doubles_nothing(build, tmp_path, cluster):
    address, workers = cluster
    build.hold(True)
    out = tmp_path / "out.json"
    words = run_words(build, out, "--variant", "tatas,ticket", "--threads", "1,2", "--repeat", 6)
    words += ["--engine", "dask", "--scheduler", address]
    running = subprocess.Popen(
        command(*words),
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    waited(lambda: build.held() == 2 and out.exists(), "both workers in the middle")
    workers[0].send_signal(signal.SIGKILL)
    workers[0].wait()
    build.hold(False)
    _, said = running.communicate(timeout=SECONDS)
    assert running.returncode == 0, said
    runs = document(out)["runs"]
    places = Counter((run["variant"], run["threads"], run["repetition"]) for run in runs)
    assert len(places) == 24 and set(places.values()) == {1}
    assert len({run["key"] for run in runs}) == 24
    assert {run["values"]["throughput"] for run in runs} == {1000.0, 500.0}
    # The killed worker's round ran again, and one that it had finished but not yet handed over.
    assert 24 <= len(build.calls()) <= 28
    before = len(build.calls())
    assert "24 of 24 runs are in" in bench(*words).stderr
    assert len(build.calls()) == before


@pytest.mark.long
def test_a_worker_that_cannot_import_us_says_so(build, tmp_path):
    out = tmp_path / "out.json"
    words = run_words(build, out, "--variant", "tatas", "--threads", "1", "--repeat", 1)
    elsewhere = environment()
    del elsewhere["PYTHONPATH"]
    with clustered(tmp_path, "foreign", env=elsewhere, cwd=tmp_path) as (address, _):
        done = bench(*words, "--engine", "dask", "--scheduler", address)
    why = "a worker cannot import Syncopate (No module named 'syncopate')"
    why += f"; its PYTHONPATH needs {ROOT}"
    assert done.returncode == 1
    assert done.stderr.splitlines()[0] == f"syncopate: low-small tatas, 1 thread: {why}"
    assert [run["error"] for run in document(out)["runs"]] == [why]


def test_a_result_that_comes_twice_is_merged_once(tmp_path):
    file = ResultFile(tmp_path / "out.json", "array", "native")
    place = Place("low-small", "tatas", "small", 1, 0)
    job = Job("key", place, "array", ("program",), {}, None, None, 1)
    origin = {"date": "2026-01-02"}
    assert file.add(job, {"error": "its worker died"}, origin)
    assert file.add(job, {"values": {"throughput": 1.0}}, origin)
    before = os.stat(file.path).st_mtime_ns
    assert not file.add(job, {"values": {"throughput": 2.0}}, {"date": "2026-01-03"})
    assert file.runs[place]["values"] == {"throughput": 1.0}
    assert os.stat(file.path).st_mtime_ns == before


def test_without_distributed_it_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(Failure, match="needs the Python package `distributed`; `pip install"):
        engines.connect("tcp://127.0.0.1:1")


def test_without_a_scheduler_it_says_so(build, tmp_path, monkeypatch):
    monkeypatch.setattr(engines, "CONNECT_SECONDS", 1)
    with pytest.raises(Failure, match=r"no Dask scheduler at tcp://127.0.0.1:1: "):
        engines.connect("tcp://127.0.0.1:1")
    words = run_words(build, tmp_path / "out.json", "--engine", "dask", "--scheduler", "nonsense:")
    assert "--scheduler needs HOST:PORT" in one_line(bench(*words), 2)
