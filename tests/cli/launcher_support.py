"""Programs to start by the launcher, and what they saw of how they were started."""

import os
import shutil
import subprocess
from pathlib import Path

from conftest import ROOT, SECONDS, compile_c

BUILT = Path(os.environ.get("SYNCOPATE_NATIVE") or ROOT / "build").absolute()
LAUNCHER, PYTHON = BUILT / "bin/syncopate", BUILT / "libexec/syncopate/command"

# Tells everything that a program gets from who starts it.
TELL = r"""
#include <stdio.h>
#include <string.h>
extern char** environ;
int main(int argc, char** argv) {
  for (int i = 0; i < argc; ++i) printf("word %s\n", argv[i]);
  for (char** each = environ; *each; ++each) printf("variable %s\n", *each);
  char line[256];
  FILE* status = fopen("/proc/self/status", "r");
  while (fgets(line, sizeof line, status))
    if (!strncmp(line, "SigBlk", 6) || !strncmp(line, "SigIgn", 6) || !strncmp(line, "SigCgt", 6))
      fputs(line, stdout);
  return 3;
}
"""


def programs_of_all_kinds(folder: Path) -> Path:
    """Fills a folder with programs of all kinds that the command tells apart."""
    tell = compile_c(TELL, folder / "tell")
    compile_c(TELL, folder / "static", "-static")
    compile_c('const char* names = "liblsan LSAN_OPTIONS";\n' + TELL, folder / "leaks")
    compile_c('const char* name = "libsyncopate-emulated.so";\n' + TELL, folder / "emulated")
    compile_c('const char* name = "libtsan.so";\n' + TELL, folder / "sanitized")
    for name, text in {
        "script": f"#!{tell} first\nnothing\n",
        "deep": f"#!{folder}/script\n",
        "through_env": "#!/usr/bin/env -S tell a\n",
        "of_shell": '#!/bin/sh\nexec "$(dirname "$0")/tell" "$@"\n',
        "odd": f"#!{tell} f\u00f6rst\n",
        "no_interpreter": "#!/nowhere/at/all\n",
        "no_program": "this is text\n",
        "empty": "",
        "broken": "\x7fELF",
    }.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    (folder / "not_executable").write_bytes(tell.read_bytes())
    (folder / "folder").mkdir()
    shutil.copy(tell, folder / "setuid")
    (folder / "setuid").chmod(0o4755)
    (folder / "with blank").symlink_to(tell)
    return folder


# No meter of energy: where there are some, `record` is the Python command's.
NO_METERS = {"SYNCOPATE_SYSFS": "/nowhere"}


def start(command: Path, words: list[str], environ: dict[str, str], folder: Path, **others):
    base = {"PATH": f"{folder}:/usr/bin:/bin", "EMPTY": "", **NO_METERS}
    return subprocess.run(
        [command, *words],
        env={**base, **environ},
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=SECONDS,
        **others,
    )


def seen(done: subprocess.CompletedProcess) -> tuple:
    """What is compared: the order of variables is nobody's business, nor what the guard says of
    Python's own locks, where the library was preloaded already, nor how often the library says
    there what it finds wrong: once in each process."""
    said = [line for line in done.stderr.split(b"\n") if b" guard: holders of " not in line]
    return done.returncode, sorted(done.stdout.split(b"\n")), list(dict.fromkeys(said))
