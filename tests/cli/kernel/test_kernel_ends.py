"""What the kernel's recorder tells of programs that end, and of its own end."""

import json
import os
import signal
import subprocess
import time

import pytest
from conftest import COMMAND, compile_c, run_cli
from kernel_support import command_of, needs_kernel, programs_in, recorded_waits

from syncopate.launch import kernelview
from syncopate.records.recordfile import Record


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    return programs_in(tmp_path_factory.mktemp("programs"))


@needs_kernel
def test_a_recorder_that_is_killed_is_told(programs, tmp_path):
    command = [*COMMAND, "record", "--kernel", "-q", "-o", tmp_path / "r", "--"]
    with subprocess.Popen([*command, programs / "O2", "mutex"], stderr=-1, text=True) as recording:
        while not recorded_waits(tmp_path / "r") and recording.poll() is None:
            time.sleep(0.02)
        children = kernelview.started_by(recording.pid)
        [recorder] = [each for each in children if "kernel-recorder" in command_of(each)]
        os.kill(recorder, signal.SIGKILL)
        said = recording.communicate()[1]
    assert recording.returncode == 0
    assert said == (
        "syncopate: the kernel's recorder was ended by SIGKILL: the record has what came before"
        " that\n"
    )
    assert recorded_waits(tmp_path / "r")
    record = Record(str(tmp_path / "r"))
    assert record.header.ended_monotonic_ns > record.header.last_monotonic_ns  # `record` saw it
    (found,) = json.loads(run_cli("report", "--json", tmp_path / "r").stdout)["records"]
    [note] = [note for note in found["notes"] if note.startswith("the recorder ended before")]
    assert "was killed, or failed; what came after the first" in note
    assert found["process"]["cut_short"]
    ran = record.header.ended_monotonic_ns - record.header.start_monotonic_ns
    assert found["process"]["duration_ns"] < ran
    assert ", recorded for " in run_cli("report", tmp_path / "r").stdout.splitlines()[1]


@needs_kernel
@pytest.mark.parametrize("way", ["started", "attached"])
def test_a_program_that_a_signal_ends_is_told(programs, tmp_path, way):
    command = [*COMMAND, "record", "-q", "-o", tmp_path / "r"]
    if way == "started":
        program = "kill -TERM $$"
        done = subprocess.run([*command, "--kernel", "--", "sh", "-c", program], check=False)
        assert done.returncode == -signal.SIGTERM
    else:
        process = subprocess.Popen([programs / "O2", "mutex", "1000"], stdout=-1)
        with process, subprocess.Popen([*command, "-p", str(process.pid)]) as recording:
            while not recorded_waits(tmp_path / "r") and recording.poll() is None:
                time.sleep(0.02)
            process.kill()
            assert recording.wait(60) == 0
    (found,) = json.loads(run_cli("report", "--json", tmp_path / "r").stdout)["records"]
    assert "a signal ended the program" in found["notes"]


BUSY_AT_THE_END = r"""
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static sem_t sem;
static int is_asked;
static void ask(int number) { (void)number; }
static long now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}
static void work_for(long ms) {
  for (const long end = now_ms() + ms; now_ms() < end;) {}
}
static void* work(void* unused) {
  if (!is_asked) for (;;) {}
  sem_wait(&sem);  // until a signal interrupts it
  work_for(300);
  kill(getpid(), SIGKILL);
  return unused;
}
int main(int count, char** words) {
  (void)words;
  is_asked = count > 1;
  struct sigaction handler = {.sa_handler = ask};
  sigaction(SIGUSR1, &handler, 0);
  sem_init(&sem, 0, 0);
  pthread_t thread;
  pthread_create(&thread, 0, work, 0);
  if (is_asked) {
    usleep(200000);
    pthread_kill(thread, SIGUSR1);
    pthread_join(thread, 0);
  }
  work_for(200);
  kill(getpid(), SIGKILL);
}
"""


@needs_kernel
def test_a_wait_that_a_handler_interrupted_is_over(tmp_path):
    program = compile_c(BUSY_AT_THE_END, tmp_path / "busy", "-O1", "-pthread")
    run_cli("record", "--kernel", "-q", "-o", tmp_path / "r", "--", program, "asked")
    (found,) = json.loads(run_cli("report", "--json", tmp_path / "r").stdout)["records"]
    assert [each["kind"] for each in found["open_waits"]] in ([], ["join"])


@pytest.mark.long
@needs_kernel
def test_what_all_threads_did_that_end_at_once_is_known(tmp_path):
    """A signal ends them together: each may be the last."""
    program = compile_c(BUSY_AT_THE_END, tmp_path / "busy", "-O1", "-pthread")
    for each in range(20):
        record = tmp_path / f"r{each}"
        run_cli("record", "--kernel", "-q", "-o", record, "--", program)
        assert all(thread.cpu_ns for thread in Record(str(record)).threads())


CALL_OF_32_BITS = r"""
#define _GNU_SOURCE
#include <sys/mman.h>
int main(void) {
  int result, *t = mmap(0, 4096, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
  t[1] = 100000000;
  __asm__ volatile("int $0x80" : "=a"(result) : "0"(162), "b"(t), "c"(0) : "memory");
  return result != 0;
}
"""


@needs_kernel
def test_calls_of_32_bit_code_are_no_page_faults(tmp_path):
    program = compile_c(CALL_OF_32_BITS, tmp_path / "old", "-O1")
    if subprocess.run([program], check=False).returncode:
        pytest.skip("this kernel runs no 32-bit code")
    run_cli("record", "--kernel", "-q", "-o", tmp_path / "r", "--", program)
    (found,) = json.loads(run_cli("report", "--json", tmp_path / "r").stdout)["records"]
    parts = found["account"]["parts"]
    assert parts["other_calls"] > 50_000_000, parts
    there_and_back = parts["running"] + parts.get("runnable", 0)  # the timer begins on the way
    assert parts["other_calls"] + there_and_back >= 100_000_000, parts
