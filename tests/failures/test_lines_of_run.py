"""What the preload library has to say reaches somebody, once."""

import os
import shutil
import subprocess

from conftest import NATIVE, run

LOCKS = """
#include <pthread.h>
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int main(void) {
  pthread_mutex_lock(&lock);
  pthread_mutex_unlock(&lock);
  pthread_mutex_unlock(&lock);
  return 0;
}
"""


def program(folder):
    path = folder / "program"
    words = ["gcc", "-x", "c", "-", "-o", path, "-pthread"]
    subprocess.run(words, input=LOCKS, text=True, check=True)
    return path


def test_that_nothing_can_be_elided_is_said_once_a_run(tmp_path):
    script = f"{program(tmp_path)}; {program(tmp_path)}; env A=1 {program(tmp_path)}"
    done = run(["run", "--elide", "always", "--", "sh", "-c", script], tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(b"transactions never commit on this machine") <= 1


def test_lines_of_the_guard_go_on_where_their_file_takes_none(tmp_path):
    done = run(["run", "--guard-log", "/dev/full", "--", str(program(tmp_path))], tmp_path)
    said = done.stderr.decode().splitlines()
    assert said[0] == "syncopate: guard: cannot write /dev/full; lines go to standard error"
    assert len(said) > 1 and "which nobody holds" in said[1]


def test_a_log_that_nobody_reads_does_not_hold_the_program_up(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    done = run(["run", "--guard-log", "pipe", "--", "/bin/true"], tmp_path)
    assert done.returncode == 0
    assert b"cannot write" in done.stderr and b"lines go to standard error" in done.stderr


def test_a_python_that_is_closed_to_the_user_is_no_broken_installation(tmp_path):
    for folder in ("bin", "libexec/syncopate", "closed"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(NATIVE / "bin/syncopate", tmp_path / "bin")
    python = tmp_path / "closed/python"
    python.write_text("")  # no execute permission, for root as well
    command = tmp_path / "libexec/syncopate/command"
    command.write_text(f"#!{python}\n")
    command.chmod(0o755)
    done = subprocess.run([tmp_path / "bin/syncopate", "list"], capture_output=True, check=False)
    assert done.returncode == 1
    assert b"closed to you" in done.stderr and b"install" not in done.stderr
