"""`syncopate run`: what the program gets, and what is refused."""

import json
import os
import shutil
import signal
import stat
import subprocess
import tempfile
from pathlib import Path

import pytest
from conftest import COMMAND, ROOT, compile_c, one_line, run_cli

from syncopate.base import locktable
from syncopate.commands import run as runcommand
from syncopate.launch import openmp
from syncopate.machines import machine, processor


def test_a_variable_that_nothing_reads(cli):
    done = cli("run", "--", "true", environ={"SYNCOPATE_LOKC": "mcs", "SYNCOPATE_GUARD": "misuse"})
    assert done.returncode == 0
    line = "syncopate: SYNCOPATE_LOKC is set, and nothing reads it (did you mean SYNCOPATE_LOCK"
    assert done.stderr.startswith(line)
    assert done.stderr.count("\n") == 1


def test_program_gets_library_and_lock(cli, native):
    done = cli("run", "--lock", "mcs:spin", "--", "env", environ={"LD_PRELOAD": "libm.so.6"})
    lines = done.stdout.splitlines()
    assert done.returncode == 0
    assert f"LD_PRELOAD={native}/lib/libsyncopate-pthread.so.0:libm.so.6" in lines
    assert "SYNCOPATE_LOCK=mcs:spin" in lines


def test_default_lock_is_auto_unless_the_user_has_one(cli):
    assert "SYNCOPATE_LOCK=auto" in cli("run", "env").stdout.splitlines()
    mine = cli("run", "env", environ={"SYNCOPATE_LOCK": "ticket"})
    assert "SYNCOPATE_LOCK=ticket" in mine.stdout.splitlines()


def test_library_is_not_listed_twice(cli, native):
    library = f"{native}/lib/libsyncopate-pthread.so.0"
    done = cli("run", "env", environ={"LD_PRELOAD": f"libm.so.6 {library}"})
    assert f"LD_PRELOAD={library}:libm.so.6" in done.stdout.splitlines()


def test_elision_is_chosen(cli):
    lines = cli("run", "--elide", "always:htm_10", "env").stdout.splitlines()
    assert {"SYNCOPATE_ELIDE=always", "SYNCOPATE_ELIDE_POLICY=htm_10"} <= set(lines)
    lines = cli("run", "--elide=auto", "env", environ={"SYNCOPATE_ELIDE_POLICY": "htm_1"}).stdout
    assert "SYNCOPATE_ELIDE=auto" in lines and "POLICY" not in lines


@pytest.mark.parametrize("lock", ["htm_10", "speculative_tatas", "tatas:speculate", "tatas"])
@pytest.mark.parametrize("commits", [False, True])
def test_a_lock_that_waits_plainly_says_so(monkeypatch, capsys, lock, commits):
    finding = machine.Finding("rtm", "", "good" if commits else "info", "")
    monkeypatch.setattr(processor, "features", lambda: [finding])
    runcommand.say_if_plain(lock, {})
    said = capsys.readouterr().err
    if commits or lock == "tatas":
        assert said == ""
    else:
        assert said.startswith(f"syncopate: {lock}: no transaction begins on this machine")
        assert len(said.splitlines()) == 1


@pytest.mark.parametrize("barrier", ["speculating", "speculating:park", "central", None])
@pytest.mark.parametrize("preloaded", [False, True])
@pytest.mark.parametrize("commits", [False, True])
def test_a_barrier_that_waits_plainly_says_so(monkeypatch, capsys, barrier, preloaded, commits):
    finding = machine.Finding("rtm", "", "good" if commits else "info", "")
    monkeypatch.setattr(processor, "features", lambda: [finding])
    environ = {"SYNCOPATE_OMP_BARRIER": barrier} if barrier else {}
    if preloaded:
        openmp.add_library(environ)
    runcommand.say_if_plain("auto", environ)
    said = capsys.readouterr().err
    if preloaded and not commits and barrier and barrier.startswith("speculating"):
        assert said == (
            f"syncopate: {barrier}: no transaction begins on this machine; the barrier waits"
            " plainly\n"
        )
    else:
        assert said == ""


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["--elide", "allways"],
            "no such mode (did you mean always?); there are auto, always, off",
        ),
        (["--elide", "auto:htm_2"], "no such policy (did you mean htm_"),
        (["--elide", "off:htm_1"], "off needs no policy"),
        (["--lock", "glibc", "--elide", "always"], "the C library's locks do not elide"),
        (["--lock", "glibc", "--guard"], "--guard with --lock glibc: the C library's locks are"),
        (["--lock", "glibc", "--guard-log", "log"], "--guard-log with --lock glibc: the C"),
        (["--lock", "glibc", "--preempted-holders"], "--preempted-holders with --lock glibc: the"),
    ],
)
def test_what_a_lock_cannot_have_is_one_line(cli, options, said):
    done = cli("run", *options, "true")
    assert done.returncode == 2
    assert said in one_line(done)


