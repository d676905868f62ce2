"""What CONTRIBUTING.md says of new machine parameters, options and locks: how many files one takes.

A report's number has tests/cli/test_lock_columns.py.
"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

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
LOCK = '  own(std::type_identity<planted_lock>{}, "planted", "planted_lock.h");\n'
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
    program = built(planted, [], "use.cpp", "description.cpp", "toml_fields.cpp")
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


def test_a_lock_is_a_file_and_its_place_in_the_list(tmp_path):
    shutil.copytree(ROOT / "include", tmp_path / "include")
    locks = tmp_path / "include/syncopate/locks"
    futex = (locks / "futex_lock.h").read_text(encoding="utf-8")
    (locks / "planted_lock.h").write_text(futex.replace("futex_lock", "planted_lock"))
    names = said_by(built(tmp_path, ["-Iinclude"], str(lock_list(tmp_path)))).split()
    assert names and "planted" not in names
    table = locks / "all.h"
    text = table.read_text(encoding="utf-8")
    for line, planted in (
        (
            "#include <syncopate/locks/futex_lock.h>\n",
            "#include <syncopate/locks/planted_lock.h>\n",
        ),
        ('  own(std::type_identity<futex_lock>{}, "futex", "futex_lock.h");\n', LOCK),
    ):
        assert text.count(line) == 1
        text = text.replace(line, line + planted)
    table.write_text(text, encoding="utf-8")
    assert "planted" in said_by(built(tmp_path, ["-Iinclude"], str(lock_list(tmp_path)))).split()


def lock_list(folder: Path) -> Path:
    file = folder / "list.cpp"
    file.write_text(
        "#include <syncopate/locks/all.h>\n#include <cstdio>\nint main() {\n"
        "  syncopate::for_each_lock([](auto one) {\n"
        '    std::printf("%.*s\\n", int(one.name.size()), one.name.data());\n  });\n}\n'
    )
    return file
