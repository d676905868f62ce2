"""Ruby with its lock through the component, fetched and built with all its libraries: Ruby's own
tests without elision, with every transaction failing, and in transactions that commit on the
emulated machine, against a Ruby without the patches; WEBrick; and what conflicts."""

import functools
import http.client
import json
import os
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(7200)  # the first one compiles Ruby
ROOT = Path(__file__).resolve().parents[2]
INTEGRATION = ROOT / "integrations" / "ruby"
COST = ROOT / "bench" / "ruby_cost.py"
PROGRAMS = Path(__file__).parent / "programs"
OFF = {"SYNCOPATE_GIL": "gil"}
FORCED = {"SYNCOPATE_GIL": "htm:16", "SYNCOPATE_RUBY_FORCE": "1"}
# Of Ruby's tests, those nearest to threads, waiting, memory and what transactions touch most.
OWN = ["thread", "thread_cv", "thread_queue", "threadgroup", "fiber", "io",
       "process", "signal", "gc", "objectspace", "weakmap", "string", "symbol", "array", "hash",
       "struct", "enum", "enumerator", "iterator", "method", "proc", "lambda", "exception",
       "object", "module", "class", "refinement", "variable", "settracefunc", "time"]  # fmt: skip
OWN_LIBRARIES = ["socket/test_tcp", "socket/test_unix", "stringio/test_stringio",
                 "strscan/test_stringscanner", "monitor/test_monitor", "zlib/test_zlib",
                 "json/json_parser_test", "json/json_generator_test"]  # fmt: skip
SCRIPTS = [f"ruby/test_{name}" for name in OWN] + OWN_LIBRARIES
# What Debian's package has.
LIBRARIES = [
    "bigdecimal", "cgi/escape", "continuation", "coverage", "date", "digest",
    "digest/bubblebabble", "digest/md5", "digest/rmd160", "digest/sha1", "digest/sha2", "etc",
    "fcntl", "fiddle", "io/console", "io/nonblock", "io/wait", "json", "monitor", "nkf",
    "objspace", "openssl", "pathname", "psych", "pty", "racc/cparse", "rbconfig/sizeof",
    "readline", "ripper", "socket", "stringio", "strscan", "syslog", "zlib",
]  # fmt: skip
MACHINES = ["native", "emulated"]
REMOVALS = ["objects", "counts", "malloc", "transient", "calls", "variables", "vm_lock",
            "collector", "lines"]  # fmt: skip
MODES = [OFF, FORCED, FORCED | {"SYNCOPATE_GIL": "htm:1"}, FORCED | {"SYNCOPATE_GIL": "dynamic"}]