def test_help_names_every_elision_policy(cli):
    known = one_line(cli("run", "--elide", "auto:none", "true")).rpartition("there are ")[2].strip()
    assert known in " ".join(cli("run", "--help").stdout.split())


def test_switch_of_other_processes_is_one_line(cli):
    assert "does not run with Syncopate" in one_line(cli("elide", str(os.getpid()), "off"))
    assert "there is no process" in one_line(cli("elide", "4194304", "off"))


def test_verbose_reaches_the_library(cli):
    assert "SYNCOPATE_VERBOSE=1" in cli("run", "-v", "env").stdout.splitlines()


def test_options_after_the_program_are_its_own(cli):
    done = cli("run", "echo", "--lock", "nonsense", "--help")
    assert done.stdout == "--lock nonsense --help\n"


def test_it_becomes_the_program(native):
    process = subprocess.Popen(
        [*COMMAND, "run", "sh", "-c", "echo $$"],
        env={**os.environ, "SYNCOPATE_NATIVE": str(native)},
        stdout=subprocess.PIPE,
    )
    out, _ = process.communicate(timeout=60)
    assert int(out) == process.pid


@pytest.mark.parametrize(("script", "status"), [("exit 7", 7), ("kill -TERM $$", -15)])
def test_status_is_the_programs(cli, script, status):
    assert cli("run", "sh", "-c", script).returncode == status


def test_broken_pipes_kill_as_they_would_without_us(cli):
    done = cli("run", "grep", "SigIgn", "/proc/self/status")
    ignored = int(done.stdout.split()[1], 16)
    assert not ignored & (1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1)


def test_unknown_lock_names_the_near_ones(cli):
    done = cli("run", "--lock", "tiket", "true")
    assert done.returncode == 2
    assert "no lock is named 'tiket' (did you mean ticket?)" in one_line(done)


def test_lock_for_the_library_only_is_refused(cli):
    done = cli("run", "--lock", "elided", "true")
    assert done.returncode == 2
    assert "lock elided cannot stand behind a program's mutexes; there are" in one_line(done)


def test_unknown_wait_names_the_locks_own(cli):
    done = cli("run", "--lock", "mcs:yield", "true")
    assert done.returncode == 2
    assert "mcs does not wait by 'yield'" in one_line(done)
    assert "it has: spin, park" in done.stderr


def test_glibc_is_always_there(cli):
    assert "SYNCOPATE_LOCK=glibc" in cli("run", "-l", "glibc", "env").stdout.splitlines()


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        ([], 2, "no program named"),
        (["--lcok", "mcs", "true"], 2, "did you mean --lock"),
        (["--lock"], 2, "--lock needs a value"),
        (["--verbose=yes", "true"], 2, "--verbose takes no value"),
        (["no-such-program-here"], 127, "not found in PATH"),
        (["./no/such/program"], 127, "no such file"),
        ([""], 127, "name is empty"),
        (["/"], 126, "is a directory"),
        (["/etc/passwd"], 126, "not executable"),
    ],
)
def test_bad_use(cli, arguments, status, said):
    done = cli("run", *arguments)
    assert done.returncode == status
    assert said in one_line(done)


def test_static_program_is_refused_and_forced(cli, tmp_path):
    program = compile_c("int main(void) { return 5; }\n", tmp_path / "still", "-static")
    done = cli("run", program)
    assert done.returncode == 2
    assert "cannot act on a statically linked program" in one_line(done)
    assert "link it dynamically" in one_line(done)
    assert cli("run", "--force", program).returncode == 5


