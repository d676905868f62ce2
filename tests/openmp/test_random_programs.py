"""Random trees of OpenMP constructs (random_programs.cpp): they hold, and add up as without us."""

import subprocess

import pytest
from openmp_runs import HERE, environment

COMPILERS = {"g++": ("-O0", "-O2", "-O3"), "clang++": ("-O0", "-O3")}
SETTINGS = {
    "defaults": {},
    "cancelling": {"OMP_CANCELLATION": "true"},
    "kept": {"SYNCOPATE_OMP_REGIONS": "kept"},
    "own tasks": {"SYNCOPATE_OMP_TASKS": "ours"},
    "kept, own tasks": {"SYNCOPATE_OMP_REGIONS": "kept", "SYNCOPATE_OMP_TASKS": "ours"},
    "central": {"SYNCOPATE_OMP_BARRIER": "central:park", "SYNCOPATE_OMP_LOCK": "mcs:park"},
    "futex": {"SYNCOPATE_OMP_BARRIER": "futex", "SYNCOPATE_OMP_LOCK": "ticket:park"},
    "two_level": {"SYNCOPATE_OMP_BARRIER": "two_level", "SYNCOPATE_OMP_TASKS": "ours"},
    "dissemination": {"SYNCOPATE_OMP_BARRIER": "dissemination", "SYNCOPATE_OMP_REGIONS": "kept"},
    "own locks alone": {"SYNCOPATE_OMP_BARRIER": "runtime"},
    "own barriers alone": {"SYNCOPATE_OMP_LOCK": "runtime"},
    "recorded": {"SYNCOPATE_RECORD": "program.rec"},
}
# 1,000 find what such programs have found. libomp's nested teams poll, and take ten times as long.
SEEDS = {"g++": 1000, "clang++": 100}
TOGETHER = 100
SECONDS_EACH, SECONDS = 300, 3600

pytestmark = pytest.mark.long


class Programs:
    """The program by each compiler and level, and what it prints alone, each when first asked."""

    def __init__(self, folder):
        self.folder = folder
        self.alone = {}

    def program(self, compiler, level):
        target = self.folder / f"{compiler}{level}"
        if not target.exists():
            command = [compiler, "-std=c++20", "-Wall", "-Werror", level, "-fopenmp"]
            command += [HERE / "random_programs.cpp", "-o", target]
            if compiler == "clang++":
                asked = [compiler, "-print-resource-dir"]
                said = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
                folder = said.strip().partition("/lib/clang")[0] + "/lib"
                command += [f"-L{folder}", f"-Wl,-rpath,{folder}", "-latomic"]
            subprocess.run(command, check=True)
        return target

    def run(self, compiler, level, first, ours, **variables):
        # LLVM's runtime fails an assertion of its own without (docs/openmp.md, "Limits").
        variables["KMP_FORCE_MONOTONIC_DYNAMIC_SCHEDULE"] = "true"
        done = subprocess.run(
            [self.program(compiler, level), str(first), str(TOGETHER), str(SECONDS_EACH)],
            cwd=self.folder,
            env=environment(ours, **variables),
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"status {done.returncode}\n{done.stderr}"
        return done.stdout

    def run_alone(self, compiler, level, first):
        if (compiler, first) not in self.alone:
            self.alone[compiler, first] = self.run(compiler, level, first, False)
        return self.alone[compiler, first]


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    return Programs(tmp_path_factory.mktemp("random_programs"))


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize(
    ("compiler", "level"),
    [(compiler, level) for compiler, levels in COMPILERS.items() for level in levels],
)
def test_they_hold(programs, compiler, level, setting):
    for first in range(1, SEEDS[compiler] + 1, TOGETHER):
        printed = programs.run(compiler, level, first, True, **SETTINGS[setting])
        # What is cancelled is cancelled by whoever comes first.
        if setting != "cancelling":
            assert printed == programs.run_alone(compiler, level, first)
