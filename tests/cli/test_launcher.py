"""bin/syncopate against the Python command behind it: what the launcher does by itself has to be
what that command does, to the last variable; and it has to do it by itself."""

import json
import os
import random
import re
import resource
import select
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import ROOT, SECONDS
from launcher_support import BUILT, LAUNCHER, PYTHON, programs_of_all_kinds, seen, start

from syncopate.commands import record as recordcommand
from syncopate.commands import run as runcommand
from syncopate.launch import kernelview
from syncopate.records.recordfile import Record

WHY_NOT = kernelview.obstacle()
SEED = int(os.environ.get("SYNCOPATE_SEED") or random.randrange(1 << 32))
DICE = random.Random(SEED)


@pytest.fixture(scope="module")
def programs(tmp_path_factory) -> Path:
    return programs_of_all_kinds(tmp_path_factory.mktemp("programs"))


def lock_choices() -> list[str]:
    locks = json.loads((BUILT / "share/syncopate/locks.json").read_text())
    names = [lock["name"] for lock in locks]
    waits = ["", "park", "speculate", "none"]
    own = [f"{lock['name']}:{wait}" for lock in locks for wait in lock["waits"]]
    foreign = [f"{name}:{wait}" for name in names for wait in waits]
    return ["glibc", *names, *sorted({*own, *foreign})]


PROGRAMS = [
    "tell", "./tell", "script", "deep", "through_env", "of_shell", "with blank", "static", "leaks",
    "emulated", "sanitized", "odd", "no_interpreter", "no_program", "empty", "broken", "setuid",
    "not_executable", "folder", "./folder", "nowhere", "./nowhere", "", "/dev/null",
]  # fmt: skip
OPTIONS = [
    [], ["--lock", "mcs"], ["--lock=ticket:park"], ["-lauto"], ["-l", "futex"], ["-l", ""],
    ["--lock", "mcs:"], ["--lock", "tiket"], ["--elide", "off"], ["--elide=always:htm_10"],
    ["--elide", "auto"], ["--elide", "off:htm_1"], ["--elide", ""], ["--elide", "allways"],
    ["--lock", "glibc", "--elide", "always"], ["--guard"], ["--guard-log", "log"],
    ["--guard-log", "./log"], ["--guard-log=/tmp/../log"], ["--preempted-holders"],
    ["--guard", "--preempted-holders"], ["-v"], ["--verbose", "-lmcs"], ["-vlmcs"],
    ["-vvl", "mcs"], ["-v-"], ["-vx"], ["-v-lock", "mcs"], ["--guard=1"],
    ["--force"], ["--help"], ["-h"], ["--nothing"], ["-x"], ["--omp"], ["--tm", "norec"],
    ["--elide", "", "--elide", "always"], ["-l", "", "-lmcs"], ["--lock"], ["-"],
    ["--wait", "spin"], ["--lock", "mcs", "--lock", "ticket"],
    ["--lock", "glibc", "--guard"], ["--lock", "glibc", "--preempted-holders"],
    ["--lock", "glibc"],
]  # fmt: skip
VARIABLES = [
    {}, {"SYNCOPATE_LOCK": "ticket"}, {"SYNCOPATE_LOCK": ""}, {"SYNCOPATE_LOCK": "tickt"},
    {"LD_PRELOAD": "libm.so.6"}, {"LD_PRELOAD": f"{BUILT}/lib/libsyncopate-pthread.so.0 libm.so.6"},
    {"LD_PRELOAD": f":libm.so.6::{BUILT}/lib/libsyncopate-pthread.so.0:"}, {"LD_PRELOAD": ""},
    {"SYNCOPATE_GUARD": "slices,misuse,,restless"}, {"SYNCOPATE_LOKC": "mcs"}, {"SYNCOPATE": "off"},
    {"SYNCOPATEX": "1"}, {"SYNCOPATE_ELIDE_POLICY": "htm_1"}, {"PATH": ""}, {"PATH": "."},
    {"SYNCOPATE_NATIVE": str(BUILT)}, {"SYNCOPATE_NATIVE": f"{BUILT}/"},
    {"SYNCOPATE_NATIVE": "/nowhere"}, {"LD_LIBRARY_PATH": "/tmp"}, {"LC_ALL": "C"}, {"LANG": "C"},
    {"SYNCOPATE_GUARD": "misuse"}, {"SYNCOPATE_GUARD": "epochs"}, {"SYNCOPATE_ELIDE": "always"},
    {"SYNCOPATE_SITES": "m,x;v,1,lock=mcs"}, {"SYNCOPATE_SITES": "m,x;v,1,elide=always"},
    {"SYNCOPATE_WAIT": "spin"}, {"SYNCOPATE_OMP_LOCK": ""}, {"SYNCOPATE_OMP_TASKS": "ours"},
    {"LC_CTYPE": "C"}, {"LC_CTYPE": "C.UTF-8"}, {"LC_ALL": "C.UTF-8"}, {"LC_ALL": "POSIX"},
]  # fmt: skip


