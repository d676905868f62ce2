"""Each entry point as the last call of its function, wherever a program can make it (last_calls.h).

A test ends by itself where something hangs, and says what it waited for.
"""

import re
import subprocess
from itertools import product

import pytest
from openmp_runs import HERE, LIBRARY, environment, renamed_runtime

LEVELS = ("-O0", "-O1", "-O2", "-O3", "-Os")
MODULES = {  # name: (compiler, sources)
    "gomp": ("gcc", ["last_calls_gomp.c"]),
    "gcc": ("gcc", ["last_calls_omp.c"]),
    "gfortran": ("gfortran", ["last_calls_fortran.f90", "last_calls_of_fortran.c"]),
    "kmpc": ("clang", ["last_calls_kmpc.c"]),
    "clang": ("clang", ["last_calls_omp.c"]),
}
OF_GNU = ("gomp", "gcc", "gfortran")
SETTINGS = {
    "defaults": {},
    "off": {"SYNCOPATE": "off"},
    "kept": {"SYNCOPATE_OMP_REGIONS": "kept"},
    "own tasks": {"SYNCOPATE_OMP_TASKS": "ours"},
    "own locks alone": {"SYNCOPATE_OMP_BARRIER": "runtime"},
    "own barriers alone": {"SYNCOPATE_OMP_LOCK": "runtime"},
    "neither": {"SYNCOPATE_OMP_BARRIER": "runtime", "SYNCOPATE_OMP_LOCK": "runtime"},
    "central, mcs": {"SYNCOPATE_OMP_BARRIER": "central", "SYNCOPATE_OMP_LOCK": "mcs:park"},
    "cancelling": {"OMP_CANCELLATION": "true"},
}
SECONDS = 1800  # Of a whole run; each case of it has its own end (last_calls.h).


class Builds:
    """Modules and programs of last calls, each built when it is first asked for."""

    def __init__(self, folder):
        self.folder = folder

    def _llvm(self):
        asked = subprocess.run(
            ["clang", "-print-resource-dir"], capture_output=True, text=True, check=True
        )
        where = asked.stdout.strip().partition("/lib/clang")[0] + "/lib"
        return [f"-L{where}", f"-Wl,-rpath,{where}", "-latomic"]

    def _compile(self, target, compiler, *arguments):
        if not target.exists():
            more = self._llvm() if compiler == "clang" else []
            subprocess.run([compiler, *arguments, "-o", target, *more], cwd=self.folder, check=True)
        return target

    def module(self, name, level):
        compiler, sources = MODULES[name]
        paths = [HERE / source for source in sources]
        target = self.folder / f"{name}{level}.so"
        flags = ["-Wall", "-Werror", level, "-fPIC", "-shared", "-fopenmp"]
        return self._compile(target, compiler, *flags, *paths)

    def renamed(self, name, level):
        """The same module for a private copy of libgomp under another name."""
        stock = self.module(name, level)
        renamed_runtime(self.folder)
        target = self.folder / f"renamed-{stock.name}"
        target.write_bytes(stock.read_bytes().replace(b"libgomp.so.1", b"libgomq.so.1"))
        return target

    def program(self, name, level):
        """The module's cases linked into a program."""
        compiler, sources = MODULES[name]
        paths = [HERE / source for source in (*sources, "last_calls_main.c")]
        flags = ["-Wall", level, "-fopenmp", "-DLINKED"]
        return self._compile(self.folder / f"{name}{level}", compiler, *flags, *paths)

    def opener(self):
        """A program that knows nothing of OpenMP."""
        source = HERE / "last_calls_main.c"
        return self._compile(self.folder / "opener", "gcc", "-O2", source)

    def run(self, *command, ours=True, **variables):
        done = subprocess.run(
            [str(word) for word in command],
            env=environment(ours, LD_LIBRARY_PATH=str(self.folder), **variables),
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        what = " ".join(str(word).removeprefix(f"{self.folder}/") for word in command)
        assert done.returncode == 0, f"{what}: status {done.returncode}\n{done.stderr}"
        return done.stderr


@pytest.fixture(scope="module")
def builds(tmp_path_factory):
    return Builds(tmp_path_factory.mktemp("last_calls"))


def exported():
    """What the library stands before."""
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", LIBRARY], capture_output=True, text=True, check=True
    )
    names = {line.split()[-1].partition("@")[0] for line in listed.stdout.splitlines()}
    return {name for name in names if re.match(r"GOMP_|omp_|__kmpc_", name)}


