"""What CONTRIBUTING.md says of new machine parameters, options and locks: how many files one takes.

A report's number has tests/cli/report/test_lock_columns.py.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from syncopate.base import locktable
from syncopate.commands import commandhelp, completion
from syncopate.launch import policy
from syncopate.tuning import choice

HERE = Path(__file__).resolve().parent
ROOT = Path(__file__).resolve().parents[2]
DESCRIPTION = ROOT / "src/model/simulated/description"
OPTIONS = ROOT / "src/base/options.def"
ROW = 'SYNCOPATE_DRAM(unsigned, planted, "cycles", optional, 0, most_cycles, "it is planted")\n'
OPTION = (
    'SYNCOPATE_OPTION(planted, "SYNCOPATE_PLANTED", "preload", "N", "", "1", "it is planted")\n'
)
OPTION_USE = r"""
#include "base/option.h"
#include "tools/option_list.h"
#include <cstdio>
int main() {
  std::printf("%s\n", syncopate::setting<syncopate::option::planted>());
  std::printf("%s\n", syncopate::tools::option_list_json().c_str());
}
"""
LOCK = (
    ("#include <syncopate/locks/auto_lock.h>\n", "#include <syncopate/locks/anderson_lock.h>\n"),
    (
        '  own(std::type_identity<futex_lock>{}, "futex", "futex_lock.h");\n',
        "".join(
            f'  one.template operator()<anderson_lock, waits::{wait}>("anderson",'
            f' "anderson_lock.h", {is_default});\n'
            for wait, is_default in (("yield", "true"), ("spin", "false"))
        ),
    ),
)
LOCKS = "share/syncopate/locks.json"
LOCK_OPTION = commandhelp.Option(["-l", "--lock"], "NAME[:WAIT]", "which lock")
USE = r"""
#include "description.h"
#include <cstdio>
#include <exception>
int main(int, char** arguments) {
  try {
    std::printf("%u\n", syncopate::simulated::read_description(arguments[1]).dram.planted);
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
  }
}
"""


def built(folder: Path, flags: list[str], *sources: str) -> Path:
    """A program of files of `folder`."""
    program = folder / "program"
    command = ["g++", "-std=c++20", "-O0", *flags, *sources, "-o", str(program)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return program


def said_by(*command: object) -> str:
    return subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=True
    ).stdout


@pytest.fixture
def planted(tmp_path) -> Path:
    """The description of machines with one row more, and a program that shows that parameter."""
    for file in DESCRIPTION.iterdir():
        shutil.copy(file, tmp_path)
    table = tmp_path / "parameters.def"
    text = table.read_text(encoding="utf-8")
    assert text.count("SYNCOPATE_HTM(bool, present,") == 1
    table.write_text(
        text.replace("SYNCOPATE_HTM(bool, present,", ROW + r"SYNCOPATE_HTM(bool, present,")
    )
    (tmp_path / "use.cpp").write_text(USE)
    return tmp_path


def machine(folder: Path, line: str) -> Path:
    text = (ROOT / "machines/small-2c.toml").read_text(encoding="utf-8")
    file = folder / "machine.toml"
    file.write_text(text.replace("[dram]\n", f"[dram]\n{line}\n"), encoding="utf-8")
    return file


def test_a_machine_parameter_is_a_row(planted):
    # How TOML is read does not depend on the rows, and takes as long to compile as all of this.
    fields = "src/model/simulated/CMakeFiles/syncopate-simulated.dir/description/toml_fields.cpp.o"
    fields = str(Path(os.environ["SYNCOPATE_BUILD_DIR"]) / fields)
    program = built(planted, [], "use.cpp", "description.cpp", fields)
    assert said_by(program, machine(planted, "planted = 7")) == "7\n"
    assert said_by(program, machine(planted, "")) == "0\n"
    assert "dram.planted: must lie between 0 and" in said_by(
        program, machine(planted, "planted = -1")
    )
    assert "dram.plantd: unknown key; did you mean planted?" in said_by(
        program, machine(planted, "plantd = 7")
    )
    page = planted / "page.md"
    said_by(sys.executable, ROOT / "scripts/parameters_page.py", planted / "parameters.def", page)
    assert "| dram.planted | cycles | optional; it is planted |" in page.read_text()


def test_keys_of_machines_stand_in_the_table_alone():
    """Reading and the structures name no key: only rules between several do."""
    sys.path.insert(0, str(ROOT / "scripts"))
    import parameters_page

    header = (DESCRIPTION / "description.h").read_text(encoding="utf-8")
    members = re.findall(r"^  (?:unsigned|double|bool|std::uint64_t) (\w+);", header, re.M)
    assert members == ["present"]  # of monitor, which has tables besides
    keys = {
        row["key"] for row in parameters_page.rows((DESCRIPTION / "parameters.def").read_text())
    }
    assert len(keys) > 50


def test_an_option_is_a_row(tmp_path):
    """It is read by its name, and stands in the list that the command line and the page follow."""
    for folder in ("base", "tools"):
        shutil.copytree(ROOT / "src" / folder, tmp_path / folder)
    table = tmp_path / "base/options.def"
    text = table.read_text(encoding="utf-8")
    first = text.index("SYNCOPATE_OPTION(everything")
    table.write_text(text[:first] + OPTION + text[first:], encoding="utf-8")
    (tmp_path / "use.cpp").write_text(OPTION_USE)
    program = built(tmp_path, ["-I."], "use.cpp", "tools/option_list.cpp")
    done = subprocess.run(
        [program], env={"SYNCOPATE_PLANTED": "7"}, capture_output=True, text=True, check=True
    )
    value, _, rest = done.stdout.partition("\n")
    assert value == "7"
    (row,) = [each for each in json.loads(rest)["options"] if "PLANTED" in each["variable"]]
    assert row["meaning"] == "it is planted" and row["readers"] == ["preload"]


def plant_anderson(include: Path) -> None:
    """A lock more, as CONTRIBUTING.md says."""
    locks = include / "syncopate/locks"
    shutil.copy(HERE / "planted/anderson_lock.h", locks)
    table = locks / "all.h"
    text = table.read_text(encoding="utf-8")
    for line, planted in LOCK:
        assert text.count(line) == 1
        text = text.replace(line, planted + line)
    table.write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def with_anderson(tmp_path_factory) -> Path:
    """A copy of the tree's include with that lock, and the list of locks that the build makes of
    it, where the command line looks."""
    copy = tmp_path_factory.mktemp("anderson")
    shutil.copytree(ROOT / "include", copy / "include")
    plant_anderson(copy / "include")
    (copy / "list.cpp").write_text(
        '#include "tools/lock_list.h"\n#include <cstdio>\n'
        "int main() { std::puts(syncopate::tools::lock_list_json().c_str()); }\n"
    )
    folders = ["-Iinclude", f"-I{ROOT}/src", f"-I{ROOT}/products"]
    program = built(copy, folders, "list.cpp", str(ROOT / "src/tools/lock_list.cpp"))
    (copy / "share/syncopate").mkdir(parents=True)
    (copy / LOCKS).write_text(said_by(program))
    options = "share/syncopate/options.json"
    shutil.copy(Path(os.environ["SYNCOPATE_NATIVE"]) / options, copy / options)
    return copy


def test_a_lock_is_a_file_and_its_place_in_the_list(with_anderson, tmp_path, monkeypatch):
    """What follows from it: the command's choices, policies, completions, what tune tries, the
    README's table, and a test of each POSIX program."""
    monkeypatch.setenv("SYNCOPATE_NATIVE", str(with_anderson))
    names = ["anderson", "anderson:yield", "anderson:spin"]
    assert [locktable.check_choice(name) for name in names] == names
    assert {"anderson", "anderson:spin"} <= set(choice.specifications(locktable.load(), False))
    tried = choice.specifications(locktable.load(), True)
    assert "anderson" in tried and "anderson:spin" not in tried  # it collapses
    assert "anderson" in completion.SHELLS["bash"]({"run": ([], [LOCK_OPTION])})
    policy.check("p", {"schema": policy.SCHEMA, "version": 1, "default": {"lock": "anderson:spin"}})

    page = tmp_path / "README.md"
    page.write_text("<!-- locks: begin -->\n<!-- locks: end -->\n")
    said_by(sys.executable, ROOT / "scripts/readme_locks.py", with_anderson / LOCKS, page)
    (row,) = [line for line in page.read_text().splitlines() if "anderson" in line]
    assert "| FIFO | 16 B | **yield**, spin | yes | spin |" in row

    (tmp_path / "CTestTestfile.cmake").write_text(
        f'set(POSIX_LOCKS "{with_anderson / LOCKS}")\n'
        "set(POSIX_DEADLINE true)\n"
        "set(POSIX_SECONDS 60)\nset(POSIX_PRELOADED LD_PRELOAD=us)\n"
        f'set(POSIX_PROGRAMS one=1 two=2)\ninclude("{ROOT}/tests/posix/every_lock.cmake")\n'
    )
    tests = said_by("ctest", "-N", "--test-dir", tmp_path)
    assert re.findall(r"posix\.(anderson\w*)\.(\w+)", tests) == [
        (lock, program) for lock in ("anderson", "anderson_spin") for program in ("one", "two")
    ]


