"""`bench run`: what is run in which order, what is kept, and how it goes on."""

import json
import os
import resource
import shutil
import signal
import subprocess
from collections.abc import Mapping

import pytest
from conftest import (
    PROGRAM,
    SECONDS,
    bench,
    command,
    document,
    environment,
    one_line,
    run_words,
    waited,
)

from syncopate.base import optiontable, ownsettings
from syncopate.bench import resultfile
from syncopate.bench.configuration import Configuration

LOCKS = ["--variant", "tatas,ticket"]


def test_rounds_are_interleaved_and_written(build, tmp_path):
    out = tmp_path / "out.json"
    done = bench(*run_words(build, out, *LOCKS, "--threads", "1,2", "--repeat", 2))
    assert done.returncode == 0, done.stderr
    order = [call.split("--lock ")[1].split()[0] for call in build.calls()]
    assert order == ["tatas:spin", "ticket:spin", "ticket:spin", "tatas:spin"] * 2
    assert all("--footprint 10 --contended 0 --threads" in call for call in build.calls())
    found = document(out)
    assert (found["kind"], found["schema"]) == ("syncopate-bench", 1)
    assert (found["suite"], found["machine"]) == ("array", "native")
    (measured,) = found["measured"]
    assert set(measured) == {"processor", "processors", "kernel", "date", "commit"}
    assert len(found["runs"]) == 8
    values = {run["variant"]: run["values"]["throughput"] for run in found["runs"]}
    assert values == {"tatas": 1000.0, "ticket": 500.0}
    assert "low-small, 2 threads" in done.stdout


# Every variable that our libraries read, and others that change what is compared.
OF_USERS = {
    **{name: "1" for name in optiontable.rows()},
    **{"LD_PRELOAD": "libc.so.6", "OMP_NUM_THREADS": "7", "GOMP_SPINCOUNT": "7"},
    **{"KMP_BLOCKTIME": "7", "GLIBC_TUNABLES": "glibc.malloc.check=0"},
}


def settings(environ: Mapping[str, str]) -> set[str]:
    return {name for name in OF_USERS if environ.get(name)} - set(ownsettings.KEPT)


@pytest.mark.parametrize("native", [True, False])
def test_settings_of_the_user_are_not_passed_on(build, tmp_path, monkeypatch, native):
    build.write(0, PROGRAM.replace("sleep {seconds}", "env > {folder}/given"))
    for name in settings(OF_USERS):
        monkeypatch.setenv(name, OF_USERS[name])
    machine = () if native else ("--machine", "test-4c")
    out = tmp_path / "out.json"
    words = run_words(build, out, "--variant", "tatas", "--threads", 1, "--repeat", 1, *machine)
    shutil.copy(build.program, f"{build.program}.simulated")
    bench(*words)
    lines = (build.folder / "given").read_text().splitlines()
    given = dict(line.partition("=")[::2] for line in lines)
    of_the_machine = {"SYNCOPATE_MACHINE", "SYNCOPATE_STATS", "SYNCOPATE_QUIET"}
    assert settings(given) == (set() if native else of_the_machine)


def test_settings_of_the_user_are_no_part_of_a_configuration(monkeypatch):
    for name in settings(OF_USERS):
        monkeypatch.setenv(name, OF_USERS[name])
    ours = {name for name in settings(OF_USERS) if name.startswith(("SYNCOPATE", "LD_PRELOAD"))}
    assert not ours & settings(Configuration.parse("glibc").environment())
    chosen = Configuration.parse("glibc+SYNCOPATE_LOCK=mcs").environment()
    assert ours & settings(chosen) == {"SYNCOPATE_LOCK"}


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999"])
def test_a_program_that_prints_no_number_has_no_result(build, tmp_path, number):
    """Kept, it would make a file that no reader of JSON takes, ours neither."""
    out = tmp_path / "out.json"
    build.write(0, PROGRAM.replace('"operations": 1000', f'"operations": {number}'))
    done = bench(*run_words(build, out, *LOCKS, "--threads", 1, "--repeat", 1))
    assert done.returncode == 1
    assert all("throughput is" in run["error"] for run in document(out)["runs"])
    again = bench(*run_words(build, out, *LOCKS, "--threads", 1, "--repeat", 1))
    assert again.returncode == 1 and "cannot read" not in again.stderr


