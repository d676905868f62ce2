"""Settings of the OpenMP library, by environment and command line: what works, what is said."""

import re
from pathlib import Path

import pytest
from openmp_runs import LIBRARY, PROGRAMS, ROOT, run, run_cli

from syncopate.base import locktable, preloading
from syncopate.launch import openmp

PROGRAM = PROGRAMS / "gcc_locks"
FINE = "locks: all hold\n"


def test_says_what_it_took_over():
    done = run([PROGRAM], SYNCOPATE_VERBOSE="1", SYNCOPATE_OMP_BARRIER="central")
    assert done.stdout == FINE
    assert done.stderr.count("\n") == 1
    assert "libgomp.so.1 (libgomp): barrier central, lock asymmetric" in done.stderr


def test_is_quiet_by_default():
    done = run([PROGRAM])
    assert (done.stdout, done.stderr) == (FINE, "")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"SYNCOPATE_OMP_BARRIER": "centrl"}, "SYNCOPATE_OMP_BARRIER=centrl: barriers are auto"),
        ({"SYNCOPATE_OMP_BARRIER": "auto:park"}, "this barrier brings its own waiting"),
        (
            {"SYNCOPATE_OMP_BARRIER": "central:slow"},
            "SYNCOPATE_OMP_BARRIER=central:slow: waiting is adaptive, spin",
        ),
        ({"SYNCOPATE_OMP_LOCK": "tikcet"}, "SYNCOPATE_OMP_LOCK=tikcet: no such lock"),
        ({"SYNCOPATE_OMP_LOCK": "ticket:slow"}, "or it does not wait so"),
        ({"SYNCOPATE_WAIT": "slow"}, "SYNCOPATE_WAIT=slow: waiting is adaptive, spin"),
        (
            {"SYNCOPATE_OMP_BARRIER": "central:park", "SYNCOPATE_WAIT": "spin"},
            "contradicts SYNCOPATE_WAIT",
        ),
        (
            {"SYNCOPATE_OMP_LOCK": "ticket:park", "SYNCOPATE_WAIT": "spin"},
            "contradicts SYNCOPATE_WAIT",
        ),
        ({"SYNCOPATE_OMP_TASKS": "our"}, "SYNCOPATE_OMP_TASKS=our: tasks are ours or runtime"),
        (
            {"SYNCOPATE_OMP_TASKS": "ours", "SYNCOPATE_OMP_BARRIER": "runtime"},
            "contradicts SYNCOPATE_OMP_BARRIER=runtime",
        ),
        ({"SYNCOPATE_OMP_REGIONS": "kpet"}, "SYNCOPATE_OMP_REGIONS=kpet: regions are kept or"),
        (
            {"SYNCOPATE_OMP_REGIONS": "kept", "SYNCOPATE_OMP_BARRIER": "runtime"},
            "contradicts SYNCOPATE_OMP_BARRIER=runtime",
        ),
    ],
)
def test_bad_setting_is_one_line_and_the_runtime_runs(settings, said):
    done = run([PROGRAM], SYNCOPATE_VERBOSE="1", **settings)
    assert done.stdout == FINE
    assert done.stderr.count("\n") == 1
    assert said in done.stderr
    assert "the program's own OpenMP runtime runs" in done.stderr


def test_regions_are_kept_where_that_is_known():
    kept = {"SYNCOPATE_OMP_REGIONS": "kept"}
    done = run([PROGRAM], SYNCOPATE_VERBOSE="1", **kept)
    first, second = done.stderr.splitlines()
    assert first.endswith("lock asymmetric, regions kept")
    assert re.fullmatch(r"syncopate: a team of \S+libgomp\S+ is kept", second)
    done = run([PROGRAMS / "clang_locks"], **kept)
    assert done.stdout == FINE
    assert done.stderr.count("\n") == 1
    assert "are not kept: it is libomp" in done.stderr


def test_tasks_are_made_where_that_is_known():
    ours = {"SYNCOPATE_OMP_TASKS": "ours"}
    done = run([PROGRAM], SYNCOPATE_VERBOSE="1", **ours)
    assert done.stderr.endswith(", tasks ours\n")
    done = run([PROGRAMS / "clang_locks"], **ours)
    assert done.stdout == FINE
    assert done.stderr.count("\n") == 1
    assert "are its own: it is libomp" in done.stderr


@pytest.mark.parametrize("barrier", openmp.barriers())
def test_every_barrier_of_the_command_line_exists(barrier):
    done = run([PROGRAM], SYNCOPATE_VERBOSE="1", SYNCOPATE_OMP_BARRIER=barrier)
    assert f"barrier {barrier}," in done.stderr


