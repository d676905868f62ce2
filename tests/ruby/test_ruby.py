"""Ruby with its lock through the component, fetched and built: Ruby's own tests without elision and
with every transaction failing; transactions that commit on the emulated machine, and what conflicts
in them."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INTEGRATION = ROOT / "integrations" / "ruby"
PROGRAMS = Path(__file__).parent / "programs"
OFF = {"SYNCOPATE_GIL": "gil"}
FORCED = {"SYNCOPATE_GIL": "htm:16", "SYNCOPATE_RUBY_FORCE": "1"}
# Of Ruby's test/ruby, what passes without extension libraries.
OWN = ["gc", "iterator", "method", "proc", "struct", "thread_cv", "thread_queue", "variable"]
REMOVALS = ["objects", "counts", "malloc", "transient", "calls", "variables", "vm_lock",
            "collector", "lines"]  # fmt: skip
MODES = [OFF, FORCED, FORCED | {"SYNCOPATE_GIL": "htm:1"}, FORCED | {"SYNCOPATE_GIL": "dynamic"}]


@pytest.fixture(scope="session")
def folder() -> Path:
    """Where Ruby was built: its source is fetched by the package manager."""
    built = Path(os.environ["SYNCOPATE_BUILD_DIR"]) / "ruby"
    command = ["sh", str(INTEGRATION / "build.sh"), str(built), os.environ["SYNCOPATE_NATIVE"]]
    done = subprocess.run(
        [*command, "native", "emulated"], capture_output=True, text=True, check=False, timeout=3000
    )
    assert done.returncode == 0, done.stderr
    return built


def run(program: Path, *arguments: object, **more: str) -> subprocess.CompletedProcess:
    done = subprocess.run(
        [str(program), *(str(a) for a in arguments)],
        capture_output=True,
        env=os.environ | {"SYNCOPATE_QUIET": "1"} | more,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return done


def counts(folder: Path, machine: str, *arguments: object, **more: str) -> tuple[str, dict]:
    """What compute.rb prints, and what the lock counted."""
    statistics = folder / "statistics.json"
    script = PROGRAMS / "compute.rb"
    name = "miniruby" if machine == "native" else f"miniruby.{machine}"
    more |= {"SYNCOPATE_GIL_STATS": str(statistics)}
    printed = run(folder / "bin" / name, script, *arguments, **more).stdout
    return printed, json.loads(statistics.read_text())


def passed_basic_tests(folder: Path, machine: str, *options: str, **more: str) -> int:
    """How many of Ruby's own basic tests there are. All of them passed."""
    source, objects = folder / "ruby", folder / f"objects.{machine}"
    program = folder / "bin" / ("miniruby" if machine == "native" else f"miniruby.{machine}")
    ruby = f"--ruby={program} -I{source}/lib -I{objects}"
    runner = str(source / "bootstraptest" / "runner.rb")
    done = subprocess.run(
        ["ruby", "--disable=gems", runner, ruby, "-q", "--tty=no", *options],
        capture_output=True,
        cwd=objects,
        env=os.environ | {"SYNCOPATE_QUIET": "1"} | more,
        text=True,
        check=False,
        timeout=1800,
    )
    told = done.stdout + done.stderr
    passed = re.search(r"^PASS all (\d+) tests$", told, re.MULTILINE)
    assert passed, told[-4000:]
    return int(passed[1])


@pytest.mark.long
@pytest.mark.parametrize("mode", [OFF, FORCED], ids=["off", "every transaction falls back"])
def test_rubys_own_basic_tests(folder, mode):
    assert passed_basic_tests(folder, "native", **mode) >= 1600


@pytest.mark.long
def test_basic_tests_in_transactions(folder):
    sets = "--sets=exception,fiber,fork,insns,string,struct,thread"
    more = FORCED | {"SYNCOPATE_ELIDE": "off", "RUBY_THREAD_VM_STACK_SIZE": "131072"}
    assert passed_basic_tests(folder, "emulated", sets, **more) >= 400


@pytest.mark.long
@pytest.mark.parametrize("mode", [OFF, FORCED], ids=["off", "every transaction falls back"])
def test_parts_of_rubys_test_suite(folder, mode):
    source, ruby = folder / "ruby", folder / "bin" / "miniruby"
    paths = [source / "tool" / "lib", source / "lib", folder / "objects.native"]
    for name in OWN:
        script = source / "test" / "ruby" / f"test_{name}.rb"
        done = run(ruby, *(f"-I{path}" for path in paths), script, RUBY=str(ruby), **mode)
        (summary,) = re.findall(r"^(\d+) tests, .* 0 failures, 0 errors", done.stdout, re.MULTILINE)
        assert int(summary) > 10, name


@pytest.mark.long
@pytest.mark.parametrize("mode", MODES, ids=lambda m: m["SYNCOPATE_GIL"])
def test_threads(folder, mode):
    done = run(folder / "bin" / "miniruby", PROGRAMS / "threads.rb", 4, 300, **mode)
    assert done.stdout.split() == ["ok"]


@pytest.mark.long
def test_nothing_is_elided_unless_asked_for(folder):
    printed, counted = counts(folder, "native", 4, 20000, "objects")
    assert printed == "[96]\n"  # 16 strings of 6 characters
    assert not counted["elided"] and counted["transactions"] == 0


@pytest.mark.long
@pytest.mark.parametrize("kind", ["numbers", "arrays", "calls", "objects", "blocks"])
def test_single_transactions_commit(folder, kind):
    """One thread, on the emulated machine: the results are those without transactions."""
    expected, plain = counts(folder, "emulated", 1, 3000, kind, **OFF)
    assert plain["transactions"] == 0
    for length in (1, 16, 256):
        mode = FORCED | {"SYNCOPATE_GIL": f"htm:{length}"}
        printed, counted = counts(folder, "emulated", 1, 3000, kind, **mode)
        assert printed == expected
        committed = counted["transactions"] - counted["fallbacks"]
        assert committed > 3000 / length, counted
        assert committed > 0.5 * counted["transactions"], counted


