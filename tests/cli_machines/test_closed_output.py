"""Programs that close standard error before they end, or put another file in its place: GNU's
tools, xz and all that see at their end whether their output was written. The report that was asked
for is there all the same, where standard error was when they began."""

import os
import subprocess

import pytest
from modeled import build

PROGRAM = r"""
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <fcntl.h>
#include <unistd.h>
void close_streams() {
  if (fclose(stdout) != 0) _exit(7);
  if (fclose(stderr) != 0) _exit(8);
}
int main(int, char** arguments) {
  std::thread([] { puts("done"); }).join();
  switch (*arguments[1]) {
    case 'a': atexit(close_streams); break;
    case 'm': close_streams(); break;
    case 'c': close(2); break;
    case 'f':
      close(2);
      if (open("own", O_WRONLY | O_CREAT, 0600) != 2 || write(2, "own\n", 4) != 4) return 9;
      break;
    case 'e':
      for (int file = 2; file < 1024; ++file) close(file);
      for (int file = 2; file < 1024; ++file) open("own", O_WRONLY | O_CREAT, 0600);
  }
  return 0;
}
"""


@pytest.fixture(scope="module", params=["simulated", "emulated"])
def program(request, tmp_path_factory):
    return build(tmp_path_factory.mktemp("closes"), "closes", PROGRAM, request.param, ("-pthread",))


def run(program, how: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [program, how], cwd=program.parent, capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, "SYNCOPATE_STATS": "1", "SYNCOPATE_MACHINE": "haswell-4c8t"},
    )  # fmt: skip


@pytest.mark.parametrize("how", ["none", "at exit", "main", "close", "file"])
def test_the_report_of_a_program_that_closes_its_standard_error(program, how):
    done = run(program, how)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    title = "emulated transactions" if "emulated transactions" in done.stderr else "simulated on "
    assert done.stderr.count(title) == 1
    if how == "file":
        assert (program.parent / "own").read_text() == "own\n"


def test_what_the_program_opens_as_all_of_its_numbers_gets_no_report(program):
    """Neither by standard error's, nor by that of the copy of it."""
    (program.parent / "own").unlink(missing_ok=True)
    run(program, "every")
    assert (program.parent / "own").read_text() == ""