@pytest.mark.parametrize(
    ("command", "instead"),
    [("record", "`syncopate record --kernel`"), ("top", "`syncopate top -p PID`")],
)
def test_what_sees_a_static_program_is_said(cli, tmp_path, command, instead):
    program = compile_c("int main(void) { return 5; }\n", tmp_path / "still", "-static")
    done = cli(command, program)
    assert done.returncode == 2
    assert f"{instead} sees its waits from outside" in one_line(done)


def test_script_is_judged_by_its_interpreter(cli, tmp_path):
    interpreter = compile_c("int main(void) { return 5; }\n", tmp_path / "still", "-static")
    script = executable(tmp_path / "script", f"#!{interpreter} -x\n")
    done = cli("run", script)
    assert done.returncode == 2
    assert "still is statically linked" in one_line(done)
    good = executable(tmp_path / "good", "#!/usr/bin/env sh\nexit 3\n")
    assert cli("run", good).returncode == 3


def test_script_without_interpreter(cli, tmp_path):
    done = cli("run", executable(tmp_path / "script", "#!/no/such/sh\n"))
    assert done.returncode == 127
    assert "#! line names /no/such/sh" in one_line(done)
    done = cli("run", executable(tmp_path / "text", "exit 0\n"))
    assert done.returncode == 126
    assert "neither an ELF program nor a script" in one_line(done)


def test_program_of_another_machine(cli, tmp_path):
    image = bytearray(Path(shutil.which("true")).read_bytes())
    image[18:20] = (243).to_bytes(2, "little")
    program = tmp_path / "foreign"
    program.write_bytes(image)
    program.chmod(0o755)
    done = cli("run", program)
    assert done.returncode == 2
    assert "is a 64-bit RISC-V program and our library is" in one_line(done)


def test_program_for_musl(cli, tmp_path):
    source = "int main(void) { return 0; }\n"
    program = compile_c(source, tmp_path / "musl", "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1")
    done = cli("run", program)
    assert done.returncode == 2
    assert "linked with musl" in one_line(done)


def test_setuid_program_is_refused_to_others(native, tmp_path, monkeypatch):
    from syncopate.base.errors import Failure
    from syncopate.launch import program

    target = tmp_path / "setuid"
    shutil.copy(shutil.which("true"), target)
    target.chmod(0o755 | stat.S_ISUID)
    library = str(native / "lib/libsyncopate-pthread.so.0")
    program.check_preloadable(str(target), library)  # its owner: the loader does not mind
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    with pytest.raises(Failure, match="is setuid: the loader ignores LD_PRELOAD") as refused:
        program.check_preloadable(str(target), library)
    assert refused.value.status == 2
    with pytest.raises(Failure, match="; `x --kernel` sees its waits from outside; run it as that"):
        program.check_preloadable(str(target), library, "`x --kernel`")


if os.geteuid() == 0:

    def test_setuid_program_is_refused_to_another_user(native):
        with tempfile.TemporaryDirectory() as name:  # a folder that other users may enter
            folder = Path(name)
            folder.chmod(0o755)
            shutil.copytree(ROOT / "syncopate", folder / "syncopate")
            shutil.copytree(native, folder / "native")
            (folder / "native").chmod(0o755)
            target = folder / "env"
            shutil.copy(shutil.which("env"), target)
            target.chmod(0o4755)

            def run_as_other(*arguments):
                return subprocess.run(
                    ["/usr/bin/python3", *COMMAND[1:-1], folder, "run", *arguments, target],
                    env={**os.environ, "SYNCOPATE_NATIVE": str(folder / "native")},
                    cwd="/",
                    **{"user": 65534, "group": 65534, "extra_groups": []},
                    **{"capture_output": True, "text": True, "check": False},
                )

            refused = run_as_other()
            assert refused.returncode == 2
            assert "is setuid: the loader ignores LD_PRELOAD" in one_line(refused)
            forced = run_as_other("--force")  # and so the loader does
            assert forced.returncode == 0
            assert "LD_PRELOAD" not in forced.stdout


def test_missing_library_says_where_it_looked(cli, tmp_path):
    done = cli("run", "true", environ={"SYNCOPATE_NATIVE": str(tmp_path)})
    assert done.returncode == 1
    assert f"libsyncopate-pthread.so.0 is not in {tmp_path}" in one_line(done)


