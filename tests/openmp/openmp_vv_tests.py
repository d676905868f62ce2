"""The OpenMP Validation and Verification suite, of C, C++ and Fortran, from a folder of its source.

Each program is built by each compiler there is: GCC's for libgomp, clang for libomp.
"""

import re
import shutil

from standard import Test, UnfetchedError

LEAST = 700  # Tests that pass without us; far fewer means that the build of them broke.
COMPILERS = {".c": ("gcc", "clang"), ".cpp": ("g++", "clang++"), ".F90": ("gfortran",)}
VARIABLE = re.compile(r"test_(\w+)_env_(\w+)")  # A file's name says what it wants to be set.
LIBRARIES = ("-lm", "-latomic")


def source(named, work):
    """The folder of the suite: the one named."""
    del work
    if named is None:
        raise UnfetchedError("no --source with the OpenMP Validation and Verification suite")
    if not (named / "ompvv" / "ompvv.h").is_file():
        raise UnfetchedError(f"{named} has no ompvv/ompvv.h")
    return named.absolute()


def _of_file(path, folder, optimize):
    flags = ["-fopenmp", optimize, f"-I{folder / 'ompvv'}"]
    if path.suffix == ".F90":
        flags += ["-cpp", "-ffree-line-length-none"]
    variables = {name.upper(): value for name, value in VARIABLE.findall(path.stem)}
    name = "-".join(path.relative_to(folder / "tests").parts).replace(".", "_")
    return [
        Test(f"{compiler}-{name}", (path,), tuple(flags), LIBRARIES, variables, compiler)
        for compiler in COMPILERS[path.suffix]
        if shutil.which(compiler)
    ]


def tests(folder, optimize):
    """Returns all programs of the suite: each tells by its exit status."""
    paths = [p for p in sorted((folder / "tests").rglob("*.*")) if p.suffix in COMPILERS]
    return [test for path in paths for test in _of_file(path, folder, optimize)]