def same(words: list[str], environ: dict[str, str], folder: Path) -> subprocess.CompletedProcess:
    """Both commands do the same, which the result is."""
    done = start(LAUNCHER, words, environ, folder)
    reference = start(PYTHON, words, environ, folder)
    assert seen(done) == seen(reference), f"seed {SEED}: {environ} syncopate {words}"
    return done


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.long)])
def test_every_lock(programs, step):
    choices = lock_choices()
    assert len(choices) > 50
    choices = choices[::step]
    started = [same(["run", "-l", choice, "tell"], {}, programs).returncode for choice in choices]
    assert 20 < step * started.count(3) < step * len(choices) and set(started) == {2, 3}


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_program(programs, program):
    same(["run", program, "a", "--lock", "b c", ""], {}, programs)
    same(["run", "--", program], {}, programs)


@pytest.mark.parametrize("options", OPTIONS)
def test_every_option(programs, options):
    same(["run", *options, "--", "tell"], {}, programs)


@pytest.mark.parametrize("environ", VARIABLES)
def test_every_variable(programs, environ):
    same(["run", "--guard", "tell"], environ, programs)


@pytest.mark.parametrize("environ", VARIABLES)
def test_every_variable_beside_the_c_librarys_lock(programs, environ):
    same(["run", "--lock", "glibc", "tell"], environ, programs)


@pytest.mark.parametrize(
    ("words", "environ"),
    [
        (["--lock", "glibc", "--elide", "auto"], {}),
        (["--lock", "glibc"], {"SYNCOPATE_GUARD": "slices"}),
        (["--lock", "glibc"], {"SYNCOPATE_ELIDE": "always"}),
        (["--lock", "glibc"], {"SYNCOPATE_SITES": "m,x;v,1,lock=mcs"}),
        (["--guard"], {"SYNCOPATE_LOCK": "glibc"}),
        (["--guard", "--elide", "always"], {}),
        (["--guard-log", "log"], {"SYNCOPATE_ELIDE": "always"}),
        (["--guard"], {"SYNCOPATE_SITES": "m,x;v,1,elide=always"}),
        (["--elide", "auto:htm_10"], {"SYNCOPATE_GUARD": "misuse"}),
    ],
)
def test_what_does_nothing_beside_something_else_is_refused(programs, words, environ):
    done = same(["run", *words, "tell"], environ, programs)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"syncopate: run: ") and done.stderr.count(b"\n") == 1


def test_what_is_combined(programs):
    for _ in range(40):
        words = ["run", *DICE.choice(OPTIONS), *DICE.choice(OPTIONS)]
        if DICE.random() < 0.5:
            words.append("--")
        words += [DICE.choice(PROGRAMS[:8]), DICE.choice(["", "-v", "x"])]
        same(words, {**DICE.choice(VARIABLES), **DICE.choice(VARIABLES)}, programs)


@pytest.mark.parametrize("words", [[], ["--version"], ["rnu"], ["run"], ["record"], ["run", "--"]])
def test_the_rest_is_pythons(programs, words):
    same(words, {}, programs)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("options", "program"),
    [
        ([], ["sh", "-c", "exit 7"]),
        ([], ["sh", "-c", "kill -TERM $$"]),
        ([], ["sh", "-c", "kill -KILL $$"]),
        (["-q"], ["tell"]),
        (["--quiet", "--lock=mcs", "-v"], ["true"]),
        (["--redact"], ["tell"]),
        ([], ["sh", "-c", "true & wait; true | cat; exit 5"]),
        ([], ["static"]),
        (["--force"], ["static"]),
        (["--lock", "nothing"], ["true"]),
        ([], ["nowhere"]),
        ([], ["no_program"]),
        ([], ["broken"]),
        (["--for", "1s"], ["true"]),
        ([], ["env", "-u", "LD_PRELOAD", "-u", "SYNCOPATE_RECORD", "true"]),
        ([], ["sh", "-c", "exec sh -c 'exit 4'"]),
    ],
)
def test_records(programs, tmp_path, options, program):
    results = []
    for command in (LAUNCHER, PYTHON):
        name = f"{tmp_path}/{command.name}.rec"
        done = start(command, ["record", "-o", name, *options, *program], {}, programs)
        text = b"\n".join(sorted(done.stdout.split(b"\n"))).decode().replace(name, "RECORD")
        results.append((done.returncode, text, done.stderr.decode().replace(name, "RECORD")))
        header = Record(name).header if os.path.exists(name) else None
        if header is None:
            results[-1] += (None,)
            continue
        measured = json.loads(header.measured)
        assert 0 < measured["seconds"] < SECONDS and 0 <= measured["user_seconds"] < SECONDS
        assert header.start_monotonic_ns < header.ended_monotonic_ns
        command_line = [word.replace(name, "RECORD") for word in header.command]
        results[-1] += (sorted(measured), header.lock, header.executable, command_line)
    assert results[0] == results[1]