def test_a_path_with_a_blank_is_found_by_its_folder(cli, native, tmp_path):
    other = tmp_path / "with space"
    shutil.copytree(native, other)
    environ = {"SYNCOPATE_NATIVE": str(other), "LD_LIBRARY_PATH": "/before"}
    maps = cli("run", "--", "cat", "/proc/self/maps", environ=environ)
    assert f"{other}/lib/libsyncopate-pthread.so.0" in maps.stdout
    lines = cli("run", "--", "env", environ=environ).stdout.splitlines()
    assert "LD_PRELOAD=libsyncopate-pthread.so.0" in lines
    assert f"LD_LIBRARY_PATH={other}/lib:/before" in lines


def test_path_that_ld_preload_cannot_name(cli, native, tmp_path):
    other = tmp_path / "with:colon"
    shutil.copytree(native, other)
    done = cli("run", "true", environ={"SYNCOPATE_NATIVE": str(other)})
    assert done.returncode == 1
    assert "LD_PRELOAD cannot name such a path" in one_line(done)


def test_run_imports_nothing_heavy(native):
    done = subprocess.run(
        [*COMMAND[:1], "-I", "-S", "-X", "importtime", *COMMAND[3:], "run", "true"],
        capture_output=True,
        env={**os.environ, "SYNCOPATE_NATIVE": str(native)},
        text=True,
        check=True,
    )
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    heavy = {"argparse", "signal", "subprocess", "typing", "dataclasses", "site", "rich"}
    assert "syncopate.commands.run" in imported
    assert not imported & heavy


def executable(path, text):
    path.write_text(text)
    path.chmod(0o755)
    return path


TEAM = """
int main(void) {
  int n = 0;
#pragma omp parallel reduction(+:n)
  n += 1;
  return n < 1;
}
"""
OMP_LOCKS = ("asymmetric", "mcs", "tatas")


@pytest.fixture(scope="module")
def team(tmp_path_factory):
    return compile_c(TEAM, tmp_path_factory.mktemp("team") / "team", "-fopenmp")


def names_that_transact() -> list[str]:
    """All locks that run in transactions, in each way that they can wait."""
    locks = json.loads(run_cli("list", "--json").stdout)
    names = [
        name
        for lock in locks
        if lock["preload"] and lock["name"] != "glibc"
        for name in (lock["name"], *(f"{lock['name']}:{wait}" for wait in lock["preload_waits"]))
    ]
    return [name for name in names if locktable.transacts(name)]


@pytest.mark.parametrize("options", [(), ("-v",)])
def test_what_waits_plainly_is_said_once(options):
    """By the command or, where that is verbose, by the library; and with the lock's whole name."""
    commits = any(each.name == "rtm" and each.state == "good" for each in processor.features())
    names = names_that_transact()
    assert "tatas:speculate" in names
    for name in names:
        lines = run_cli("run", *options, "--lock", name, "true").stderr.splitlines()
        assert len(lines) == len({*lines}) <= 2, lines
        plainly = [line for line in lines if "no transaction begins" in line]
        said = f"syncopate: {name}: no transaction begins on this machine; the lock waits plainly"
        assert plainly == ([] if commits else [said]), lines


@pytest.mark.sampled(2)
@pytest.mark.parametrize("options", [(), ("-v",)])
@pytest.mark.parametrize("lock", OMP_LOCKS)
def test_a_way_to_wait_that_is_set_and_that_nobody_follows_is_said_once(team, options, lock):
    """As --wait is refused there. Of a program that came with the setting, it is no mistake."""
    waiting = {
        each["name"]
        for each in json.loads(run_cli("list", "--json").stdout)
        if "park" in each.get("openmp_waits", each["waits"])
    }
    for barrier in openmp.barriers():
        chosen = {"SYNCOPATE_WAIT": "park", "SYNCOPATE_OMP_BARRIER": barrier,
                  "SYNCOPATE_OMP_LOCK": lock}  # fmt: skip
        done = run_cli("run", "--omp", *options, team, environ=chosen)
        assert done.returncode == 0
        followed = barrier in openmp.barriers_that_wait() or lock in waiting
        said = (
            f"syncopate: SYNCOPATE_WAIT=park: neither barrier {barrier} nor lock {lock} leaves the"
            " choice; SYNCOPATE_OMP_BARRIER=central does\n"
        )
        assert done.stderr.count(said) == (not followed), (barrier, done.stderr)
        assert done.stderr.count("leaves") == (not followed)
