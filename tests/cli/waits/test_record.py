"""`syncopate record`: statuses, signals and streams stay the program's; files are kept apart."""

import os
import signal
import subprocess
import sys
import time

import pytest
from conftest import COMMAND, ROOT, one_line

# Does what the preload library does at its start: the first process gets FILE, others FILE.PID.
WRITE = 'test -e "$SYNCOPATE_RECORD" && R=$SYNCOPATE_RECORD.$$ || R=$SYNCOPATE_RECORD; echo x > $R'


def test_lock_and_place_of_the_record(cli, tmp_path):
    done = cli("record", "-o", "here.rec", "env", cwd=tmp_path)
    assert f"SYNCOPATE_RECORD={tmp_path}/here.rec" in done.stdout.splitlines()
    assert "SYNCOPATE_LOCK=futex" in done.stdout.splitlines()


def test_says_where_the_record_is(cli, tmp_path):
    done = cli("record", "sh", "-c", WRITE, cwd=tmp_path)
    assert done.returncode == 0
    expected = "recorded in syncopate.rec; to read it: syncopate report syncopate.rec"
    assert one_line(done) == f"syncopate: {expected}"


def test_counts_records_of_children(cli, tmp_path):
    script = f"{WRITE}; (sh -c '{WRITE}'); sh -c '{WRITE}'"
    done = cli("record", "sh", "-c", script, cwd=tmp_path)
    assert "(and 2 of child processes in syncopate.rec.*)" in one_line(done)
    assert "syncopate report syncopate.rec syncopate.rec.[0-9]*" in done.stderr


def test_the_command_that_it_names_can_be_typed(cli, tmp_path):
    done = cli("record", "-o", "a b", "sh", "-c", f"{WRITE}; (sh -c '{WRITE}')", cwd=tmp_path)
    assert "recorded in a b (and 1 of" in one_line(done)
    assert "syncopate report 'a b' 'a b'.[0-9]*" in done.stderr


def test_quiet_says_nothing(cli, tmp_path):
    done = cli("record", "-q", "sh", "-c", WRITE, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(("choice", "lines"), [("", 0), ("fp", 0), ("tables", 1)])
def test_a_choice_of_stacks_that_is_none_is_said(tmp_path, choice, lines):
    done = subprocess.run(
        [*COMMAND, "record", "-q", "-o", tmp_path / "rec", "--", "true"],
        env={**os.environ, "SYNCOPATE_STACKS": choice}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stderr.count("SYNCOPATE_STACKS=tables is not known (fp is)") == lines
    assert len(done.stderr.splitlines()) == lines


def test_an_older_record_is_kept_with_its_children(cli, tmp_path):
    for name in ("r", "r.17", "r.old", "r.old.3"):
        (tmp_path / name).write_text(f"was {name}")
    assert cli("record", "-qo", "r", "sh", "-c", WRITE, cwd=tmp_path).returncode == 0
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "r": "x\n",
        "r.old": "was r",
        "r.old.17": "was r.17",
    }


def test_without_a_record_it_says_so(cli, tmp_path):
    done = cli("record", "true", cwd=tmp_path)
    assert done.returncode == 0
    assert "no record was written to syncopate.rec" in one_line(done)


@pytest.mark.parametrize("options", [[], ["--omp"]])
def test_switched_off(cli, tmp_path, options):
    done = cli("record", *options, "-o", tmp_path / "r", "true", environ={"SYNCOPATE": "off"})
    assert done.returncode == 2
    assert "SYNCOPATE=off, in the environment" in one_line(done)
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("where", ["no/such/folder/r", "/proc/r"])
def test_unwritable_record(cli, tmp_path, where):
    done = cli("record", "-o", where, "touch", "started", cwd=tmp_path)
    assert done.returncode == 1
    assert f"cannot write the record {where}" in one_line(done)
    assert not (tmp_path / "started").exists()


def test_folder_as_record(cli, tmp_path):
    done = cli("record", "-o", tmp_path, "true")
    assert done.returncode == 2
    assert "is a directory" in one_line(done)


def test_device_or_pipe_as_record(cli, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    done = cli("record", "-o", pipe, "true")
    assert done.returncode == 2
    assert "is no regular file" in one_line(done)
    assert pipe.is_fifo()


@pytest.mark.parametrize(
    ("script", "status"),
    [("exit 9", 9), ("kill -KILL $$", -9), ("kill -SEGV $$", -11), ("kill -INT $$", -2)],
)
def test_status_and_signal_are_the_programs(cli, tmp_path, script, status):
    done = cli("record", "-q", "sh", "-c", script, cwd=tmp_path)
    assert done.returncode == status
    assert done.stderr == ""


def test_program_that_is_not_there(cli, tmp_path):
    (tmp_path / "syncopate.rec").write_text("precious")
    done = cli("record", "no-such-program-here", cwd=tmp_path)
    assert done.returncode == 127
    assert "not found" in one_line(done)
    assert (tmp_path / "syncopate.rec").read_text() == "precious"


def test_streams_pass_through(cli, tmp_path):
    read, write = os.pipe()
    os.write(write, b"to the program\n")
    os.close(write)
    done = cli("record", "-q", "sh", "-c", "cat; echo oops >&2", cwd=tmp_path, stdin=read)
    os.close(read)
    assert (done.stdout, done.stderr) == ("to the program\n", "oops\n")


def test_program_has_default_signals_and_empty_mask(cli, tmp_path):
    done = cli("record", "-q", "grep", "-E", "Sig(Ign|Blk)", "/proc/self/status", cwd=tmp_path)
    values = [int(line.split()[1], 16) for line in done.stdout.splitlines()]
    assert len(values) == 2
    assert values[0] == 0
    assert values[1] & (1 << signal.SIGPIPE - 1 | 1 << signal.SIGCHLD - 1) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1])