def test_the_same_command_again_runs_nothing_and_more_repeats_only_the_rest(build, tmp_path):
    out = tmp_path / "out.json"
    bench(*run_words(build, out, *LOCKS, "--repeat", 1, "--threads", 1))
    again = bench(*run_words(build, out, *LOCKS, "--repeat", 1, "--threads", 1))
    assert "2 of 2 runs are in" in again.stderr
    assert len(build.calls()) == 2
    bench(*run_words(build, out, *LOCKS, "--repeat", 3, "--threads", 1))
    assert len(build.calls()) == 6
    assert len(document(out)["runs"]) == 6


def test_interrupted_it_goes_on(build, tmp_path):
    out = tmp_path / "out.json"
    build.hold(True)
    words = run_words(build, out, *LOCKS, "--repeat", 4, "--threads", 1)
    running = subprocess.Popen(
        command(*words), env=environment(), stderr=subprocess.PIPE, text=True
    )
    waited(lambda: len(build.calls()) == 5, "the fifth run")
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=SECONDS)
    assert running.returncode == 130
    build.hold(False)
    assert len(document(out)["runs"]) == 4
    assert said == (
        f"syncopate: stopped; 4 runs are kept in {out},"
        " and the same command goes on with the rest\n"
    )
    assert sorted(os.listdir(tmp_path)) == ["build", "out.json"], "nothing is left behind"
    assert bench(*words).returncode == 0
    assert len(build.calls()) == 9, "the one that was interrupted runs again, no other"
    assert len(document(out)["runs"]) == 8


def test_a_failed_run_is_shown_and_tried_again(build, tmp_path):
    out = tmp_path / "out.json"
    words = run_words(build, out, "--variant", "tatas", "--repeat", 1, "--threads", 1)
    (build.folder / "fail").touch()
    done = bench(*words)
    assert done.returncode == 1
    assert "low-small tatas, 1 thread: it failed" in done.stderr
    (build.folder / "fail").unlink()
    assert bench(*words).returncode == 0
    (run,) = document(out)["runs"]
    assert run["values"] == {"throughput": 1000.0}
    assert "error" not in run


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("#!/bin/sh\necho 'no such lock' >&2; exit 2\n", "no such lock"),
        ("#!/bin/sh\necho hello\n", None),
        ('#!/bin/sh\necho \'{{"consistent": false, "operations": 1, "seconds": 1}}\'\n', None),
        ("#!/bin/sh\necho '{{\"nothing\": 1}}'\n", None),
    ],
)
def test_programs_without_a_result(build, tmp_path, text, said):
    build.write(0, text)
    out = tmp_path / "out.json"
    done = bench(*run_words(build, out, "--variant", "tatas", "--repeat", 1, "--threads", 1))
    if said:  # its options were refused: the rest would be too
        assert said in one_line(done, 2)
    else:
        assert done.returncode == 1
    (run,) = document(out)["runs"]
    assert "values" not in run and run["error"]


def test_another_build_is_not_mixed_in(build, tmp_path):
    out = tmp_path / "out.json"
    words = run_words(build, out, "--variant", "tatas", "--repeat", 1, "--threads", 1)
    bench(*words)
    before = out.read_bytes()
    build.write(seconds=0.01)
    line = one_line(bench(*words), 1)
    assert "of another build or with other options" in line and "--fresh" in line
    assert out.read_bytes() == before
    assert bench(*words, "--fresh").returncode == 0
    assert len(document(out)["runs"]) == 1


