"""Release sequences of explored programs are those of the language that each file was compiled as:
until C++17 and C17 they go on through later stores of the thread that began them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from modeled import BUILD, ROOT

# The flag is published by a release store, and stored again, relaxed.
PUBLISH = """
int data;
int flag;
void publish(void) {
  data = 1;
  __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
  __atomic_store_n(&flag, 2, __ATOMIC_RELAXED);
}
"""
TAKE = """
int take(void) {
  return __atomic_load_n(&flag, __ATOMIC_ACQUIRE) == 2 && data != 1;
}
"""
MAIN = """
#include <pthread.h>
static void* other(void* nothing) {
  publish();
  return nothing;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, other, 0);
  const int wrong = take();
  pthread_join(thread, 0);
  return wrong;
}
"""
OLD = "release sequences of C++17 and C17"
COMPILERS = ("gcc", "clang")


def compile_files(folder: Path, machine: str, compiler: str, files: dict[str, tuple[str, str]]):
    """The program of files by name: their standard and their text."""
    is_cxx = any(name.endswith(".cpp") for name in files)
    plus = {"gcc": "g++", "clang": "clang++"}[compiler]
    objects = []
    for name, (standard, text) in files.items():
        (folder / name).write_text(text, encoding="utf-8")
        words = ["c++", plus] if name.endswith(".cpp") else ["cc", compiler]
        objects.append(f"{name}.o")
        run_cli(folder, words[0], f"--machine={machine}", f"--compiler={words[1]}",
                f"-std={standard}", "-O1", "-c", name, "-o", objects[-1])  # fmt: skip
    words = ["c++", plus] if is_cxx else ["cc", compiler]
    run_cli(folder, words[0], f"--machine={machine}", f"--compiler={words[1]}", *objects,
            "-o", "program", "-pthread")  # fmt: skip
    return folder / "program"


def run_cli(folder: Path, *arguments: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "syncopate", *arguments],
        cwd=folder,
        env={**os.environ, "SYNCOPATE_NATIVE": BUILD, "PYTHONPATH": str(ROOT)},
        check=True,
        timeout=120,
    )


def explore(program: Path, **variables: str) -> tuple[int, str]:
    done = subprocess.run(
        [str(program)], env={**os.environ, **variables}, capture_output=True, text=True, timeout=60
    )
    return done.returncode, done.stderr


@pytest.mark.sampled(3)
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(
    ("name", "standard", "is_old"),
    [
        ("a.c", "gnu99", True),
        ("a.c", "c11", True),
        ("a.c", "gnu17", True),
        ("a.c", "c2x", False),
        ("a.cpp", "c++11", True),
        ("a.cpp", "c++17", True),
        ("a.cpp", "gnu++20", False),
    ],
)
def test_by_the_files_own_standard(tmp_path, compiler, name, standard, is_old):
    text = PUBLISH + TAKE + MAIN
    program = compile_files(tmp_path, "explored", compiler, {name: (standard, text)})
    status, said = explore(program)
    assert status == (0 if is_old else 1), said
    assert (OLD in said) == is_old
    assert is_old or "data race" in said


@pytest.mark.parametrize("stores_are_old", [False, True])
def test_the_file_that_stores_decides(tmp_path, stores_are_old):
    declared = "extern int data, flag;\nvoid publish(void);\nint take(void);\n"
    again = "void store_again(void) { __atomic_store_n(&flag, 3, __ATOMIC_RELAXED); }\n"
    rest = "int flag, data;\n" + declared + TAKE + MAIN
    old, new = ("c17", "c2x") if stores_are_old else ("c2x", "c17")
    publish = PUBLISH.replace("int data;", "extern int data;").replace(
        "int flag;", "extern int flag;"
    )
    files = {"publish.c": (old, publish), "main.c": (new, declared + again + rest)}
    status, said = explore(compile_files(tmp_path, "explored", "gcc", files))
    assert status == (0 if stores_are_old else 1), said
    assert (OLD in said) == stores_are_old


def test_both_in_one_program(tmp_path):
    own = MAIN.replace("publish();", "publish();\n  __atomic_store_n(&flag, 3, __ATOMIC_RELAXED);")
    declared = "extern int data, flag;\nvoid publish(void);\n"
    files = {"publish.c": ("c11", PUBLISH), "main.c": ("c2x", declared + TAKE + own)}
    program = compile_files(tmp_path, "explored", "gcc", files)
    report = tmp_path / "verdict.json"
    status, said = explore(program, SYNCOPATE_STATS=str(report))
    assert status == 0, said
    assert f"{OLD} in some files" in said
    assert json.loads(report.read_text())["release_sequences"] == "C++17 and C17 in some files"


@pytest.mark.parametrize("machine", ["simulated", "emulated"])
def test_other_machines_make_the_same_of_both(tmp_path, machine):
    text = PUBLISH + TAKE + MAIN
    program = compile_files(tmp_path, machine, "gcc", {"a.c": ("c11", text)})
    status, said = explore(program)
    assert status == 0, said
