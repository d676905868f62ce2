"""`syncopate bench regret`: its points, its judgement, and one point for real."""

import contextlib
import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import ROOT

from syncopate.base.errors import Failure
from syncopate.bench import regretmatrix


def runs(*rates: float) -> list[dict]:
    fixed = {"seconds": 1.0, "cpu_seconds": 2.0, "p999_wait_us": 3.0, "share": 0.5}
    return [
        {**fixed, "throughput": rate, "longest_wait_ms": index}
        for index, rate in enumerate(rates, start=1)
    ]


def test_points_are_all_combinations() -> None:
    grid = regretmatrix.points([2, 8], [0, 200], [0, 10], [0])
    assert len(grid) == 8
    assert {"threads": 8, "section": 200, "outside": 2000, "foreign": 0} in grid
    assert {"threads": 2, "section": 0, "outside": 1000, "foreign": 0} in grid  # 10 times 100


@pytest.mark.parametrize("text", ["", "x", "2,,3", "-1", "1.5"])
def test_numbers_are_checked(text: str) -> None:
    with pytest.raises(Failure, match="--foreign"):
        regretmatrix.numbers(text, "foreign")


def test_no_threads_are_no_point() -> None:
    with pytest.raises(Failure):
        regretmatrix.numbers("0", "threads")


def test_regret_is_over_the_best() -> None:
    judged = regretmatrix.judge(
        {"glibc": runs(*[100] * 5), "auto": runs(80, 90, 85, 84, 86), "mcs": runs(*[170] * 5)},
        "glibc",
        "auto",
    )
    assert judged["best"] == "mcs"
    assert judged["regret"] == pytest.approx(0.5)
    assert judged["ratio"] == pytest.approx(0.85)
    assert 0.79 < judged["interval"][0] <= judged["interval"][1] < 0.91


def test_figures_are_medians_and_the_longest_wait() -> None:
    of = regretmatrix.figures(runs(1e6, 2e6, 4e6))
    assert of["throughput"] == 2e6
    assert of["longest_wait_ms"] == 3
    assert of["processor_us"] == pytest.approx(1.0)


def test_a_run_without_a_section() -> None:
    of = regretmatrix.figures(runs(0, 0, 0))
    assert of["processor_us"] is None
    judged = regretmatrix.judge({"glibc": runs(0), "auto": runs(0)}, "glibc", "auto")
    assert judged == {"best": None, "regret": None, "ratio": None, "interval": [None, None]}


def test_fewer_rounds_than_an_interval_takes_make_none() -> None:
    for rounds in range(1, 7):
        of = {"glibc": runs(*[100] * rounds), "auto": runs(*[50] * rounds)}
        told = regretmatrix.judge(of, "glibc", "auto")["interval"]
        assert told == ([0.5, 0.5] if rounds >= 5 else [None, None])


def test_points_without_a_ratio_are_not_counted_in_the_mean() -> None:
    rows = []
    for rates in ((100, 50), (100, 0), (0, 100), (0, 0)):
        of = dict(zip(("glibc", "auto"), (runs(*[rate] * 5) for rate in rates), strict=True))
        judged = regretmatrix.judge(of, "glibc", "auto")
        point = {"threads": 2, "section": 0, "outside": 0, "foreign": 0}
        figures = {lock: regretmatrix.figures(each) for lock, each in of.items()}
        rows.append({**point, "locks": figures, **judged})
    text = regretmatrix.report(rows, "glibc", "auto")
    assert text.splitlines()[-1] == (
        "auto over glibc: geometric mean 0.50 of 1 point, without 3 where one of them did no"
        " section. Of 2 points with an interval, below 0.97 with the whole of it: 2. Of 4 points,"
        " with 0.9 of the best lock or more: 1."
    )
    assert not re.search(r"\b(nan|inf|None)\b", text)
    json.dumps(rows, allow_nan=False)


@pytest.mark.parametrize(("regret", "shown"), [(1.0, " "), (0.5, "+"), (0.0, "@"), (1.2, " ")])
def test_shades(regret: float, shown: str) -> None:
    assert regretmatrix.shade(regret) == shown