@pytest.mark.parametrize("barrier", openmp.barriers())
def test_barriers_leave_the_choice_how_they_wait_as_the_command_line_says(barrier):
    done = run([PROGRAM], SYNCOPATE_VERBOSE="1", SYNCOPATE_OMP_BARRIER=f"{barrier}:park")
    refused = "this barrier brings its own waiting" in done.stderr
    assert refused == (barrier not in openmp.barriers_that_wait())


@pytest.mark.parametrize("wait", openmp.waits())
def test_every_waiting_of_the_command_line_exists(wait):
    done = run([PROGRAM], SYNCOPATE_VERBOSE="1", SYNCOPATE_WAIT=wait)
    assert "the program's own OpenMP runtime runs" not in done.stderr


def settings_of_the_build():
    """NAME|BARRIER|LOCK|WAIT|... of CMakeLists.txt."""
    text = (Path(__file__).parent / "CMakeLists.txt").read_text(encoding="utf-8")
    rows = re.findall(r'^  "(\w+(?:\|[^"|]*){4,})"$', text, re.MULTILINE)
    assert len(rows) > 10
    return [row.split("|")[:4] for row in rows]


def test_command_line_and_library_offer_the_same_locks():
    """Also those that only OpenMP programs may have."""
    table = [lock for lock in locktable.load() if lock["openmp"]]
    assert {"one_spinner", "combined"} <= {lock["name"] for lock in table}
    for lock in table:
        for choice in [lock["name"], *(f"{lock['name']}:{wait}" for wait in lock["openmp_waits"])]:
            variables = {"SYNCOPATE_OMP_LOCK": choice, "OMP_NUM_THREADS": "1"}
            done = run([PROGRAM], SYNCOPATE_VERBOSE="1", **variables)
            assert f"lock {lock['name']}\n" in done.stderr, choice
    for lock in locktable.load():
        if not lock["openmp"]:
            done = run([PROGRAM], SYNCOPATE_OMP_LOCK=lock["name"], OMP_NUM_THREADS="1")
            assert f"SYNCOPATE_OMP_LOCK={lock['name']}: no such lock" in done.stderr


def test_the_page_names_the_locks_that_fit_a_word():
    page = (ROOT / "docs" / "openmp.md").read_text(encoding="utf-8")
    (said,) = re.findall(r"needs more than 4 bytes \(all but ([^)]*)\)", page)
    table = [lock for lock in locktable.load() if lock["openmp"]]
    fit = {lock["name"] for lock in table if lock["size"] <= 4} | {"asymmetric"}
    assert set(re.findall(r"`(\w+)`", said)) == fit


# A refused setting would leave its tests to the program's own runtime.
@pytest.mark.sampled(4)
@pytest.mark.parametrize(("name", "barrier", "lock", "wait"), settings_of_the_build())
def test_no_setting_of_the_tests_is_refused(name, barrier, lock, wait):
    variables = {"BARRIER": barrier, "LOCK": lock}
    settings = {f"SYNCOPATE_OMP_{what}": value for what, value in variables.items()}
    settings["OMP_NUM_THREADS"] = "1"  # who spins wants a processor for each thread
    done = run([PROGRAM], SYNCOPATE_VERBOSE="1", SYNCOPATE_WAIT=wait, **settings)
    assert f"barrier {barrier.partition(':')[0]}, lock {lock.partition(':')[0]}" in done.stderr


def test_command_line_puts_it_in_place():
    options = ("--omp-barrier", "central", "--omp-lock=asymmetric", "--wait=park")
    done = run_cli("run", *options, "--omp-regions=kept", "--omp-tasks=ours", "--", "env")
    lines = done.stdout.splitlines()
    assert done.returncode == 0
    assert "SYNCOPATE_OMP_BARRIER=central" in lines
    assert "SYNCOPATE_OMP_LOCK=asymmetric" in lines
    assert "SYNCOPATE_WAIT=park" in lines
    assert "SYNCOPATE_OMP_REGIONS=kept" in lines
    assert "SYNCOPATE_OMP_TASKS=ours" in lines
    (preload,) = [line for line in lines if line.startswith("LD_PRELOAD=")]
    ours = preloading.changed({}, {"LD_PRELOAD": str(LIBRARY)})["LD_PRELOAD"]
    assert preload.startswith(f"LD_PRELOAD={ours}:") and "libsyncopate-pthread" in preload


@pytest.mark.parametrize(
    ("variables", "set_to"),
    [
        ({"OMP_NUM_THREADS": "100000"}, ["linear,linear"]),
        ({"OMP_NUM_THREADS": "100000", "KMP_FORKJOIN_BARRIER_PATTERN": "tree,tree"}, ["tree,tree"]),
        ({"OMP_NUM_THREADS": "100000", "KMP_FORKJOIN_BARRIER": "1,1"}, []),
        ({"OMP_NUM_THREADS": "4"}, []),
    ],
)
def test_regions_start_without_a_tree_where_threads_outnumber_processors(variables, set_to):
    lines = run_cli("run", "--omp", "--", "env", **variables).stdout.splitlines()
    name = "KMP_FORKJOIN_BARRIER_PATTERN="
    assert [line.removeprefix(name) for line in lines if line.startswith(name)] == set_to
    assert not [line for line in lines if line.startswith("GOMP_SPINCOUNT=")]


