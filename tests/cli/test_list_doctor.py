"""`syncopate list` and `syncopate doctor`, and the command itself."""

import json
import os
import re
import subprocess
import sys

import pytest
from conftest import COMMAND, LOCKS, ROOT, compile_c, one_line, run_cli

from syncopate.machines import machine


def test_list_shows_every_lock(cli):
    done = cli("list")
    assert done.returncode == 0
    for lock in LOCKS:
        assert re.search(rf"^{lock['name']} +{lock['fair']} +8 ", done.stdout, re.MULTILINE)
    assert "spin, park*" in done.stdout


@pytest.mark.parametrize("words", [["list"], ["doctor"], ["--help"], ["report", "--help"]])
def test_output_that_cannot_be_written(words, tmp_path):
    """/dev/full is not everybody's: a file that may not grow."""
    with open(tmp_path / "full", "w") as full:
        done = subprocess.run(
            ["sh", "-c", 'trap "" XFSZ; ulimit -f 0; exec "$@"', "sh", *COMMAND, *words],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "syncopate: cannot write the output: File too large\n"


# A run takes long: that its result cannot be written is said before it. {}: a program in C.
PLACES = [
    ["record", "--bundle=/nonexistent/x", "--", "{}"],
    ["simulate", "--json=/nonexistent/x.json", "{}.c"],
    ["simulate", "--timeline=/nonexistent/x.json", "{}.c"],
    ["simulate", "--timeline=/", "{}.c"],
    ["simulate", "--sweep=N=1,2", "--figure=/nonexistent/x.svg", "{}.c"],
    ["advise", "--json=/nonexistent/x.json", "{}.c"],
    ["tune", "-o", "/nonexistent/x.toml", "--", "{}"],
    ["bench", "regret", "--json=/nonexistent/x.json"],
]


@pytest.mark.parametrize("words", PLACES, ids=lambda words: " ".join(words[:3]))
def test_a_place_that_cannot_be_written_is_said_before_a_long_run(words, tmp_path):
    program = tmp_path / "program"
    program.with_suffix(".c").write_text('#include <stdio.h>\nint main() { fopen("ran", "w"); }\n')
    program.write_text("#!/bin/sh\ntouch ran\n")
    program.chmod(0o755)
    done = run_cli(*(word.format(program) for word in words), cwd=tmp_path)
    assert done.returncode == 2
    assert re.fullmatch(r"syncopate: .* cannot be written; name another file \(.*\)\n", done.stderr)
    assert sorted(os.listdir(tmp_path)) == ["program", "program.c"]


def test_closed_output_is_told_in_one_line():
    done = subprocess.run(
        ["sh", "-c", '"$@" >&-', "sh", *COMMAND, "list"],
        capture_output=True,
        text=True,
        check=False,
    )
    said = "syncopate: cannot write the output: Bad file descriptor\n"
    assert (done.returncode, done.stderr) == (1, said)


def test_list_says_which_collapse(cli):
    lines = cli("list", environ={"COLUMNS": "160"}).stdout.splitlines()
    at = {lock["name"]: index for index, line in enumerate(lines) for lock in LOCKS
          if line.startswith(lock["name"] + " ")}  # fmt: skip
    collapse = "when more threads run than there are processors"
    assert f"collapses {collapse}" in lines[at["ticket"] + 1]
    assert f"collapses with spin {collapse}" in lines[at["mcs"] + 1]
    assert "collapses" not in lines[at["auto"] + 1]
    assert "not for `syncopate run`" in lines[at["elided"] + 1]


def test_list_says_which_waits_are_for_cpp_only(cli, tmp_path):
    ticket = next(lock for lock in LOCKS if lock["name"] == "ticket")
    others = [lock for lock in LOCKS if lock != ticket]
    (tmp_path / "share/syncopate").mkdir(parents=True)
    table = json.dumps([*others, ticket | {"preload_waits": ["park"]}])
    (tmp_path / "share/syncopate/locks.json").write_text(table)
    environ = {"COLUMNS": "160", "SYNCOPATE_NATIVE": str(tmp_path)}
    lines = cli("list", environ=environ).stdout.splitlines()
    assert [line.split()[0] for line in lines if " (spin), park* " in line] == ["ticket"]
    explained = "( ) in C++ only, not for `syncopate run`"
    assert explained in lines
    assert explained not in cli("list").stdout


def test_list_json(cli):
    listed = json.loads(cli("list", "--json").stdout)
    assert listed[: len(LOCKS)] == LOCKS
    assert [lock["name"] for lock in listed[len(LOCKS) :]] == ["glibc"]


def test_damaged_table_of_locks(cli, tmp_path):
    (tmp_path / "share/syncopate").mkdir(parents=True)
    (tmp_path / "share/syncopate/locks.json").write_text('{"name": ')
    done = cli("list", environ={"SYNCOPATE_NATIVE": str(tmp_path)})
    assert done.returncode == 1
    assert "cannot read" in one_line(done)


def with_probe(native, tmp_path, output: str):
    """A prefix like `native` with a syncopate-native that prints `output`."""
    prefix = tmp_path / "prefix"
    prefix.mkdir()
    for part in ("lib", "share"):
        (prefix / part).symlink_to(native / part)
    (prefix / "bin").mkdir()
    tool = prefix / "bin/syncopate-native"
    tool.write_text(f"#!/bin/sh\ncat <<'END'\n{output}\nEND\n")
    tool.chmod(0o755)
    return {"SYNCOPATE_NATIVE": str(prefix)}


PROBED = {
    "capabilities": [
        {"name": "rtm", "usable": False, "reason": "transactions abort", "meaning": "no elision"},
        {"name": "pause", "usable": True, "reason": "", "meaning": "polite spinning"},
    ]
}


def test_doctor(cli, native, tmp_path):
    done = cli("doctor", environ=with_probe(native, tmp_path, json.dumps(PROBED)))
    text = re.sub(r"\s+", " ", done.stdout)
    assert done.returncode == 0, done.stdout
    assert "rtm not usable: transactions abort no elision" in text
    assert "ok pause usable polite spinning" in text
    assert "programs can be run and recorded" in text
    for title in ("processors", "CPU quota", "kernel", "C library", "open files", "memory nodes"):
        assert title in text


def test_doctor_json(cli, native, tmp_path):
    done = cli("doctor", "--json", environ=with_probe(native, tmp_path, json.dumps(PROBED)))
    document = json.loads(done.stdout)
    assert (document["schema"], document["version"]) == ("syncopate-doctor", 1)
    findings = [finding for found in document["sections"].values() for finding in found]
    assert {"name", "value", "state", "meaning"} == set(findings[0])
    # What works is told without the folders of this machine, which pages would show.
    assert "/libsyncopate" not in done.stdout and "libsyncopate-pthread.so.0 loads" in done.stdout
    assert {finding["state"] for finding in findings} <= {"good", "info", "warn", "bad"}
    assert all(finding["meaning"] and finding["value"] for finding in findings)


@pytest.mark.parametrize("output", ["not JSON", "{}", '{"capabilities": [{}]}', "[]"])
def test_doctor_with_a_broken_probe(cli, native, tmp_path, output):
    done = cli("doctor", environ=with_probe(native, tmp_path, output))
    assert done.returncode == 1
    assert "CPU features are unknown" in re.sub(r"\s+", " ", done.stdout)


def test_doctor_sees_a_library_that_does_not_load(cli, native, tmp_path):
    environ = with_probe(native, tmp_path, json.dumps(PROBED))
    prefix = tmp_path / "prefix"
    (prefix / "lib").unlink()
    (prefix / "lib").mkdir()
    library = prefix / "lib/libsyncopate-pthread.so.0"
    compile_c("int needed(void); int f(void) { return needed(); }\n", library, "-shared", "-fPIC")
    assert cli("doctor", environ=environ).returncode == 0  # bound lazily: it loads
    library.write_bytes(b"not a library")
    done = cli("doctor", environ=environ)
    assert done.returncode == 1
    assert "does not load" in re.sub(r"\s+", " ", done.stdout)


def test_cpu_quota_is_the_least_on_the_way_up(monkeypatch):
    files = {
        "/proc/self/cgroup": "0::/a/b",
        "/sys/fs/cgroup/a/b/cpu.max": "max 100000",
        "/sys/fs/cgroup/a/cpu.max": "150000 100000",
        "/sys/fs/cgroup/cpu.max": "400000 100000",
    }
    monkeypatch.setattr(machine, "read", files.get)
    for usable, state in ((1, "good"), (2, "warn")):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, usable=usable: set(range(usable)))
        quota = next(found for found in machine.hardware() if found.name == "CPU quota")
        assert (quota.value, quota.state) == ("1.50 processors", state)
    files = {
        "/proc/9/cgroup": "3:cpu,cpuacct:/a/b\n0::/",
        "/sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us": "-1",
        "/sys/fs/cgroup/cpu/a/b/cpu.cfs_period_us": "100000",
        "/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us": "50000",
        "/sys/fs/cgroup/cpu/a/cpu.cfs_period_us": "100000",
    }
    monkeypatch.setattr(machine, "read", files.get)
    assert machine.processor_limit(9) == 0.5
    assert machine.processor_limit() is None