def test_one_point_for_real(tmp_path, capsys) -> None:
    file = tmp_path / "matrix.json"
    words = "--locks glibc,auto --threads 2 --sections 200 --outside 1 --foreign 0 --rounds 1"
    assert regretmatrix.main([*words.split(), "--seconds", "0.1", "--json", str(file)]) == 0
    (point,) = json.loads(file.read_text("utf-8"))["points"]
    assert set(point["locks"]) == {"glibc", "auto"}
    assert point["interval"] == [None, None]  # one round
    assert all(of["throughput"] > 0 for of in point["locks"].values())
    assert point["regret"] <= 1
    assert "geometric mean" in capsys.readouterr().out


def test_the_program_is_that_of_the_build_that_was_named(tmp_path, monkeypatch) -> None:
    """By --build, else by SYNCOPATE_BUILD_DIR, as all that `bench` runs."""
    for name in ("named", "chosen"):
        program = tmp_path / name / "bench" / "pthread_load"
        program.parent.mkdir(parents=True)
        program.touch()
    monkeypatch.setenv("SYNCOPATE_BUILD_DIR", str(tmp_path / "chosen"))
    assert regretmatrix.load_program() == str(tmp_path / "chosen/bench/pthread_load")
    named = str(tmp_path / "named")
    assert regretmatrix.load_program(named) == str(tmp_path / "named/bench/pthread_load")
    (tmp_path / "empty").mkdir()
    with pytest.raises(Failure, match=r"pthread_load is not in .*/empty;.*--build"):
        regretmatrix.main(["--build", str(tmp_path / "empty"), "--threads", "2"])


def test_whose_regret_is_asked_for_has_to_run() -> None:
    with pytest.raises(Failure, match="--of"):
        regretmatrix.main(["--locks", "glibc,tatas"])


@pytest.mark.parametrize("lock", ["bogus", "tatas:bogus", "elided", "one_spinner", ""])
def test_a_lock_that_would_not_stand_behind_the_name_is_none(lock: str) -> None:
    """The library takes `auto` for it, which would be measured twice."""
    with pytest.raises(Failure, match=r"bench: .*lock"):
        regretmatrix.main(["--locks", f"{lock},auto", "--threads", "2"])


ALONE = """
import sys, time
sys.path.insert(0, sys.argv[1])
from syncopate.bench import regretmatrix
with regretmatrix.foreign_load(2):
    time.sleep(300)
"""


def spinners(of: int) -> list[int]:
    """Processes that this one has started."""
    children = Path(f"/proc/{of}/task/{of}/children").read_text().split()
    return [int(each) for each in children]


def runs_on(process: int) -> bool:
    with contextlib.suppress(OSError):
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        return state not in "ZX"
    return False


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_no_busy_process_is_left_behind(number: int) -> None:
    command = [sys.executable, "-c", ALONE, str(ROOT)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        until = time.monotonic() + 60
        while len(busy := spinners(process.pid)) < 2 and time.monotonic() < until:
            time.sleep(0.01)
        process.send_signal(number)
        process.wait()
    assert len(busy) == 2
    while any(map(runs_on, busy)) and time.monotonic() < until:
        time.sleep(0.01)
    assert not any(map(runs_on, busy))


def test_an_interrupt_as_they_start_ends_those_that_have(monkeypatch) -> None:
    started, popen = [], subprocess.Popen

    def third_time(*words, **how):
        if len(started) == 2:
            raise KeyboardInterrupt
        started.append(popen(*words, **how))
        return started[-1]

    monkeypatch.setattr(regretmatrix.subprocess, "Popen", third_time)
    with pytest.raises(KeyboardInterrupt), regretmatrix.foreign_load(3):
        pass
    ended = [process.poll() is not None for process in started]
    for process in started:
        process.kill()
        process.wait()
    assert ended == [True, True]


def contended(section: int, seconds: float) -> dict:
    command = [regretmatrix.load_program(), "contended", "--vary", "--threads", "3"]
    command += ["--work-in", str(section), "--work-out", "400", "--seconds", str(seconds)]
    return json.loads(
        subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=60).stdout
    )


@pytest.mark.parametrize("section", [0, 200])
def test_work_outside_is_what_was_asked_for(section: int) -> None:
    """In each thread, until the end: also where nothing is done in between."""
    # A thread that hardly had a processor has no mean to speak of: all of them run longer then.
    for seconds in (0.4, 1.6, 6.4, 25.6):
        found = contended(section, seconds)
        if min(found["thread_operations"]) > 2_000:
            break
    assert min(found["thread_operations"]) > 2_000
    assert found["thread_work_out"] == pytest.approx([400] * 3, rel=0.1)