def test_an_older_record_is_kept(tmp_path):
    for name in ("a.rec", "b.rec"):
        (tmp_path / name).write_text(f"older {name}")
    for command, name in ((LAUNCHER, "a.rec"), (PYTHON, "b.rec")):
        assert start(command, ["record", "-qo", name, "true"], {}, tmp_path).returncode == 0
        assert (tmp_path / f"{name}.old").read_text() == f"older {name}"
        assert Record(str(tmp_path / name)).header.ended_monotonic_ns
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "a.rec", "a.rec.old", "b.rec", "b.rec.old",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "name", ["", "with blank", "/nowhere/r", "/dev/null", "./x/../r", "folder"]
)
def test_names_of_records(programs, tmp_path, name):
    results = []
    for command in (LAUNCHER, PYTHON):
        (tmp_path / "folder").mkdir(exist_ok=True)
        done = start(command, ["record", "-o", name, "true"], {}, tmp_path)
        results.append((done.returncode, done.stderr))
    assert results[0] == results[1]


@pytest.mark.parametrize("lasts", ["0.99", "1.0", "1.01", "1.05", "1.1"])
def test_programs_that_end_while_python_starts(tmp_path, lasts):
    done = start(LAUNCHER, ["record", "-q", "sleep", lasts], {}, tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    header = Record(str(tmp_path / "syncopate.rec")).header
    assert header.start_monotonic_ns < header.ended_monotonic_ns


def test_a_limit_on_files_is_one_line(tmp_path):
    (tmp_path / "syncopate.rec").write_text("old")
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10240, 10240))  # noqa: E731
    done = start(LAUNCHER, ["record", "true"], {}, tmp_path, preexec_fn=limit)
    assert done.returncode == 1
    assert b"File too large; raise `ulimit -f`" in done.stderr and done.stderr.count(b"\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["syncopate.rec.old"]


@pytest.mark.parametrize("inner", [["run"], ["record", "-o", "inner.rec", "-q"]])
def test_it_starts_itself(programs, tmp_path, inner):
    words = ["record", "-q", "-o", "outer.rec", LAUNCHER, *inner, programs / "tell"]
    done = start(LAUNCHER, words, {}, tmp_path)
    assert (done.returncode, done.stderr) == (3, b"")


def test_no_signal_is_lost_while_python_takes_over(tmp_path):
    """It does that a second after the start, and each signal is answered before the next one."""
    script = "trap 'echo caught' TERM; trap 'exit 9' INT; echo ready; while :; do sleep 0.002; done"
    process = subprocess.Popen(
        [LAUNCHER, "record", "-q", "-o", "s.rec", "--", "sh", "-c", script],
        cwd=tmp_path, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, bufsize=0,
    )  # fmt: skip
    begun = time.monotonic()
    assert process.stdout.readline() == b"ready\n"
    time.sleep(0.9)
    while time.monotonic() - begun < 1.5:
        process.send_signal(signal.SIGTERM)
        ready, _, _ = select.select([process.stdout], [], [], SECONDS)
        assert ready, "it was lost"
        assert process.stdout.readline() == b"caught\n"
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=SECONDS)
    assert process.returncode == 9