def test_help_and_version(cli):
    for arguments in (["--help"], ["help"], ["-h"]):
        done = cli(*arguments)
        assert done.returncode == 0
        assert done.stdout.startswith("usage: syncopate COMMAND")
    for command in ("run", "record", "report", "list", "doctor"):
        assert f"  {command} " in done.stdout
        page = cli(command, "--help")
        assert page.returncode == 0
        assert page.stdout.startswith(f"usage: syncopate {command}")
    assert re.fullmatch(r"syncopate \d+\.\d+\.\d+\n", cli("--version").stdout)


def test_unknown_command():
    done = run_cli("reprot")
    assert done.returncode == 2
    assert "no command 'reprot' (did you mean report" in one_line(done)
    assert run_cli().returncode == 2


def test_interrupt_leaves_no_traceback(monkeypatch, capsys):
    from syncopate import __main__ as command

    def interrupted(arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "dispatch", interrupted)
    assert command.main(["report", "x"]) == 130
    assert capsys.readouterr().err == ""


def test_launcher_starts_the_command(tmp_path):
    text = (ROOT / "syncopate/launcher.in").read_text()
    python_line = f'#!/usr/bin/env -S "{sys.executable}" -ISB'  # a path may have spaces
    values = {"PYTHON_LINE": python_line, "SOURCE_DIR": str(ROOT),
              "PRODUCTS_DIR": str(tmp_path)}  # fmt: skip
    for name, value in values.items():
        text = text.replace(f"@SYNCOPATE_{name}@", value)
    assert "@" not in text
    launcher = tmp_path / "syncopate"
    launcher.write_text(text)
    launcher.chmod(0o755)
    command = [launcher, "report", "--lock", "a b"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert "report: name a FILE: syncopate.rec" in one_line(done)
    environ = {name: text for name, text in os.environ.items() if name != "SYNCOPATE_NATIVE"}
    done = subprocess.run([launcher, "run", "true"], capture_output=True, text=True, env=environ)
    assert f"is not in {tmp_path};" in one_line(done)  # and nowhere else: products are there