@pytest.mark.long
@pytest.mark.parametrize("mode", MODES, ids=lambda m: m["SYNCOPATE_GIL"])
def test_threads_on_the_emulated_machine(folder, mode):
    more = {"SYNCOPATE_EMULATED": "yield=1000", "SYNCOPATE_ELIDE": "off"}
    program = folder / "bin" / "miniruby.emulated"
    done = run(program, PROGRAMS / "threads.rb", 3, 60, **mode, **more)
    assert done.stdout.split() == ["ok"]


@pytest.mark.long
def test_threads_with_local_variables_alone_hardly_conflict(folder):
    printed, counted = counts(folder, "emulated", 4, 2000, "numbers", **FORCED)
    assert printed == "[5996000]\n"
    assert counted["transactions"] > 2000
    assert counted["fallbacks"] < 0.1 * counted["transactions"], counted


def aborted(folder: Path, kind: str, removed: str) -> tuple[str, float]:
    """compute.rb's result in four threads, and which share of all attempts aborted."""
    more = {"SYNCOPATE_EMULATED": "yield=3000", "SYNCOPATE_RUBY_REMOVE": removed}
    printed, counted = counts(folder, "emulated", 4, 2000, kind, **FORCED, **more)
    attempts = counted["transactions"] + counted["aborts"] - counted["fallbacks"]
    return printed, counted["aborts"] / attempts


@pytest.mark.long
@pytest.mark.parametrize("kind", ["calls", "objects", "blocks"])
def test_threads_with_objects_of_their_own_hardly_conflict(folder, kind):
    expected, without = aborted(folder, kind, "none")
    assert without > 0.5
    printed, ratio = aborted(folder, kind, "all")
    assert printed == expected
    assert ratio < 0.15


@pytest.mark.long
@pytest.mark.parametrize("removed", ["none", *REMOVALS, "all"])
@pytest.mark.parametrize("name", ["miniruby", "miniruby.emulated"])
def test_garbage_is_collected_under_every_removal(folder, name, removed):
    """At nearly every allocation."""
    more = FORCED | {"SYNCOPATE_RUBY_REMOVE": removed, "SYNCOPATE_EMULATED": "yield=1000"}
    done = run(folder / "bin" / name, PROGRAMS / "collect.rb", 3, 4, **more)
    assert done.stdout == "ok\n"


@pytest.mark.long
@pytest.mark.parametrize("removed", ["none", "all"])
@pytest.mark.parametrize("length", [16, 64, 100, 150])
@pytest.mark.parametrize("name", ["miniruby", "miniruby.emulated"])
def test_what_only_a_stack_holds_is_kept(folder, name, length, removed):
    """The collecting thread aborts the others' transactions: they are back deep in the stack then,
    wherever they were, and what is there must be found."""
    statistics = folder / "statistics.json"
    more = FORCED | {
        "SYNCOPATE_GIL": f"htm:{length}",
        "SYNCOPATE_GIL_STATS": str(statistics),
        "SYNCOPATE_RUBY_REMOVE": removed,
        "RUBY_THREAD_VM_STACK_SIZE": "131072",
        "RUBY_GC_HEAP_INIT_SLOTS": "10000",
    }
    done = run(folder / "bin" / name, PROGRAMS / "held.rb", 2, 60, **more)
    assert done.stdout == "ok\n"
    counted = json.loads(statistics.read_text())
    assert counted["aborts"] > 100
    if name != "miniruby":
        assert counted["transactions"] - counted["fallbacks"] > 100, counted


@pytest.mark.long
def test_an_unknown_removal_is_told(folder):
    more = FORCED | {"SYNCOPATE_RUBY_REMOVE": "objects,all_of_them"}
    done = run(folder / "bin" / "miniruby", "-e", "puts 1", **more)
    assert done.stdout == "1\n"
    expected = "syncopate: SYNCOPATE_RUBY_REMOVE: no conflict is named 'all_of_them'\n"
    assert done.stderr == expected


@pytest.mark.long
def test_an_unknown_mode_is_told(folder):
    done = run(folder / "bin" / "miniruby", "-e", "puts 1", SYNCOPATE_GIL="some")
    assert done.stdout == "1\n"
    (line,) = done.stderr.splitlines()
    assert line.startswith("syncopate: SYNCOPATE_GIL=some: no such mode; gil, htm:N,")


def test_a_source_that_cannot_be_had_is_told(tmp_path):
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("apt-get", "dpkg-source"):
        (tools / name).write_text("#!/bin/sh\necho 'no network' >&2\nexit 100\n")
        (tools / name).chmod(0o755)
    done = subprocess.run(
        ["sh", str(INTEGRATION / "fetch.sh"), str(tmp_path / "ruby")],
        capture_output=True,
        env=os.environ | {"PATH": f"{tools}:{os.environ['PATH']}"},
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    log = tmp_path / "ruby" / "fetch.log"
    assert done.stderr == f"fetch.sh: cannot get Debian's source package ruby3.1; see {log}\n"
    assert "no network" in log.read_text()
    assert not (tmp_path / "ruby" / "ruby").exists()


def test_bad_arguments_are_told(tmp_path):
    build = str(INTEGRATION / "build.sh")
    done = subprocess.run(["sh", build], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2 and done.stderr.startswith("usage: build.sh FOLDER PRODUCTS")