def test_command_line_takes_the_monitor_for_both():
    options = ("--omp-barrier", "combining_tree", "--omp-lock=one_spinner", "--wait=monitor")
    done = run_cli("run", *options, "--verbose", "--", PROGRAM, OMP_NUM_THREADS="2")
    assert (done.returncode, done.stdout) == (0, FINE)
    assert "barrier combining_tree, lock one_spinner\n" in done.stderr
    assert "runtime runs" not in done.stderr


def test_command_line_without_omp_leaves_it_out():
    assert "libsyncopate-openmp" not in run_cli("run", "--", "env").stdout


def test_both_libraries_in_one_program():
    done = run_cli("run", "--omp", "--verbose", "--", PROGRAM, OMP_NUM_THREADS="4")
    assert done.stdout == FINE
    assert "locks of this program: auto" in done.stderr
    assert "barrier auto, lock asymmetric" in done.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--omp-barrier", "centrl"], "no barrier is named 'centrl' (did you mean central?)"),
        (["--omp-barrier", "auto:park"], "leave out ':park'"),
        (["--omp-barrier", "central:prak"], "no waiting is named 'prak' (did you mean park"),
        (["--omp-lock", "tikcet"], "(did you mean ticket"),
        (["--lock", "one_spinner"], "lock one_spinner cannot stand behind a program's mutexes"),
        (["--omp-lock", "glibc"], "lock glibc cannot stand behind OpenMP's locks"),
        (["--omp-regions", "kpet"], "no 'kpet' (did you mean kept?)"),
        (["--omp-tasks", "our"], "no 'our' (did you mean ours?)"),
        (["--omp-tasks", "ours", "--omp-barrier", "runtime"], "contradicts --omp-barrier"),
        (["--omp-regions", "kept", "--omp-barrier", "runtime"], "contradicts --omp-barrier"),
        (["--wait", "yeild"], "no waiting is named 'yeild' (did you mean yield?)"),
        (["--omp-barrier", "central:park", "--wait", "spin"], "contradicts --wait spin"),
        (["--omp-lock", "ticket:park", "--wait", "spin"], "contradicts --wait spin"),
        (["--omp-lock", "asymmetric:spin"], "lock asymmetric brings its own waiting; leave out"),
    ],
)
def test_command_line_refuses(options, said):
    done = run_cli("run", *options, "--", "true")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert said in done.stderr


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"SYNCOPATE_OMP_BARRIER": "centrl"}, "no barrier is named 'centrl'"),
        ({"SYNCOPATE_OMP_LOCK": "tikcet"}, "no lock is named 'tikcet'"),
        ({"SYNCOPATE_OMP_REGIONS": "kpet"}, "SYNCOPATE_OMP_REGIONS: no 'kpet'"),
        ({"SYNCOPATE_OMP_TASKS": "our"}, "SYNCOPATE_OMP_TASKS: no 'our'"),
        ({"SYNCOPATE_WAIT": "slow"}, "SYNCOPATE_WAIT: no waiting is named 'slow'"),
        (
            {"SYNCOPATE_OMP_BARRIER": "runtime", "SYNCOPATE_OMP_REGIONS": "kept"},
            "SYNCOPATE_OMP_REGIONS kept contradicts",
        ),
        (
            {"SYNCOPATE_OMP_BARRIER": "runtime", "SYNCOPATE_OMP_TASKS": "ours"},
            "SYNCOPATE_OMP_TASKS ours contradicts",
        ),
    ],
    ids=str,
)
def test_command_line_refuses_bad_settings_of_its_environment_alike(settings, said):
    done = run_cli("run", "--omp", "--", "true", **settings)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert said in done.stderr


def test_help_and_page_name_the_locks():
    """--omp-lock takes neither all that `run --lock` takes, nor these alone."""
    locks = locktable.load()
    taken = {each["name"] for each in locks if each["openmp"]} | {openmp.OWN_LOCK, openmp.RUNTIME}
    known = {each["name"] for each in locks} | taken
    helped = re.search(r"--omp-lock NAME.*?(?=\n +--)", openmp.HELP, re.S)[0]
    rows = (ROOT / "docs/openmp.md").read_text(encoding="utf-8").splitlines()
    page = next(row for row in rows if row.startswith("| `--omp-lock")).partition("OMP_LOCK")[2]
    for text in (helped, page):
        assert {word for word in re.findall(r"\w+", text) if word in known} == taken
