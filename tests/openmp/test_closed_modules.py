"""Modules that a program closes are unloaded, and what comes to lie in their place is another one.

closed_module_main.c opens and closes modules (closed_module.c) under one name, and looks each time
whether the module's destructors have run, whether it has gone, and whether the next one is the new
file. Modules that are alike but for their runtime come to lie at the same addresses.
"""

import re
import subprocess
from itertools import product

import pytest
from openmp_runs import DEADLINE, HERE, compiled, environment, renamed_runtime

COMPILERS = ("gcc", "clang")
SETTINGS = {
    "defaults": {},
    "off": {"SYNCOPATE": "off"},
    "kept": {"SYNCOPATE_OMP_REGIONS": "kept"},
    "own tasks": {"SYNCOPATE_OMP_TASKS": "ours"},
    "neither": {"SYNCOPATE_OMP_BARRIER": "runtime", "SYNCOPATE_OMP_LOCK": "runtime"},
    "mcs": {"SYNCOPATE_OMP_LOCK": "mcs:park"},
}


class Builds:
    """Modules and the programs that open them, each built when it is first asked for."""

    def __init__(self, folder):
        self.folder = folder
        renamed_runtime(folder)

    def _llvm(self):
        asked = subprocess.run(
            ["clang", "-print-resource-dir"], capture_output=True, text=True, check=True
        )
        where = asked.stdout.strip().partition("/lib/clang")[0] + "/lib"
        return [f"-L{where}", f"-Wl,-rpath,{where}"]

    def module(self, compiler, version, *, late=False, only_late=False, vain=False, flags=()):
        kind = "-late" * late + "-only" * only_late + "-vain" * vain + "-bare" * bool(flags)
        name = f"{compiler}{kind}-{version}"
        target = self.folder / name
        if not target.exists():
            defined = {"VERSION": version, "LAST": int(late), "FIRST_AT_END": int(only_late)}
            defined["IN_VAIN"] = int(vain)
            more = [f"-D{key}={value}" for key, value in defined.items()]
            more += self._llvm() if compiler == "clang" else []
            source = HERE / "closed_module.c"
            compiled(target, "-Wall", "-fPIC", "-shared", *more, *flags, source, compiler=compiler)
        return target

    def renamed(self, stock):
        """The same module for a private copy of libgomp under another name."""
        target = self.folder / f"renamed-{stock.name}"
        target.write_bytes(stock.read_bytes().replace(b"libgomp.so.1", b"libgomq.so.1"))
        return target

    def cannot_be_opened(self):
        """What the last destructors open in vain: a library that it needs is nowhere."""
        stock = self.module("gcc", 1).read_bytes()
        (self.folder / "in-vain.so").write_bytes(stock.replace(b"libgomp.so.1", b"libgomv.so.1"))

    def opener(self, compiler=None, *flags):
        """A program without OpenMP; or one of that compiler's, with regions of its own."""
        source = HERE / "closed_module_main.c"
        target = self.folder / "-".join(["opener", str(compiler), *flags])
        if target.exists():
            return target
        if compiler is None:
            subprocess.run(["gcc", "-O1", "-Wall", *flags, source, "-o", target], check=True)
            return target
        more = self._llvm() if compiler == "clang" else []
        return compiled(target, source, *more, compiler=compiler)

    def run(self, opener, times, how, *files, ours=True, **variables):
        done = subprocess.run(
            [*DEADLINE, *map(str, (opener, times, how, *files))],
            cwd=self.folder,
            env=environment(ours, LD_LIBRARY_PATH=str(self.folder), **variables),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"status {done.returncode}\n{done.stderr}"
        assert done.stdout == f"{times} times\n"


@pytest.fixture(scope="module")
def builds(tmp_path_factory):
    return Builds(tmp_path_factory.mktemp("closed_modules"))


@pytest.mark.long
def test_closed_modules_go_without_us(builds):
    """Where the runtime stays, as LLVM's does by itself: libgomp goes, under its own threads."""
    files = {name: [builds.module(name, version) for version in (1, 2)] for name in COMPILERS}
    held = {"LD_PRELOAD": "libgomp.so.1"}
    builds.run(builds.opener(), 100, "alone", *files["gcc"], ours=False, **held)
    builds.run(builds.opener(), 100, "alone", *files["clang"], ours=False)


def each(*daily, of):
    """All of them as parameters of a test; those that are not daily for the long tests."""
    return [pytest.param(*one, marks=() if one in daily else pytest.mark.long) for one in of]


@pytest.mark.parametrize(
    ("compiler", "setting"),
    each(("gcc", "defaults"), ("gcc", "kept"), ("gcc", "own tasks"), ("clang", "defaults"),
         of=list(product(COMPILERS, SETTINGS))),
)  # fmt: skip
def test_closed_modules_go(builds, compiler, setting):
    files = [builds.module(compiler, version) for version in (1, 2)]
    builds.run(builds.opener(), 100, "alone", *files, **SETTINGS[setting])


@pytest.mark.parametrize(
    ("compiler", "how", "levels"),
    each(("gcc", "region", "1"), ("gcc", "team", "2"), ("clang", "team", "1"),
         of=list(product(COMPILERS, ("region", "team"), ("1", "2")))),
)  # fmt: skip
def test_closed_modules_go_from_within_a_region(builds, compiler, how, levels):
    files = [builds.module(compiler, version) for version in (1, 2)]
    # The team's threads open, close and look up at the same time: none waits for another for ever.
    times = 60 if how == "team" else 30
    builds.run(builds.opener(compiler), times, how, *files, OMP_MAX_ACTIVE_LEVELS=levels)


@pytest.mark.parametrize(
    "setting", each(("defaults",), ("neither",), of=[(name,) for name in SETTINGS])
)
def test_what_lies_where_another_lay_has_its_own_runtime(builds, setting):
    files = [builds.module("gcc", 1), builds.module("clang", 3)]
    files.insert(1, builds.renamed(builds.module("gcc", 2)))
    builds.run(builds.opener(), 99, "alone", *files, **SETTINGS[setting])


@pytest.mark.parametrize(
    ("compiler", "only_late", "how"),
    each(("gcc", False, "alone"), ("gcc", True, "ends"), ("clang", False, "ends"),
         of=list(product(COMPILERS, (False, True), ("alone", "ends")))),
)  # fmt: skip
def test_regions_of_the_last_destructors(builds, compiler, only_late, how):
    files = [builds.module(compiler, version, late=True, only_late=only_late) for version in (1, 2)]
    # Where nobody else has the runtime, what first uses it at the end cannot hold it any more.
    opener = builds.opener(compiler if how == "ends" else None)
    builds.run(opener, 20, how, *files)


@pytest.mark.parametrize(
    ("vain", "flags"), [(False, ()), (True, ()), (True, ("-DNAMES_R_DEBUG", "-fPIE", "-pie"))]
)
def test_what_first_calls_after_its_last_destructors_leaves_nothing_behind(builds, vain, flags):
    builds.cannot_be_opened()
    module = builds.module("gcc", 1, late=True, only_late=True, vain=vain)
    opener = builds.opener(None, *flags)
    builds.run(opener, 20, "ends later", module, builds.renamed(module))
    relocations = subprocess.run(["readelf", "-rW", opener], capture_output=True, text=True).stdout
    assert bool(re.search(r"R_\S+_COPY.*_r_debug", relocations)) == bool(flags)


@pytest.mark.long
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(("how", "only_late"), [("ends", False), ("ends", True), ("alone", False)])
def test_what_is_opened_in_vain_at_the_end_leaves_nothing_behind(builds, compiler, how, only_late):
    builds.cannot_be_opened()
    files = [
        builds.module(compiler, version, late=True, only_late=only_late, vain=True)
        for version in (1, 2)
    ]
    builds.run(builds.opener(compiler if how == "ends" else None), 20, how, *files)


@pytest.mark.parametrize("late", [False, True])
def test_a_runtime_that_only_closed_modules_used_at_their_end_goes_with_them(builds, late):
    """It cannot be held any more; with one thread it can go. Another comes to lie there."""
    module = builds.module("gcc", 1, late=late)
    renamed = builds.renamed(module)
    limit = {"OMP_THREAD_LIMIT": "1"}
    builds.run(builds.opener(), 20, "ends", module, renamed, ours=False, **limit)
    builds.run(builds.opener(), 20, "ends", module, renamed, **limit)


def test_a_module_that_does_not_tell_its_end_stays(builds):
    """Linked without the compiler's start files: there is nothing that calls us."""
    bare = builds.module("gcc", 5, flags=("-nostartfiles",))
    with pytest.raises(AssertionError, match="its destructor has not run"):
        builds.run(builds.opener(), 1, "alone", bare)


def test_the_program_says_where_a_module_stays(builds):
    """The check can fail: one that is linked so that it may not be unloaded."""
    stays = builds.module("gcc", 6, flags=("-Wl,-z,nodelete",))
    with pytest.raises(AssertionError, match="its destructor has not run"):
        builds.run(builds.opener(), 1, "alone", stays, ours=False)
