"""Runs OpenMP programs with the runtime alone and under the preload library."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT))

from syncopate.base import preloading  # noqa: E402

PREFIX = Path(os.environ.get("SYNCOPATE_NATIVE") or ROOT / "build")
LIBRARY = PREFIX / "lib" / "libsyncopate-openmp.so.0"
PROGRAMS = Path(os.environ.get("SYNCOPATE_BUILD_DIR") or ROOT / "build") / "tests" / "openmp"
SECONDS = 60
# Before a command: ends it, and says where it hangs; waits for processors aside.
DEADLINE = (str(PROGRAMS.parent / "deadline" / "deadline"), str(SECONDS))

OURS = ("LD_PRELOAD", "SYNCOPATE", "OMP_", "GOMP_", "KMP_")


def environment(ours, **variables):
    """An environment without settings of this kind but `variables`; with the library if `ours`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    kept = {**kept, "OMP_NUM_THREADS": "4", **variables}
    if ours:
        preloading.put_first(kept, str(LIBRARY))
    return kept


def run(command, ours=True, **variables):
    """Runs to the end; the result has text streams. Fails the test unless the status is 0."""
    done = subprocess.run(
        [*DEADLINE, *map(str, command)],
        env=environment(ours, **variables),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}: status {done.returncode}\n{done.stderr}"
    return done


def installed(program, package):
    """The program's path; skips nothing: a missing one fails, and says what to install."""
    path = shutil.which(program)
    assert path, f"{program} is missing; scripts/setup.sh test installs {package}"
    return path


def compiled(target, *arguments, compiler="gcc"):
    """Compiles C with OpenMP to `target`; returns it."""
    subprocess.run(
        [compiler, "-O1", "-g", "-fopenmp", *map(str, arguments), "-o", str(target)], check=True
    )
    return target


def run_cli(*arguments, **variables):
    """Runs `syncopate ARGUMENTS`."""
    start = (
        "import sys; sys.path.insert(0, sys.argv.pop(1)); from syncopate.__main__ import main;"
        " sys.exit(main())"
    )
    return subprocess.run(
        [sys.executable, "-I", "-S", "-c", start, str(ROOT), *map(str, arguments)],
        env={**environment(False), "SYNCOPATE_NATIVE": str(PREFIX), **variables},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def source(folder, name, text):
    path = folder / name
    path.write_text(text)
    return path


def libgomp_image():
    """The bytes of GCC's runtime."""
    asked = subprocess.run(
        ["gcc", "-print-file-name=libgomp.so.1"], capture_output=True, text=True, check=True
    )
    for candidate in (Path(asked.stdout.strip()), Path("/usr/lib/x86_64-linux-gnu/libgomp.so.1")):
        if candidate.is_file():
            return candidate.read_bytes()
    raise AssertionError("libgomp.so.1 is missing; scripts/setup.sh test installs gcc")


def renamed_runtime(folder, image=None):
    """A copy of libgomp (or of `image`) under a name of the same length, as wheels carry it."""
    image = libgomp_image() if image is None else image
    (folder / "libgomq.so.1").write_bytes(image.replace(b"libgomp.so.1", b"libgomq.so.1"))
    return "libgomq.so.1"