def test_signals_from_others_are_passed_on(native, tmp_path, number):
    name = signal.Signals(number).name[3:]
    script = f"trap 'echo got {name}; exit 4' {name}; echo ready; while :; do sleep 0.05; done"
    process = subprocess.Popen(
        [*COMMAND, "record", "-q", "sh", "-c", script],
        cwd=tmp_path,
        env={**os.environ, "SYNCOPATE_NATIVE": str(native), "SYNCOPATE_LOCK": ""},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    assert process.stdout.readline() == f"got {name}\n"
    assert process.wait(timeout=60) == 4
    process.stdout.close()


def test_ctrl_c_reaches_the_program_once(native, tmp_path):
    """A terminal's ^C goes to the whole foreground group: we must wait, not send it again."""
    script = "trap 'echo got; : $((n += 1))' INT; echo ready; sleep 0.4; sleep 0.4; echo n=$n"
    master, slave = os.openpty()
    process = subprocess.Popen(
        [*COMMAND, "record", "-q", "sh", "-c", script],
        cwd=tmp_path,
        env={**os.environ, "SYNCOPATE_NATIVE": str(native), "SYNCOPATE_LOCK": ""},
        stdin=slave,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: __import__("fcntl").ioctl(0, 0x540E, 0),  # TIOCSCTTY
    )
    os.close(slave)
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.1)
    os.write(master, b"\x03")
    rest = process.stdout.read()
    assert process.wait(timeout=60) == 0
    assert rest == "got\nn=1\n"
    process.stdout.close()
    os.close(master)


# Ctrl-C while `record` starts, or just when the program had it first: the program has ended of it,
# and record's own is still to come.
PENDING = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from syncopate.commands import recordrun
from syncopate.machines import energy
from syncopate.records.looks import Looks
child = os.fork()
if child == 0:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGINT)
os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
before = signal.pthread_sigmask(signal.SIG_BLOCK, recordrun.FORWARDED | {signal.SIGCHLD})
os.kill(os.getpid(), signal.SIGINT)
print(recordrun.wait_for(child, before, energy.Session.without_meters(), Looks("none")))
"""


def test_ctrl_c_that_ended_the_program_does_not_end_what_follows(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", PENDING, ROOT],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{signal.SIGINT}\n", "")
