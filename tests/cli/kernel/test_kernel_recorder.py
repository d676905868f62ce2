"""The kernel's recorder: how it begins, what it records, and how it ends."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
from conftest import COMMAND, PYTHONS_LOCK, compile_c, one_line, run_cli
from kernel_support import needs_kernel, programs_in, recorded_waits
from make_record import RecordBuilder

from syncopate.base import paths
from syncopate.commands import record as recording
from syncopate.launch import kernelview
from syncopate.records import recordformat
from syncopate.records.recordfile import Record

PYTHON_LINE = f'#!/usr/bin/env -S "{sys.executable}"'  # a path may have spaces


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    return programs_in(tmp_path_factory.mktemp("programs"))


@pytest.mark.parametrize(("lost", "said"), [(400, True), (9, False)])
def test_stacks_that_nobody_could_read_are_said(tmp_path, lost, said):
    """But for so few that they change nothing."""
    builder = RecordBuilder()
    builder.recorder, builder.lost = 1, (0, 0, lost, 1000 - lost)
    builder.thread(100)
    told = run_cli("report", "--json", builder.write(tmp_path / "r"))
    (found,) = json.loads(told.stdout)["records"]
    words = "of 1,000 stacks of waiters, and of who woke them, 400 came faster than they could"
    assert any(note.startswith(words) for note in found["notes"]) == said


@pytest.mark.parametrize("lost", [1, 2000])
def test_what_was_lost_is_said_to_be_of_all_processes(tmp_path, lost):
    """One recorder counts it for all that it watches, and tells it in the record of each."""
    builder = RecordBuilder()
    builder.recorder, builder.lost = 1, (lost, 5_000_000, 0, 0)
    builder.thread(100)
    text = " ".join(run_cli("report", builder.write(tmp_path / "r")).stdout.split())
    what = "1 event (waits" if lost == 1 else "2,000 events (waits"
    assert f"note: {what}, beginnings and ends of threads) came faster than could be kept," in text
    assert "of all processes that were watched together: 5.00 ms of waiting is missing" in text


@needs_kernel
def test_processor_time_is_of_the_program_and_not_of_the_recorder(tmp_path, monkeypatch):
    """Here of one that works for a second at first."""
    recorder = tmp_path / "recorder"
    recorder.write_text(
        f"{PYTHON_LINE}\nimport os, sys, time\nwhile time.process_time() < 1: pass\n"
        f"os.execv({paths.find(paths.KERNEL_RECORDER)!r}, sys.argv)\n"
    )
    recorder.chmod(0o755)
    find = paths.find
    monkeypatch.setattr(
        paths, "find", lambda name: str(recorder) if name == paths.KERNEL_RECORDER else find(name)
    )
    monkeypatch.setattr(kernelview, "obstacle", lambda: None)
    options = {"--output": str(tmp_path / "r"), "--quiet": ""}
    assert recording.record_from_outside(options, ["true"]) == 0
    assert os.times().children_user + os.times().children_system > 1
    (found,) = json.loads(run_cli("report", "--json", tmp_path / "r").stdout)["records"]
    measured = found["measured"]
    assert measured["user_seconds"] + measured["system_seconds"] < 0.9


@needs_kernel
def test_a_running_process_is_recorded_and_goes_on(programs, tmp_path):
    with subprocess.Popen([programs / "O2", "mutex", "80"], stdout=subprocess.PIPE) as process:
        done = run_cli("record", "-q", "-p", process.pid, "--for", "700ms", "-o", tmp_path / "r")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        assert process.poll() is None
        most = int(process.communicate()[0].split()[1])
    assert process.returncode == 0
    found = json.loads(run_cli("report", "--json", tmp_path / "r").stdout)["records"][0]
    assert "the recording ended, and the program went on" in found["notes"]
    mutex = next(lock for lock in found["locks"] if "mutex" in lock["waits"])
    assert 0 < mutex["lost_ns"] <= most
    assert os.stat(tmp_path / "r").st_mode & 0o777 == 0o600


@needs_kernel
@pytest.mark.parametrize(("children", "said"), [(0, ""), (1, "1 process that it had started before"
                         " is"), (2, "2 processes that it had started before are")])  # fmt: skip
def test_what_it_had_started_before_is_said_to_be_left_out(tmp_path, children, said):
    """As the workers of a server are. Those that these started are counted, too."""
    script = "sleep 60 & echo $!; " * min(children, 1) + "read line"
    if children == 2:
        script = "sh -c 'echo $$; sleep 60 & echo $!; wait' & read line"
    with subprocess.Popen(["sh", "-c", script], stdin=-1, stdout=-1, text=True) as process:
        known = [int(process.stdout.readline()) for _ in range(children)]
        done = run_cli("record", "-p", process.pid, "--for", "200ms", "-o", tmp_path / "r")
        for each in known:
            os.kill(each, signal.SIGKILL)
        process.communicate("\n")
    told = [line for line in done.stderr.splitlines() if "not in it" in line]
    assert len(told) == (children > 0)
    if told:
        some = ", ".join(map(str, sorted(known)))
        assert told == [f"syncopate: {said} not in it ({some}); -p records one of these"]


@needs_kernel
@pytest.mark.parametrize("quietly", [[], ["-q"]])
def test_on_a_terminal_it_is_seen_that_a_process_is_being_recorded(tmp_path, quietly):
    master, slave = os.openpty()
    with subprocess.Popen(["sleep", "60"]) as process:
        try:
            command = [*COMMAND, "record", "-p", process.pid, "--for", "3500ms", *quietly]
            subprocess.run(
                [str(word) for word in command], cwd=tmp_path, stderr=slave, check=True, timeout=60
            )
        finally:
            process.kill()
    os.close(slave)
    said = ""
    with contextlib.suppress(OSError):  # the end of a terminal's text is an error
        while more := os.read(master, 10_000):
            said += more.decode()
    os.close(master)
    if quietly:
        assert said == ""
    else:
        assert re.search(f"recording process {process.pid}: [234] of 3.5 s; Ctrl-C ends it", said)
        assert re.search(
            r"\r\x1b\[Ksyncopate: recorded in syncopate.rec; to read it: [^\x1b]*$", said
        )


@needs_kernel
@pytest.mark.parametrize("goes_on", [True, False])
@pytest.mark.parametrize("quietly", [[], ["-q"]])
def test_a_process_that_goes_on_when_the_program_has_ended_is_told(tmp_path, goes_on, quietly):
    """As a daemon does: the recording ends with the program."""
    script = "import os, sys, time\nif not os.fork():\n print(os.getpid(), flush=True)\n"
    script += (
        " os.close(1)\n os.close(2)\n time.sleep(60)\n" if goes_on else " os._exit(0)\nos.wait()"
    )
    record = ["record", "--kernel", *quietly, "-o", tmp_path / "r"]
    done = run_cli(*record, "--", "/usr/bin/python3", "-c", script)
    child = int(done.stdout)
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    said = f"1 process that it had started goes on ({child}): the recording ended with the program"
    assert (said in done.stderr) == (goes_on and not quietly)


@needs_kernel
def test_processes_that_a_program_starts_are_recorded(programs, tmp_path):
    script = f"{programs / 'O2'} mutex; {programs / 'O2'} futex; true"
    done = run_cli("record", "--kernel", "-q", "-o", tmp_path / "r", "--", "sh", "-c", script)
    assert (done.returncode, done.stderr) == (0, "")
    limits = [list(map(int, line.split()[:2])) for line in done.stdout.splitlines()]
    records = sorted(name for name in os.listdir(tmp_path) if name.startswith("r"))
    assert len(records) == 3  # the shell's, and of its children those that waited
    report = run_cli("report", "--json", *[tmp_path / name for name in records])
    waits = {}
    for record in json.loads(report.stdout)["records"]:
        for lock in record["locks"]:
            for kind, each in lock["waits"].items():
                waits[kind] = waits.get(kind, 0) + each["total_ns"]
    for kind, (least, most) in zip(["mutex", "futex"], limits, strict=True):
        assert least <= waits[kind] <= most


@needs_kernel
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_process_goes_on_when_recording_is_stopped(programs, tmp_path, number):
    with subprocess.Popen([programs / "O2", "mutex", "80"], stdout=subprocess.PIPE) as process:
        recording = subprocess.Popen(
            [*COMMAND, "record", "-q", "-p", str(process.pid), "-o", tmp_path / "r"]
        )
        while not recorded_waits(tmp_path / "r") and process.poll() is None:
            time.sleep(0.05)
        recording.send_signal(number)
        assert recording.wait(30) == (0 if number != signal.SIGKILL else -number)
        assert process.poll() is None
        process.communicate()
    assert process.returncode == 0
    assert recorded_waits(tmp_path / "r")


@needs_kernel
def test_a_program_that_ends_by_a_signal(tmp_path):
    done = run_cli("record", "--kernel", "-q", "-o", tmp_path / "r", "--", "sh", "-c", "kill -9 $$")
    assert done.returncode == -signal.SIGKILL
    assert (tmp_path / "r").exists()


@needs_kernel
@pytest.mark.parametrize(
    ("user", "advice", "said"),
    [
        ("65534", "run it with sudo", "run this with sudo"),
        ("0", "root lacks some of these here", "root may not look at it here, as in a container"),
    ],
)
def test_without_rights_it_says_what_to_do(user, advice, said):
    if os.geteuid() != 0:
        pytest.skip("only root can give up rights")
    without = ["setpriv", f"--reuid={user}", "--clear-groups", "--bounding-set=-all",
               "--inh-caps=-all"]  # fmt: skip
    why = subprocess.run(
        [*without, paths.find(paths.KERNEL_RECORDER), "check"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert advice in why.stdout and why.stdout.count("\n") == 1
    more = subprocess.run(
        [*without, *COMMAND, "record", "-p", str(os.getpid())],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert more.returncode == 2 and said in more.stderr, more


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["-p", "0"], "the number of a process is wanted"),
        (["-p", "one"], "the number of a process is wanted"),
        (["-p", "4194305"], "there is no process 4194305"),
        (["-p", "1", "--for", "soon"], "a duration is wanted"),
        (["-p", "1", "--lock", "mcs"], "--lock with --pid: it is for what is loaded"),
        (["-p", "1", "program"], "program is too much"),
        (["--for", "3s", "true"], "--for goes with -p"),
        (["--kernel", "--omp", "true"], "--omp with --kernel: it is for what is loaded"),
    ],
)
def test_bad_use_is_one_line(tmp_path, arguments, says):
    done = run_cli("record", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert says in one_line(done)
    assert os.listdir(tmp_path) == []


def test_what_is_missing_is_one_line(native, tmp_path):
    environ = {"SYNCOPATE_NATIVE": str(native)}  # without the recorder
    for arguments in (["record", "--kernel", "true"], ["record", "-p", os.getpid()],
                      ["top", "-p", os.getpid()]):  # fmt: skip
        done = run_cli(*arguments, environ=environ, cwd=tmp_path)
        assert done.returncode == 1
        assert "clang, libbpf-dev" in one_line(done)
    assert os.listdir(tmp_path) == []


WORKER_OF_KERNEL = """
#include <linux/io_uring.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void) {
  struct io_uring_params p;
  memset(&p, 0, sizeof p);
  const int ring = (int)syscall(SYS_io_uring_setup, 4, &p);
  if (ring < 0) return 77;
  const size_t bytes = p.sq_off.array + p.sq_entries * sizeof(unsigned);
  char* sq = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
  struct io_uring_sqe* todo = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ring,
                                   IORING_OFF_SQES);
  if (sq == MAP_FAILED || todo == MAP_FAILED) return 77;
  int ends[2];
  if (pipe(ends) != 0) return 1;
  static char byte;
  memset(todo, 0, sizeof *todo);
  todo->opcode = IORING_OP_READ;
  todo->flags = IOSQE_ASYNC;  /* by a worker of the kernel's */
  todo->fd = ends[0];
  todo->addr = (unsigned long)&byte;
  todo->len = 1;
  __atomic_store_n((unsigned*)(sq + p.sq_off.tail), 1, __ATOMIC_RELEASE);
  if (syscall(SYS_io_uring_enter, ring, 1, 0, 0, 0, 0) != 1) return 77;
  usleep(100000);
  puts("ready");
  fflush(stdout);
  getchar();
  return 0;
}
"""


@needs_kernel
def test_workers_of_the_kernel_are_no_threads_of_the_program(tmp_path):
    """Nobody sees what they do, so that their time would be unexplained."""
    program = compile_c(WORKER_OF_KERNEL, tmp_path / "worker", "-O1")
    with subprocess.Popen(
        [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as running:
        if running.stdout.readline() != "ready\n":
            pytest.skip("no io_uring here")
        threads = len(os.listdir(f"/proc/{running.pid}/task"))
        run_cli("record", "-q", "-p", running.pid, "--for", "300ms", "-o", tmp_path / "r")
        running.communicate("\n")
    assert threads == 2
    found = json.loads(run_cli("report", "--json", tmp_path / "r").stdout)["records"][0]
    assert len(found["threads"]) == 1
    assert found["account"]["parts"].get("unexplained", 0) < 0.05 * found["account"]["total_ns"]


@pytest.mark.sampled(2)
@needs_kernel
@pytest.mark.parametrize(
    ("value", "options", "kept"),
    [(None, [], True), ("0", [], True), ("1", [], False), ("0", ["--redact"], False)],
)
def test_arguments_are_left_out_by_variable_and_by_option(
    value, options, kept, tmp_path, monkeypatch
):
    if value is not None:
        monkeypatch.setenv("SYNCOPATE_REDACT", value)
    record = tmp_path / "rec"
    command = ["python3", "-c", PYTHONS_LOCK, "a-secret"]
    assert (
        run_cli("record", "--kernel", "-q", *options, "-o", record, "--", *command).returncode == 0
    )
    assert (b"a-secret" in record.read_bytes()) == kept


@pytest.mark.parametrize(
    ("machine", "said"),
    [("aarch64", "works on x86-64 only, and this is aarch64"), ("x86_64", "wheels and packages")],
)
def test_why_an_installation_has_no_recorder(monkeypatch, machine, said):
    monkeypatch.setattr(kernelview.paths, "find", lambda *_: None)
    monkeypatch.setattr(kernelview.os, "uname", lambda: SimpleNamespace(machine=machine))
    assert said in kernelview.obstacle()


@needs_kernel
def test_what_is_not_mounted_is_not_the_kernels_lack():
    """As in a folder to which one has changed one's root: the same kernel describes its types."""
    hidden = 'mount -t tmpfs none /sys && exec "$@"'
    words = ["unshare", "-m", "sh", "-c", hidden, "sh", *COMMAND, "doctor", "--json"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert "/sys, where the kernel describes its types, is not mounted" in done.stdout


MANY_LEFT = """\
import os, sys
os.write(int(sys.argv[sys.argv.index("--ready") + 1]), b"+")
print("\\n".join(map(str, range(1, 30001))))
"""


def test_a_recorder_that_tells_of_many_processes_ends(monkeypatch, tmp_path):
    """More than a pipe holds, which nobody reads before it has ended."""
    tool = tmp_path / "recorder"
    tool.write_text(f"{PYTHON_LINE}\n{MANY_LEFT}")
    tool.chmod(0o755)
    monkeypatch.setattr(kernelview.paths, "find", lambda *_: str(tool))
    recorder = kernelview.KernelRecorder(os.getpid(), str(tmp_path / "r"))
    assert recorder.ended_within(30)
    recorder.wait()
    assert recorder.left == [*range(1, 30001)]


SLOW = """\
import os, sys, time
os.write(int(sys.argv[sys.argv.index("--ready") + 1]), b"+")
while {so_long}:
    {meanwhile}
"""


@pytest.mark.parametrize(
    ("so_long", "meanwhile", "patience", "trouble"),
    [
        ("time.process_time() < 1.5", "pass", 1.0, False),
        ("True", "time.sleep(1)", 0.2, True),
    ],
)
def test_a_recorder_is_waited_for_as_long_as_it_works(
    so_long, meanwhile, patience, trouble, monkeypatch, tmp_path
):
    tool = tmp_path / "recorder"
    tool.write_text(f"{PYTHON_LINE}\n{SLOW.format(so_long=so_long, meanwhile=meanwhile)}")
    tool.chmod(0o755)
    monkeypatch.setattr(kernelview, "PATIENCE", patience)
    monkeypatch.setattr(kernelview.paths, "find", lambda *_: str(tool))
    recorder = kernelview.KernelRecorder(os.getpid(), str(tmp_path / "r"))
    recorder.wait()
    assert (recorder.trouble is not None) == trouble
    assert not trouble or "did nothing for 0.2 s" in recorder.trouble


SHORT_THREADS = """
#include <pthread.h>
static void* nothing(void* x) { return x; }
static void* start(void* x) {
  pthread_t t[8];
  for (int i = 0; i < 1000; i++) {
    for (int k = 0; k < 8; k++) pthread_create(&t[k], 0, nothing, 0);
    for (int k = 0; k < 8; k++) pthread_join(t[k], 0);
  }
  return x;
}
int main(void) {
  pthread_t t[4];
  for (int k = 0; k < 4; k++) pthread_create(&t[k], 0, start, 0);
  for (int k = 0; k < 4; k++) pthread_join(t[k], 0);
}
"""


@pytest.mark.long
@needs_kernel
def test_threads_that_end_while_one_looks_at_them(tmp_path):
    """32,000 of them: of some, what /proc has is gone between opening and reading."""
    program = compile_c(SHORT_THREADS, tmp_path / "short", "-O2", "-pthread")
    done = run_cli("record", "--kernel", "-q", "-o", tmp_path / "r", "--", program)
    assert (done.returncode, done.stderr) == (0, "")
    assert Record(str(tmp_path / "r")).header.flags & recordformat.FINISHED