def test_these_calls_are_jumps(builds):
    jumps = set()
    for name in MODULES:
        code = subprocess.run(
            ["objdump", "-d", "--no-show-raw-insn", builds.module(name, "-O2")],
            capture_output=True,
            text=True,
            check=True,
        )
        jumps |= set(re.findall(r"jmp +[0-9a-f]+ <(\w+)@plt>", code.stdout))
    # Its result is the address of what is to be combined next: the compiler goes on with it.
    assert exported() - jumps == {"GOMP_parallel_reductions"}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["gcc", "clang"])
def test_every_name_is_bound_to_us(builds, name):
    said = builds.run(builds.program(name, "-O2"), "bind", LD_DEBUG="bindings", LD_BIND_NOW="1")
    program = re.escape(str(builds.program(name, "-O2")))
    pairs = re.findall(rf"binding file {program} \[0\] to (.+?) \[\d+\].*symbol `(\w+)'", said)
    bound = {symbol: library for library, symbol in pairs}
    ours = {symbol for symbol in bound if symbol in exported()}
    assert len(ours) > 30
    assert {bound[symbol] for symbol in ours} == {str(LIBRARY)}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", MODULES)
def test_linked(builds, name):
    builds.run(builds.program(name, "-O2"))


@pytest.mark.long
def test_modules_of_libgomp_under_a_program_without_openmp(builds):
    # Each is closed before the next is opened.
    builds.run(builds.opener(), *(builds.module(name, "-O2") for name in OF_GNU))


def test_modules_of_libomp_under_a_program_without_openmp(builds):
    builds.run(builds.opener(), *(builds.module(name, "-O2") for name in ("kmpc", "clang")))


@pytest.mark.long
@pytest.mark.parametrize("setting", ["defaults", pytest.param("neither", marks=pytest.mark.long)])
def test_three_runtimes_in_one_process(builds, setting):
    one, two = (builds.module(name, "-O2") for name in ("gomp", "kmpc"))
    builds.run(
        builds.opener(), "open", one, two, builds.renamed("gomp", "-O2"), one, **SETTINGS[setting]
    )


@pytest.mark.long
@pytest.mark.parametrize(("setting", "level", "name"), [*product(SETTINGS, LEVELS, MODULES)])
def test_all_linked(builds, setting, level, name):
    builds.run(builds.program(name, level), **SETTINGS[setting])


@pytest.mark.long
@pytest.mark.parametrize(("setting", "level"), [*product(SETTINGS, LEVELS)])
def test_all_modules(builds, setting, level):
    opener = builds.opener()
    for names in (OF_GNU, ("kmpc", "clang")):
        builds.run(opener, *(builds.module(name, level) for name in names), **SETTINGS[setting])
    every = [builds.module(name, level) for name in MODULES]
    renamed = [builds.renamed(name, level) for name in ("gcc", "gomp")]
    builds.run(opener, "open", *every, *renamed, *every, **SETTINGS[setting])


@pytest.mark.long
@pytest.mark.parametrize("name", MODULES)
def test_recorded(builds, name, tmp_path):
    record = tmp_path / "program.rec"
    builds.run(builds.opener(), builds.module(name, "-O2"), SYNCOPATE_RECORD=str(record))
    assert record.stat().st_size > 0