@pytest.mark.long
def test_the_added_lock_on_the_machines(tmp_path):
    """It excludes: natively, under every interleaving, and on a simulated machine."""
    source = str(HERE / "planted/threads.cpp")
    program = built(tmp_path, [f"-I{ROOT}/include", "-pthread", "-O2"], source)
    for _ in range(200):
        said_by(program)
    command = Path(os.environ["SYNCOPATE_NATIVE"]) / "bin/syncopate"
    for machine in ("explored", "simulated"):
        said_by(command, "c++", f"--machine={machine}", "-std=c++20", "-O1", source,
                "-o", tmp_path / machine)  # fmt: skip
    said_by(command, "simulate", "-m", "test-4c", tmp_path / "simulated")
    checked = [command, "check", tmp_path / "explored"]
    verdict = subprocess.run(checked, capture_output=True, text=True)
    assert verdict.returncode == 0 and ": passed" in verdict.stderr, verdict.stderr


@pytest.mark.long
def test_the_added_lock_passes_every_test_of_locks(tmp_path):
    """A copy of the tree, built: its preload library runs the POSIX programs with that lock, and
    the conformance tests have it among theirs."""
    copy = tmp_path / "tree"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns("build", ".git"))
    plant_anderson(copy / "include")
    build = copy / "build"
    said_by("cmake", "-G", "Ninja", "-S", copy, "-B", build)
    parts = ("deadline/all", "conformance/all", "posix/all")
    said_by("cmake", "--build", build, "--target", "native", *(f"tests/{each}" for each in parts))
    which = r"^(posix\.anderson|conformance\..*anderson)"
    done = subprocess.run(
        ["ctest", "--test-dir", build, "-j4", "--output-on-failure", "-R", which],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    ran = re.findall(r"Test +#\d+: (posix\.anderson\w*|conformance)\.(\S+) ", done.stdout)
    programs = {path.stem.removeprefix("test_") for path in ROOT.glob("tests/posix/test_*.c*")}
    for lock in ("posix.anderson", "posix.anderson_spin"):
        assert {name for of, name in ran if of == lock} == programs
    for suite in ("anderson_yield", "anderson_spin"):
        assert len([name for _, name in ran if name.startswith(f"{suite}.")]) >= 12