@pytest.mark.parametrize("words", [["record"], ["record", "-o", "r"], ["record", "--kernel"]])
@pytest.mark.parametrize("command", [LAUNCHER, PYTHON], ids=["launcher", "python"])
def test_a_folder_that_is_gone_is_one_line(tmp_path, words, command):
    gone = tmp_path / "gone"
    gone.mkdir()
    done = subprocess.run(
        ["sh", "-c", 'cd "$1" && rmdir "$1" && shift && exec "$@"', "sh", gone, command, *words,
         "true"], capture_output=True, text=True, timeout=SECONDS,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "syncopate: the current folder is gone; change to one that is there\n"


@pytest.mark.parametrize("command", [LAUNCHER, PYTHON], ids=["launcher", "python"])
@pytest.mark.parametrize("words", [["record", "true"], ["report", "/nowhere"], ["run", "./no"]])
def test_closed_standard_error_sends_nothing_elsewhere(tmp_path, command, words):
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" 2>&-', "sh", command, *words], cwd=tmp_path,
        stdout=subprocess.PIPE, timeout=SECONDS,
    )  # fmt: skip
    assert done.stdout == b""


@pytest.mark.parametrize("after", [0.3, 1.8], ids=["before_the_first_look", "after_it"])
def test_signals_are_passed_on(tmp_path, after):
    """Also when the Python command has taken over, as it does where a program runs on."""
    script = "trap 'echo caught; exit 9' TERM; echo ready; while :; do sleep 0.05; done"
    process = subprocess.Popen(
        [LAUNCHER, "record", "-q", "-o", "s.rec", "--", "sh", "-c", script],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    time.sleep(after)
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=SECONDS)
    assert (out, process.returncode) == ("caught\n", 9)
    header = Record(str(tmp_path / "s.rec")).header
    seconds = json.loads(header.measured)["seconds"]
    lasted = (header.ended_monotonic_ns - header.start_monotonic_ns) / 1e9
    assert after <= seconds < SECONDS and abs(lasted - seconds) < 0.5


def test_children_that_are_ignored(programs, tmp_path):
    """Who starts us may ignore SIGCHLD: then nothing is left to wait for."""
    done = start(
        LAUNCHER, ["record", "-q", "-o", f"{tmp_path}/i.rec", "tell"], {}, programs,
        preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
    )  # fmt: skip
    assert done.returncode == 3
    ignored = re.search(rb"SigIgn:\s*(\w+)", done.stdout)[1]
    assert int(ignored, 16) >> signal.SIGCHLD - 1 & 1


WAYS = (
    ["run", "tell"],
    ["run", "--omp", "tell"],
    ["run", "of_shell"],
    ["run", "-v", "sanitized"],
    ["record", "-q", "-o", "{}/s.rec", "tell"],
    ["record", "-q", "--lock", "auto", "-o", "{}/s.rec", "of_shell"],
    pytest.param(
        ["record", "-q", "--kernel", "-o", "{}/s.rec", "tell"],
        marks=pytest.mark.skipif(WHY_NOT is not None, reason=f"no kernel's view here: {WHY_NOT}"),
    ),
)


@pytest.mark.parametrize("ignored", [(), (signal.SIGPIPE,), (signal.SIGXFSZ, signal.SIGPIPE)])
@pytest.mark.parametrize("way", WAYS)
def test_signals_that_are_ignored_stay_so(programs, tmp_path, way, ignored):
    """As by systemd, which lets services ignore SIGPIPE: its default ends a server whose client
    hangs up."""

    def before():
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)

    words = [word.format(tmp_path) for word in way]
    done = start(LAUNCHER, words, {}, programs, preexec_fn=before)
    found = int(re.search(rb"SigIgn:\s*(\w+)", done.stdout)[1], 16)
    assert {n for n in (signal.SIGPIPE, signal.SIGXFSZ) if found >> n - 1 & 1} == {*ignored}
    assert b"SYNCOPATE_IGNORED" not in done.stdout


def test_its_options_are_the_commands():
    """Each that the launcher reads by itself is one of the command's, with the same short form."""
    row = r'{"(--[a-z-]+)", (?:\'(.)\'|0), (true|false)}'
    for source, command in (("run", runcommand), ("record", recordcommand)):
        rows = re.findall(row, (ROOT / f"src/launcher/{source}.cpp").read_text())
        assert len(rows) > 3
        for name, alias, takes_value in rows:
            assert command.OPTIONS[name] == ("value" if takes_value == "true" else "flag")
            assert [short for short, long in command.ALIASES.items() if long == name] == (
                [f"-{alias}"] if alias else []
            )


@pytest.mark.parametrize("value", ["OFF", "no", "0", "off"])
def test_what_does_not_switch_it_off_is_said(programs, value):
    done = start(LAUNCHER, ["run", "tell"], {"SYNCOPATE": value}, programs)
    said = f"syncopate: SYNCOPATE={value}: only `off` leaves the program as it is\n".encode()
    assert done.stderr == (b"" if value == "off" else said)
