"""The STAMP-like programs: every variant at tiny size, the checks that end them, and bad use."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ["SYNCOPATE_BUILD_DIR"]) / "papers/workloads" / "stamp"
PROGRAMS = {  # and the names of their tiny presets
    "bayes": ("tiny",),
    "genome": ("tiny",),
    "intruder": ("tiny",),
    "kmeans": ("high-tiny", "low-tiny"),
    "labyrinth": ("tiny",),
    "ssca2": ("tiny",),
    "vacation": ("high-tiny", "low-tiny"),
    "yada": ("tiny",),
}
CASES = [(name, preset) for name, presets in PROGRAMS.items() for preset in presets]
# The same for all variants and numbers of threads, since they depend on the input alone.
EXPECTED_RESULTS = {
    "bayes": set(),
    "genome": {"segments", "unique_segments", "length"},
    "intruder": {"packets", "attacks"},
    "kmeans": {"iterations"},
    "labyrinth": set(),
    "ssca2": {"vertices", "edges", "most_incoming"},
    "vacation": set(),
    "yada": {"triangles_before"},
}
HAS_TM = (BUILD / "ssca2.tm").exists()
HAS_SIMULATED = (BUILD / "ssca2.simulated").exists()
NATIVE_VARIANTS = ["lock", "elided", "mcs"] + (["tm"] if HAS_TM else [])


def run(program: str, *words: object, machine: str | None = None) -> subprocess.CompletedProcess:
    environment = dict(os.environ)
    if machine is not None:
        environment["SYNCOPATE_MACHINE"] = machine
    command = [str(BUILD / program), *map(str, words)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False, env=environment
    )


def measure(name: str, variant: str, preset: str, threads: int, seed: int = 1, **how) -> dict:
    """The line of JSON of one run, whose check has to pass."""
    program = f"{name}.tm" if variant == "tm" else name
    program += ".simulated" if "machine" in how else ""
    words = ["--preset", preset, "--threads", threads, "--seed", seed, "--json"]
    words += (
        ["--variant", "lock", "--lock", variant] if variant == "mcs" else ["--variant", variant]
    )
    done = run(program, *words, **how)
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads(done.stdout.splitlines()[0])
    assert result["workload"] == name
    assert result["consistent"] is True
    assert result["threads"] == threads == len(result["per_thread"])
    assert result["operations"] == sum(result["per_thread"]) > 0
    assert result["seconds"] > 0
    return result


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(("name", "preset"), CASES)
def test_variants_agree(name, preset, seed):
    """Every variant passes its check, and finds what the sequential one finds."""
    expected = measure(name, "sequential", preset, 1, seed)
    assert set(expected["results"]) == EXPECTED_RESULTS[name]
    for variant in NATIVE_VARIANTS:
        alone = measure(name, variant, preset, 1, seed)
        # One thread does the same in the same order.
        for member in ("results", "varying", "operations"):
            assert alone[member] == expected[member], (variant, member)
        together = measure(name, variant, preset, 3, seed)
        assert together["results"] == expected["results"], variant


@pytest.mark.skipif(not HAS_SIMULATED, reason="the simulated machine is not built")
@pytest.mark.parametrize(("name", "preset"), CASES)
def test_simulated(name, preset):
    """On a machine whose transactions commit; what it computes is what the native run computes."""
    native = measure(name, "sequential", preset, 1)
    for variant in ("lock", "elided", "tsx"):
        on_model = measure(name, variant, preset, 3, machine="haswell-4c8t")
        assert on_model["results"] == native["results"]


@pytest.mark.skipif(not HAS_SIMULATED, reason="the simulated machine is not built")
def test_bench_runs_software_transactions_on_the_simulated_machine(tmp_path):
    words = ["bench", "run", "stamp/kmeans-high", "--machine", "haswell-4c8t", "--threads", "2"]
    words += ["--variant", "tm:norec,tm:tl2", "--build", str(BUILD.parents[2])]
    words += ["--out", str(tmp_path / "r.json")]
    done = subprocess.run(
        [sys.executable, "-m", "syncopate", *words],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    runs = json.loads((tmp_path / "r.json").read_text())["runs"]
    assert {run["variant"] for run in runs} == {"tm:norec", "tm:tl2"}
    assert len({run["values"]["time"] for run in runs}) == 2


@pytest.mark.sampled(3)
@pytest.mark.skipif(not HAS_SIMULATED, reason="the simulated machine is not built")
@pytest.mark.parametrize(("name", "preset"), CASES)
def test_software_transactions_on_the_simulated_machine(name, preset):
    """TL2 runs there itself; each operation commits at least one transaction in most programs."""
    native = measure(name, "sequential", preset, 1)
    for threads in (1, 4):
        words = ["--preset", preset, "--threads", threads, "--json"]
        done = run(f"{name}.tl2.simulated", *words, machine="haswell-4c8t")
        assert done.returncode == 0, done.stdout + done.stderr
        result = json.loads(done.stdout.splitlines()[0])
        assert result["consistent"] is True
        assert result["results"] == native["results"]
        assert result["attempts"] >= result["commits"] > 0
        if threads == 1:
            assert result["attempts"] == result["commits"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_check_finds_an_error(name):
    preset = PROGRAMS[name][0]
    done = run(name, "--preset", preset, "--inject-error", 1, "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["consistent"] is False


def test_text_says_what_ran_and_how_it_ended():
    done = run("ssca2", "--preset", "tiny", "--variant", "sequential")
    rows = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())
    assert done.returncode == 0
    assert rows["program"] == "ssca2"
    assert rows["variant"] == "sequential"
    assert rows["threads"] == "1"
    assert rows["scale"] == "7"
    assert rows["check"] == "passed"
    assert float(rows["seconds"]) > 0
    failed = run("ssca2", "--preset", "tiny", "--inject-error", 1)
    assert failed.stdout.splitlines()[-1].split() == ["check", "FAILED"]


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two processors")
def test_no_lock_at_all_is_found():
    """Three threads under a lock that excludes nobody lose edges, sooner or later."""
    for seed in range(1, 51):
        words = ["--scale", 12, "--lock", "null", "--threads", 3, "--seed", seed]
        if run("ssca2", *words).returncode != 0:
            return
    pytest.fail("no edge was ever lost under the null lock")


def test_computing_between_sections():
    between = 200_000  # nanoseconds
    words = ["--preset", "low-tiny", "--tasks", 50, "--between", between, "--json"]
    result = json.loads(run("vacation", *words).stdout)
    assert result["operations"] == 50
    assert result["seconds"] > 0.9 * 50 * between * 1e-9


def test_an_option_overrides_its_preset():
    done = run("vacation", "--tasks", 30, "--preset", "low-tiny", "--json")
    result = json.loads(done.stdout)
    assert (result["tasks"], result["queries"], result["relations"]) == (30, 2, 64)


@pytest.mark.parametrize(
    ("program", "words", "message"),
    [
        ("genome", ["--preset", "nosuch"], "no preset is called 'nosuch'; there are small, tiny"),
        ("genome", ["--variant", "tm"], "no variant is called 'tm' here"),
        ("genome", ["--variant", "sequential", "--threads", 2], "sequential needs --threads 1"),
        ("genome", ["--variant", "sequential", "--lock", "mcs"], "sequential has no --lock"),
        ("genome", ["--lock", "nosuch"], "no lock is called 'nosuch'"),
        ("genome", ["--gene", 8], "--gene is at least --segment"),
        ("genome", ["--threads", 0], "--threads needs a whole number of at least 1"),
        ("genome", ["--format", "xml"], "--format is text or json, not 'xml'"),
        ("bayes", ["--edges", 17], "--edges is at most 16"),
        ("intruder", ["--attacks", 101], "--attacks is at most 100"),
        ("kmeans", ["--threshold", "few"], "--threshold needs a number of at least 0"),
        ("labyrinth", ["--wires", 10**7], "--wires has no room in the grid"),
        ("ssca2", ["--scale", 31], "--scale is at most 30"),
        ("ssca2", ["--inter", 1.5], "a probability is at most 1"),
        ("vacation", ["--range", 101], "a percentage is at most 100"),
        ("yada", ["--angle", 30], "--angle is at most 20"),
        ("yada", ["--angel", 20], "there is no option '--angel'"),
    ],
)
def test_bad_use(program, words, message):
    done = run(program, *words)
    assert done.returncode == 2
    assert done.stdout == ""
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.skipif(not HAS_TM, reason="the compiler has no -fgnu-tm")
def test_the_build_with_transactions_has_that_variant_alone():
    for words in (["--variant", "lock"], ["--lock", "mcs"]):
        assert run("ssca2.tm", *words).returncode == 2


@pytest.mark.skipif(not HAS_TM, reason="the compiler has no -fgnu-tm")
@pytest.mark.parametrize("name", PROGRAMS)
def test_no_transaction_lies_in_another_of_its_function(name, monkeypatch):
    """GCC 12 compiles such a pair wrongly; libitm sees it (docs/tm.md)."""
    libitm = Path(os.environ["SYNCOPATE_NATIVE"]) / "lib" / "tm"
    monkeypatch.setenv("LD_LIBRARY_PATH", str(libitm))
    monkeypatch.setenv("SYNCOPATE_TM", "norec")
    monkeypatch.setenv("SYNCOPATE_TM_STATISTICS", "1")
    done = run(f"{name}.tm", "--preset", PROGRAMS[name][0], "--threads", 2)
    assert done.returncode == 0, done.stderr
    assert "algorithm=norec" in done.stderr
    assert "one function" not in done.stderr


@pytest.mark.parametrize("name", PROGRAMS)
def test_help_names_presets_and_options(name):
    done = run(name, "--help")
    assert done.returncode == 0
    for word in ("--preset ", "--threads ", "--seed ", "--variant ", "--lock ", "--inject-error "):
        assert word in done.stdout
    for preset in PROGRAMS[name]:
        assert preset in done.stdout


def compare(*words: object, script="stamp_compare") -> subprocess.CompletedProcess:
    """bench/stamp_compare.py, or another script of bench/, on this build."""
    command = [sys.executable, ROOT / "bench" / f"{script}.py", "--build", BUILD]
    return subprocess.run(
        [*map(str, command), *map(str, words)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_comparison(tmp_path):
    variants = ["sequential", "lock", "elided:htm_10", *(["tm:stock"] if HAS_TM else [])]
    out = tmp_path / "out.json"
    words = ["--variants", ",".join(variants), "--programs", "ssca2,kmeans-low", "--json", out]
    done = compare(*words, "--preset", "tiny", "--rounds", 2)
    assert done.returncode == 0, done.stderr
    report = json.loads(out.read_text())
    for threads in ("1", "2"):
        for values in report["seconds"][threads].values():
            assert set(values) == set(variants)
            assert all(len(seconds) == 2 and min(seconds) > 0 for seconds in values.values())
        for shares in report["least_share"][threads].values():
            assert all(0 <= each <= 1 for rounds in shares.values() for each in rounds)
        assert report["means"][threads]["lock"]["lock"] == pytest.approx(1)
        assert report["means"][threads]["sequential"].keys() == set(variants)
    assert done.stdout.count("geometric mean") == 4


@pytest.mark.skipif(not HAS_TM, reason="needs a compiler with -fgnu-tm")
def test_abort_rates(tmp_path):
    out, libitm = tmp_path / "out.json", Path(os.environ["SYNCOPATE_NATIVE"]) / "lib" / "tm"
    words = ["--libitm", libitm, "--programs", "ssca2", "--algorithms", "norec,irrevocable"]
    done = compare(*words, "--preset", "tiny", "--json", out, script="stamp_aborts")
    assert done.returncode == 0, done.stderr
    counts = json.loads(out.read_text())["counts"]["2"]["ssca2"]
    assert counts["norec"]["alone"] == 0 < counts["norec"]["commits"]
    assert counts["irrevocable"]["alone"] == counts["irrevocable"]["commits"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--variants", "nosuch"], "no variant 'nosuch'; it has sequential, lock"),
        (["--variants", "tm:auto"], "tm:auto: needs --libitm"),
        (["--programs", "nosuch"], "no program is called 'nosuch'; there are bayes, genome"),
        (["--libitm", "/nowhere"], "there is no /libitm.so.1"),
        (["--threads", "few"], "--threads needs whole numbers"),
        (["--rounds", 0], "--threads and --rounds are at least 1"),
        (["--variants", "lock:nosuch", "--preset", "tiny"], "no lock is called 'nosuch'"),
    ],
)
def test_comparison_refuses(words, message):
    done = compare(*words)
    assert done.returncode == 2
    assert done.stdout == ""
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