def test_another_build_of_what_is_not_asked_for_now_is_not_mixed_in(build, tmp_path):
    """Another variant, or a further round, would be compared with runs of the build before."""
    out = tmp_path / "out.json"
    words = run_words(build, out, "--threads", 1)
    bench(*words, "--variant", "tatas", "--repeat", 2)
    assert bench(*words, "--variant", "ticket", "--repeat", 1).returncode == 0
    before = out.read_bytes()
    build.write(seconds=0.01)
    for asked in (["ticket", "--repeat", 2], ["auto", "--repeat", 1], ["ticket", "--threads", 2]):
        line = one_line(bench(*words, "--variant", *asked), 1)
        assert "of another build or with other options" in line and "--fresh" in line
        assert out.read_bytes() == before
    document_of_old = json.loads(before)
    for run in document_of_old["runs"]:
        run["variant"] = "one-that-is-gone"
    out.write_text(json.dumps(document_of_old))
    assert bench(*words, "--variant", "auto", "--repeat", 1).returncode == 0


@pytest.mark.parametrize(
    ("fresh", "written", "said"),
    [
        (False, 0, "no run is kept"),
        (False, 1, "1 run is kept in {}, and the same command goes on with the rest"),
        (
            True,
            2,
            "2 runs are kept in {}, and the same command, without --fresh, goes on with the rest",
        ),
    ],
)
def test_what_is_kept_is_told_as_it_is(tmp_path, fresh, written, said):
    """With --fresh the same command would forget them."""
    path = tmp_path / "out.json"
    file = resultfile.open_or_new(path, "array", "native", fresh)
    file.written = written
    assert file.kept() == said.format(path)


def test_a_file_that_cannot_grow_keeps_what_it_has(build, tmp_path):
    out = tmp_path / "out.json"
    words = run_words(build, out, *LOCKS, "--repeat", 9, "--threads", 1)

    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    line = one_line(bench(*words, preexec_fn=small_files), 1)
    assert "File too large" in line and "goes on with the rest" in line
    kept = len(document(out)["runs"])
    assert kept >= 1 and f"{kept} run{'s are' if kept > 1 else ' is'} kept in {out}" in line
    assert sorted(os.listdir(tmp_path)) == ["build", "out.json"]
    assert bench(*words).returncode == 0
    assert len(document(out)["runs"]) == 18


def damaged(**changes) -> str:
    """A result file in which one field of its run is wrong."""
    run = {"program": "low-small", "variant": "tatas", "size": "small", "threads": 1}
    run |= {"repetition": 0, "key": "k", "measured": 0, "values": {"throughput": 1.0}}
    origin = {"processor": "p", "processors": 1, "kernel": "k", "date": "d", "commit": "c"}
    head = {"kind": "syncopate-bench", "schema": 1, "suite": "array", "machine": "native"}
    return json.dumps({**head, "measured": [origin], "runs": [run | changes]})


def test_the_undamaged_file_is_read(tmp_path):
    (tmp_path / "r.json").write_text(damaged())
    done = bench("compare", tmp_path / "r.json", tmp_path / "r.json")
    assert "is damaged" not in done.stderr


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("not JSON", "no JSON: "),
        ("[]", "is no result file"),
        ('{"kind": "other"}', "is no result file"),
        ('{"kind": "syncopate-bench", "schema": 99}', "has schema 99, and this version reads 1"),
        ('{"kind": "syncopate-bench", "schema": 1}', "is damaged"),
        (damaged(values={"throughput": None}), "is damaged"),
        (damaged(values={"throughput": "fast"}), "is damaged"),
        (damaged(values={"throughput": float("nan")}), "no JSON: "),
        ("[" * 100_000, "nested too deep"),
        (damaged(values=None), "is damaged"),
        (damaged(threads="2"), "is damaged"),
        (damaged(measured=7), "is damaged"),
        (damaged(key=None), "is damaged"),
    ],
)
def test_files_that_are_not_ours_stay_as_they_are(build, tmp_path, text, said):
    out = tmp_path / "out.json"
    out.write_text(text)
    for words in (run_words(build, out), ["compare", out]):
        assert said in one_line(bench(*words), 1)
    assert out.read_text() == text
    assert build.calls() == []