@pytest.fixture(scope="session")
def folder() -> Path:
    """Where Ruby was built: its source is fetched by the package manager."""
    built = Path(os.environ["SYNCOPATE_BUILD_DIR"]) / "ruby"
    command = ["sh", str(INTEGRATION / "build.sh"), str(built), os.environ["SYNCOPATE_NATIVE"]]
    done = subprocess.run(
        [*command, *MACHINES], capture_output=True, text=True, check=False, timeout=7200
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


def program(folder: Path, machine: str) -> Path:
    return folder / "bin" / ("ruby" if machine == "native" else f"ruby.{machine}")


def counts(folder: Path, machine: str, *arguments: object, **more: str) -> tuple[str, dict]:
    """What compute.rb prints, and what the lock counted."""
    statistics = folder / "statistics.json"
    script = PROGRAMS / "compute.rb"
    more |= {"SYNCOPATE_GIL_STATS": str(statistics)}
    ruby = program(folder, machine)
    printed = run(ruby, "--disable=gems", script, *arguments, **more).stdout
    return printed, json.loads(statistics.read_text())


def passed_basic_tests(folder: Path, machine: str, *options: str, **more: str) -> int:
    """How many of Ruby's own basic tests there are. All of them passed."""
    source, objects = folder / "ruby", folder / f"objects.{machine}"
    ruby = f"--ruby={program(folder, machine)} --disable=gems"
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


def failing(folder: Path, ruby: Path, script: str, *options: str, **mode: str) -> set[str]:
    """Which tests fail in a file of those that Ruby has."""
    source = folder / "ruby"
    # Ruby's own limits are for a machine that is idle.
    more = {"SYNCOPATE_QUIET": "1", "RUBY": str(ruby), "RUBY_TEST_TIMEOUT_SCALE": "30"}
    # Finalizers until the heap is full, and how much memory 3 million classes need: with the heap
    # that Ruby begins with, not the larger one.
    if script in ("ruby/test_gc", "ruby/test_class"):
        more["SYNCOPATE_RUBY_REMOVE"] = ",".join(n for n in REMOVALS if n != "collector")
    test = source / "test" / f"{script}.rb"
    paths = [f"-I{source / 'tool' / 'lib'}", f"-I{test.parent}"]
    done = subprocess.run(
        [str(ruby), "-W0", *paths, str(test), *options],
        capture_output=True,
        cwd=source,
        env=os.environ | more | mode,
        text=True,
        errors="replace",
        check=False,
        timeout=3600,
    )
    told = done.stdout + done.stderr
    assert re.search(r"^[1-9]\d* tests, \d+ assertions", told, re.MULTILINE), told[-4000:]
    return set(
        re.findall(r"^ +\d+\) (?:Failure|Error):\n([\w:]+#\S+?):?(?: \[|$)", told, re.MULTILINE)
    )


def fails_alone(folder: Path, ruby: Path, script: str, test: str, **mode: str) -> bool:
    """Whether it fails three times, by itself: some of Ruby's tests want a machine that is idle."""
    name = test.partition("#")[2]
    return all(failing(folder, ruby, script, "-n", name, **mode) for _ in range(3))


@functools.cache
def unpatched() -> Path:
    """The system's Ruby, of the same version: Debian's package."""
    found = subprocess.run(
        ["ruby", "--disable=gems", "-rrbconfig", "-e", "print RbConfig.ruby, ' ', RUBY_VERSION"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout.split()
    assert found[1].startswith("3.1."), (
        "the system's ruby is to be the one that the patches are for"
    )
    return Path(found[0])


@pytest.mark.long
@pytest.mark.parametrize(
    "machine, mode",
    [("native", OFF), ("native", FORCED), ("emulated", FORCED | {"SYNCOPATE_ELIDE": "off"})],
    ids=["off", "every transaction falls back", "in transactions"],
)
@pytest.mark.parametrize("script", SCRIPTS)
def test_parts_of_rubys_test_suite(folder, machine, mode, script):
    """What fails, fails without the patches, too."""
    ruby, plain = program(folder, machine), unpatched()
    more = failing(folder, ruby, script, **mode)
    if more:
        more -= failing(folder, plain, script)
    assert not [
        test
        for test in sorted(more)
        if fails_alone(folder, ruby, script, test, **mode)
        and not fails_alone(folder, plain, script, test)
    ]


@pytest.mark.long
@pytest.mark.parametrize("machine", MACHINES)
def test_every_library_of_debians_package_is_there(folder, machine):
    script = "ARGV.each { |name| require name }; p 8364.chr('utf-8').encode('cp1252').bytes"
    assert run(program(folder, machine), "-W0", "-e", script, *LIBRARIES).stdout == "[128]\n"


@pytest.mark.long
def test_irb(folder):
    done = subprocess.run(
        [str(folder / "bin" / "irb"), "-f", "--noprompt"],
        input="require 'json'\nJSON.parse('[1, 2]').sum\n",
        capture_output=True,
        env=os.environ | {"TERM": "dumb"},
        text=True,
        check=False,
        timeout=120,
    )
    assert "3" in done.stdout.split(), done.stdout + done.stderr


def page(port: int, number: int) -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    try:
        connection.request("GET", f"/{number}")
        answer = connection.getresponse()
        assert answer.status == 200
        return answer.read()
    finally:
        connection.close()


@pytest.mark.long
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("mode", [OFF, FORCED, FORCED | {"SYNCOPATE_GIL": "balance"}],
                         ids=lambda m: m["SYNCOPATE_GIL"])  # fmt: skip
def test_webrick(folder, tmp_path, machine, mode):
    """Pages of 46 bytes, asked for by four threads of another process: each answer is right."""
    statistics, requests = tmp_path / "statistics.json", 200 if machine == "native" else 40
    more = mode | {"SYNCOPATE_GIL_STATS": str(statistics), "SYNCOPATE_QUIET": "1"}
    # Ruby's source has WEBrick for its own tests.
    webrick = folder / "ruby" / "tool" / "lib"
    command = [str(program(folder, machine)), f"-I{webrick}", str(PROGRAMS / "serve.rb")]
    with (
        subprocess.Popen(
            command, stdout=subprocess.PIPE, env=os.environ | more, text=True
        ) as server,
        ThreadPoolExecutor(4) as clients,
    ):
        port = int(server.stdout.readline())
        for number, body in enumerate(clients.map(lambda n: page(port, n), range(requests))):
            assert body == f"<html><body>{number}</body></html>".ljust(46).encode()
        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=300) == 0
    counted = json.loads(statistics.read_text())
    if mode is not OFF:
        assert counted["transactions"] > requests
    if mode is not OFF and machine == "emulated":
        assert counted["transactions"] - counted["fallbacks"] > requests


@pytest.fixture(scope="session")
def puma(folder) -> Path:
    """The folder of build.sh, with the server Puma as a gem for both machines."""
    done = subprocess.run(
        ["sh", str(INTEGRATION / "puma.sh"), str(folder)],
        capture_output=True,
        text=True,
        check=False,
        timeout=1200,
    )
    assert done.returncode == 0, done.stderr
    return folder


def listening_port(server: subprocess.Popen) -> int:
    """Puma tells where it listens, and then that it has begun."""
    told = []
    for line in server.stdout:
        told.append(line)
        if "Ctrl-C" in line:
            break
    found = re.search(r"Listening on http://127.0.0.1:(\d+)", "".join(told))
    assert found, told
    return int(found[1])


@pytest.mark.long
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("mode", [OFF, FORCED, FORCED | {"SYNCOPATE_GIL": "balance"}],
                         ids=lambda m: m["SYNCOPATE_GIL"])  # fmt: skip
def test_puma(puma, tmp_path, machine, mode):
    """A Rack application in four threads, Puma's C extension compiled by gem install; each answer
    is right."""
    statistics, requests = tmp_path / "statistics.json", 4000 if machine == "native" else 400
    more = mode | {
        "GEM_PATH": f"{puma}/packages/gems:{puma}/gems.{machine}",
        "NIO4R_PURE": "true",
        "SYNCOPATE_GIL_STATS": str(statistics),
        "SYNCOPATE_QUIET": "1",
    }
    command = [str(program(puma, machine)), str(puma / f"gems.{machine}" / "bin" / "puma"), "-C",
               "/dev/null", "-t", "4:4", "-b", "tcp://127.0.0.1:0", "-e", "production",
               str(PROGRAMS / "answers.ru")]  # fmt: skip
    with (
        subprocess.Popen(
            command, stdout=subprocess.PIPE, env=os.environ | more, text=True
        ) as server,
        ThreadPoolExecutor(4) as clients,
    ):
        try:
            port = listening_port(server)
            for number, body in enumerate(clients.map(lambda n: page(port, n), range(requests))):
                assert body == f"<html><body>{number}</body></html>".ljust(46).encode()
            server.send_signal(signal.SIGTERM)
            server.stdout.read()
            assert server.wait(timeout=300) in (0, -signal.SIGTERM)  # Puma sends it to itself again
        finally:
            server.kill()
    counted = json.loads(statistics.read_text())
    if mode is not OFF:
        assert counted["transactions"] > requests
    if mode is not OFF and machine == "emulated":
        assert counted["transactions"] - counted["fallbacks"] > requests


@pytest.mark.long
@pytest.mark.parametrize("mode", MODES, ids=lambda m: m["SYNCOPATE_GIL"])
def test_threads(folder, mode):
    done = run(program(folder, "native"), PROGRAMS / "threads.rb", 4, 300, **mode)
    assert done.stdout.split() == ["ok"]


COMPARED = sorted(path.name for path in (PROGRAMS / "compared").iterdir())


@pytest.mark.long
@pytest.mark.parametrize(
    "machine, mode",
    [
        ("native", OFF),
        ("native", FORCED),
        ("emulated", FORCED | {"SYNCOPATE_ELIDE": "off"}),
        ("emulated", FORCED | {"SYNCOPATE_ELIDE": "off", "SYNCOPATE_GIL": "balance",
                               "SYNCOPATE_EMULATED": "yield=1000"}),
    ],
    ids=["off", "every transaction falls back", "in transactions", "balance"],
)  # fmt: skip
@pytest.mark.parametrize("name", COMPARED)
def test_programs_print_what_unpatched_ruby_prints(folder, machine, mode, name):
    """Among them what once went wrong: sorts by blocks, which the C library calls back from where
    the emulated machine sees nothing (sorts.rb, values.rb); the status of a child, which the kernel
    writes into the stack of a thread that may be in a transaction (children.rb); and more dead
    fibers than a process may have stacks (abandoned.rb)."""
    script = PROGRAMS / "compared" / name
    wanted = run(unpatched(), "-W0", script).stdout
    assert run(program(folder, machine), "-W0", script, **mode).stdout == wanted


@pytest.mark.long
def test_nothing_is_elided_unless_asked_for(folder):
    printed, counted = counts(folder, "native", 4, 20000, "objects")
    assert printed == "[96]\n"  # 16 strings of 6 characters
    assert not counted["elided"] and counted["transactions"] == 0


@pytest.mark.long
def test_elision_off_executes_what_ruby_without_the_patches_does(folder, tmp_path):
    """Counted, not timed. Numbers took 3.5 % more while dispatch had a second jump."""
    build = ["sh", str(INTEGRATION / "build.sh"), str(folder), os.environ["SYNCOPATE_NATIVE"]]
    done = subprocess.run(
        [*build, "plain"], capture_output=True, text=True, check=False, timeout=3600
    )
    assert done.returncode == 0, done.stderr
    script, found = PROGRAMS / "compute.rb", tmp_path / "cost.json"
    programs = [f"{script} 1 200000 numbers", f"{script} 1 40000 objects",
                f"{script} 1 40000 arrays"]  # fmt: skip
    more = [argument for each in programs for argument in ("--more", each)]
    command = [sys.executable, str(COST), str(folder), "--only=none", "--limit=600", *more]
    subprocess.run([*command, "--json", str(found)], check=True, timeout=3600)
    rows = json.loads(found.read_text())["rows"]
    assert len(rows) == len(programs)
    assert all(row["ratio"] <= 1.02 for row in rows), rows


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
    done = run(program(folder, "emulated"), PROGRAMS / "threads.rb", 3, 60, **mode, **more)
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
@pytest.mark.parametrize("machine", MACHINES)
def test_garbage_is_collected_under_every_removal(folder, machine, removed):
    """At nearly every allocation."""
    more = FORCED | {"SYNCOPATE_RUBY_REMOVE": removed, "SYNCOPATE_EMULATED": "yield=1000"}
    ruby = program(folder, machine)
    done = run(ruby, "--disable=gems", PROGRAMS / "collect.rb", 3, 4, **more)
    assert done.stdout == "ok\n"


@pytest.mark.long
@pytest.mark.parametrize("removed", ["none", "all"])
@pytest.mark.parametrize("length", [16, 64, 100, 150])
@pytest.mark.parametrize("machine", MACHINES)
def test_what_only_a_stack_holds_is_kept(folder, machine, length, removed):
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
    ruby = program(folder, machine)
    done = run(ruby, "--disable=gems", PROGRAMS / "held.rb", 2, 60, **more)
    assert done.stdout == "ok\n"
    counted = json.loads(statistics.read_text())
    assert counted["aborts"] > 100
    if machine == "emulated":
        assert counted["transactions"] - counted["fallbacks"] > 100, counted


@pytest.mark.long
def test_an_unknown_removal_is_told(folder):
    more = FORCED | {"SYNCOPATE_RUBY_REMOVE": "objects,all_of_them"}
    done = run(program(folder, "native"), "-e", "puts 1", **more)
    assert done.stdout == "1\n"
    expected = "syncopate: SYNCOPATE_RUBY_REMOVE: no conflict is named 'all_of_them'\n"
    assert done.stderr == expected


@pytest.mark.long
def test_an_unknown_mode_is_told(folder):
    done = run(program(folder, "native"), "-e", "puts 1", SYNCOPATE_GIL="some")
    assert done.stdout == "1\n"
    (line,) = done.stderr.splitlines()
    assert line.startswith("syncopate: SYNCOPATE_GIL=some: no such mode; gil, htm:N,")
