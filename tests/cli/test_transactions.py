"""`syncopate run --tm`: which library and algorithm a program with transactions gets."""

import shutil
import subprocess

import pytest
from conftest import compile_c, one_line, run_cli

from syncopate.base import paths
from syncopate.launch import transactions

PROGRAM = """
#include <dlfcn.h>
#include <stdio.h>
static long total;
int _ITM_versionCompatible(int);
void _ITM_registerTMCloneTable(void*, unsigned long);
void* _ITM_getTMCloneSafe(void*);
struct { void (*function)(void); void* clone; } half[2] = {{(void (*)(void))puts, 0}};
int main(int argc, char** argv) {
  __transaction_atomic { total += argc; }
  if (argc > 1 && argv[1][0] == 'v') printf("%d\\n", _ITM_versionCompatible(91));
  if (argc > 1 && argv[1][0] == 'h') _ITM_registerTMCloneTable(half, 2);
  if (argc > 1 && argv[1][0] == 'l') _ITM_registerTMCloneTable(half, -1ul / 16);
  if (argc > 1 && argv[1][0] == 's') _ITM_getTMCloneSafe(puts);
  Dl_info where;
  dladdr((void*)_ITM_versionCompatible, &where);
  printf("%ld %s\\n", total, where.dli_fname);
  return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    target = tmp_path_factory.mktemp("tm") / "program"
    return compile_c(PROGRAM, target, "-fgnu-tm", "-w", "-litm", "-D_GNU_SOURCE")


def run(algorithm, *command, **others):
    return run_cli("run", "--tm", algorithm, "--", *command, **others)


@pytest.mark.parametrize(
    "choice", [*transactions.algorithms(), "htm+lazy", "norec:hourglass", "auto:none"]
)
def test_program_runs_on_our_library(program, choice):
    done = run(choice, program)
    assert done.returncode == 0
    assert done.stderr == ""
    total, library = done.stdout.rstrip("\n").split(" ", 1)
    assert total == "1"
    assert library == paths.require(transactions.LIBRARY)


@pytest.mark.parametrize("choice", ["auto", "norec", "htm", "htm+lazy", "tl2:hourglass"])
@pytest.mark.parametrize("command", [["run"], ["record", "-q", "-o", "r"]], ids=["run", "record"])
def test_it_says_what_it_does(program, tmp_path, command, choice):
    done = run_cli(*command, "--verbose", "--tm", choice, "--", program, cwd=tmp_path)
    name = {"htm": "htm+norec"}.get(choice, choice.partition(":")[0])
    assert (done.returncode, done.stderr) == (
        0,
        f"syncopate: transactions of this program: {name}\n",
    )


def test_statistics_name_the_algorithm(program):
    done = run("tl2", program, environ={"SYNCOPATE_TM_STATISTICS": "1"})
    assert "algorithm=tl2 commits=1 " in done.stderr


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        (
            "norek",
            "no algorithm for transactions is named 'norek' (did you mean norec or eager_norec?)",
        ),
        ("", "option --tm needs a value"),
        ("htm+auto", "'htm+auto': behind htm+ stands what runs in software"),
        ("norec:patience", "no contention manager is named 'patience'"),
        ("norec:", "no contention manager is named ''"),
    ],
)
def test_unknown_names_are_one_line(program, choice, said):
    done = run(choice, program)
    assert done.returncode == 2
    assert said in one_line(done)


def test_program_without_transactions_runs_as_it_is():
    """It may still open a library with transactions later."""
    done = run("norec", "sh", "-c", "echo $SYNCOPATE_TM; exit 7")
    assert (done.returncode, done.stdout, done.stderr) == (7, "norec\n", "")


def test_locks_may_be_chosen_too():
    done = run_cli("run", "--tm", "norec", "--lock", "ticket", "--", "env")
    assert {"SYNCOPATE_TM=norec", "SYNCOPATE_LOCK=ticket"} <= set(done.stdout.splitlines())


def test_library_and_command_line_know_the_same_names(program):
    """The library prints its names where it is given one that it does not know."""
    folder = paths.require(transactions.LIBRARY).rsplit("/", 1)[0]
    environ = {"LD_LIBRARY_PATH": folder, "SYNCOPATE_TM": "no_such:no_such_either"}
    done = subprocess.run([program], env=environ, capture_output=True, text=True, timeout=60)
    algorithms, managers = done.stderr.splitlines()
    assert done.returncode == 0
    assert listed(algorithms) == set(transactions.algorithms())
    assert listed(managers) == set(transactions.managers())


def listed(line: str) -> set[str]:
    return set(line.partition("there are:")[2].partition("(")[0].replace(",", " ").split())


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("version", "built for version 91 of the transactional interface"),
        ("half", "is corrupt (it has a function without a clone)"),
        ("long", "is corrupt (it reaches out of it)"),
    ],
)
def test_bad_objects_are_one_line(program, argument, said):
    done = run("auto", program, argument)
    assert done.returncode == 0
    (line,) = done.stderr.splitlines()
    assert said in line
    if argument != "version":
        assert str(program) in line


def test_function_without_a_clone_is_one_line(program):
    """Where the compiler promised one: there is no way on."""
    done = run("auto", program, "safe")
    assert done.returncode != 0
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert "has no transactional clone" in line


def test_object_of_another_interface_is_one_line(tmp_path):
    """The loader finds that by the version of the symbols."""
    versions = tmp_path / "versions"
    versions.write_text("LIBITM_2.0 { global: _ITM_error; };")
    other = compile_c(
        "void _ITM_error(void) {}",
        tmp_path / "libitm.so.1",
        *("-shared", "-fPIC", "-Wl,-soname,libitm.so.1", f"-Wl,--version-script={versions}"),
    )
    calls = "void _ITM_error(void); int main(void) { _ITM_error(); return 0; }"
    program = compile_c(calls, tmp_path / "program", f"-L{tmp_path}", f"-l:{other.name}")
    done = run("auto", program)
    assert done.returncode != 0
    (line,) = done.stderr.splitlines()
    assert "LIBITM_2.0" in line and str(program) in line


def test_missing_library_is_one_line(tmp_path, program):
    shutil.copytree(paths.require("share/syncopate"), tmp_path / "share/syncopate")
    done = run("auto", program, environ={"SYNCOPATE_NATIVE": str(tmp_path)})
    assert done.returncode == 1
    assert transactions.LIBRARY in one_line(done)