def test_a_file_of_another_suite(build, tmp_path):
    out = tmp_path / "out.json"
    bench(*run_words(build, out, "--variant", "tatas", "--repeat", 1, "--threads", 1))
    other = build.folder / "papers/workloads" / "lock_pingpong"
    other.write_bytes(build.program.read_bytes())
    other.chmod(0o755)
    done = bench("run", "locks", "--build", build.folder, "--out", out)
    assert "holds suite array on native, not locks on native" in one_line(done, 1)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["arra"], "no suite is called 'arra' (did you mean array"),
        (["array/x"], "suite array has no program 'x'; it has low-small, low-large"),
        (["array", "--variant", "tata"], "no variant 'tata' (did you mean tatas"),
        (["stamp/ssca2", "--variant", "tm:nore"], "no algorithm for transactions is named 'nore'"),
        (["stamp/ssca2", "--variant", "tm:stock:ml"], "GCC's libitm has no method 'ml'"),
        (["lua/while", "--variant", "htm:many"], "a number of yield points from 1 on, not 'many'"),
        (["array", "--variant", "lock:nosuch"], "no lock is called 'nosuch'"),
        (["hpc/ua", "--variant", "lockset"], "hpc/ua has no variant 'lockset'"),
        (["array", "--size", "huge"], "no size 'huge'; it has tiny, small, paper, large"),
        (["array", "--machine", "nosuch"], "no machine is called 'nosuch'; there are native, "),
        (["epcc", "--machine", "test-4c"], "suite epcc runs natively only"),
        (["stamp", "--machine", "test-4c", "--variant", "tm:stock"], "runs natively only"),
        (["tm", "--threads", "2"], "suite tm has no --threads"),
        (["array", "--threads", "few"], "--threads needs whole numbers above 0"),
        (["array", "--repeat", "0"], "--repeat needs at least 1"),
        (["array", "--limit", "0"], "--limit: '0': a number of seconds above 0 is wanted"),
        (["array", "--engine", "dask"], "--engine dask and --scheduler ADDRESS belong together"),
    ],
)
def test_bad_use(words, said):
    assert said in one_line(bench("run", *words), 2)


def test_a_variant_that_one_program_lacks_is_run_for_the_others(build, tmp_path):
    for name in ("graph_cluster", "ua", "nufft", "canneal"):
        program = build.folder / "papers/workloads" / "hpc" / name
        program.parent.mkdir(exist_ok=True)
        program.write_bytes(build.program.read_bytes())
        program.chmod(0o755)
    out = tmp_path / "out.json"
    words = ["--variant", "lockset,static", "--threads", 2, "--repeat", 1]
    done = bench("run", "hpc", "--build", build.folder, "--out", out, *words)
    assert done.returncode == 0, done.stderr
    found = {(run["program"], run["variant"]) for run in document(out)["runs"]}
    assert len(found) == 7 and ("ua", "lockset") not in found


def test_missing_programs_say_what_to_do(tmp_path):
    done = bench("run", "array", "--build", tmp_path)
    assert f"papers/workloads/array_bench is not in {tmp_path}; run `make`" in one_line(done, 1)


def test_list_names_everything():
    done = bench("list")
    assert done.returncode == 0
    for word in ("stamp", "epcc", "lua", "vacation-high", "tm:NAME", "haswell-4c8t"):
        assert word in done.stdout
    assert "no suite is called 'nosuch'" in one_line(bench("list", "nosuch"), 2)


ACTIONS = ["list", "run", "compare", "plot", "report", "regret", "paper", "originals"]


@pytest.mark.parametrize("action", ACTIONS)
def test_help(action):
    done = bench(action, "--help")
    assert done.returncode == 0
    assert f"syncopate bench {action}" in done.stdout
