"""LLVM's tests of its OpenMP runtime (openmp/runtime/test), from a folder of LLVM's source."""

import re

from standard import Test, UnfetchedError

LEAST = 100  # Tests that pass without us; far fewer means that the build of them broke.
# Its tasks poll a plain variable, which an optimizing compiler reads once: it hangs or not as they
# are dealt out, without us too.
UNDEFINED = ("omp_fill_taskqueue.c",)
RUN = re.compile(r"RUN:(.*)")
VARIABLE = re.compile(r"\b((?:OMP|KMP|LIBOMP)_\w+)=(\S+)")


def source(named, work):
    """The folder of the tests below the folder named."""
    del work
    if named is None:
        raise UnfetchedError("no --source with LLVM's openmp/runtime/test")
    for folder in (named / "openmp" / "runtime" / "test", named / "runtime" / "test", named):
        if (folder / "omp_testsuite.h").is_file():
            return folder
    raise UnfetchedError(f"{named} has no openmp/runtime/test")


def _test(path, folder, optimize):
    """The test of that file; None: it is not a program that runs once and tells by its status."""
    text = path.read_text(encoding="utf-8", errors="replace")
    runs = RUN.findall(text)
    plain = [r for r in runs if "%libomp-" in r and "FileCheck" not in r]
    if not runs or len(plain) != len(runs) or path.name in UNDEFINED:
        return None
    variables = {name: value for run in runs for name, value in VARIABLE.findall(run)}
    name = str(path.relative_to(folder)).replace("/", "-").replace(".", "_")
    compiler = "clang++" if path.suffix == ".cpp" else "clang"
    flags = ("-fopenmp", optimize, f"-I{folder}")
    return Test(name, (path,), flags, ("-lm", "-latomic"), variables, compiler)


def tests(folder, optimize):
    """Returns the programs of the suite that need nothing but their exit status to be judged."""
    paths = [p for p in sorted(folder.rglob("*.c*")) if p.suffix in (".c", ".cpp")]
    return [t for t in (_test(path, folder, optimize) for path in paths) if t is not None]
