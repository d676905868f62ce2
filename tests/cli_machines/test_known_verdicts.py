"""bench/known_verdicts.py on suites made up here: what stands in their folders, how a verdict is
judged, and the whole on four programs, one for each way to agree or not."""

import json
import subprocess
import sys
from pathlib import Path

import known_suites as suites
import known_verdicts as verdicts
import pytest
from known_suites import ANY, CHECKS, ERRORS, RACE, SAFETY, Case

ROOT = Path(__file__).resolve().parents[2]


def made(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def told(suite: suites.Suite) -> list[tuple[str, bool, str]]:
    return sorted((case.source.name, case.right, case.about) for case in suite.cases)


def test_genmc(tmp_path: Path) -> None:
    suite = suites.genmc(made(tmp_path, {
        "tests/correct/litmus/a/variants/a0.c": "",
        "tests/correct/litmus/a/a.c": "",
        "tests/correct/liveness/b/variants/b0.cpp": "",
        "tests/correct/lock/c/variants/c0.c": "",
        "tests/correct/lock/c/args.rc11.mo.in": "\n -disable-race-detection | -DN=2 -I./tests/x\n",
        "tests/wrong/racy/d/variants/d0.c": "",
        "tests/wrong/lkmm/e/variants/e0.c": "",
    }))  # fmt: skip
    assert told(suite) == [("a0.c", True, SAFETY), ("b0.cpp", True, ANY), ("c0.c", True, ERRORS),
                           ("d0.c", False, ANY)]  # fmt: skip
    (flags,) = [case.flags for case in suite.cases if case.source.name == "c0.c"]
    assert flags[:2] == ("-DN=2", f"-I{tmp_path / 'tests/x'}")
    assert suite.left_out == {"lkmm: not C++'s memory model": 1}


def test_goblint(tmp_path: Path) -> None:
    suite = suites.goblint(made(tmp_path, {
        "right.c": "++x; // NORACE\n",
        "wrong.c": "++x; // RACE!\n++y; // NORACE\n",
        "analyzers.c": "++x; // RACE\n",
        "uncalled.c": "// PARAM: --set allfuns true\n++x; // RACE!\n",
        "unmarked.c": "++x;\n",
    }))  # fmt: skip
    assert told(suite) == [("right.c", True, RACE), ("wrong.c", False, RACE)]
    assert sum(suite.left_out.values()) == 3


def test_sv_comp(tmp_path: Path) -> None:
    task = (
        "input_files: '{}'\nproperties:\n  - property_file: ../properties/{}.prp\n"
        "    expected_verdict: {}\n"
    )
    suite = suites.sv_comp(made(tmp_path, {
        "a.yml": task.format("a.i", "unreach-call", "false"), "a.i": "", "a.c": "",
        "b.yml": task.format("b.c", "no-data-race", "true"), "b.c": "",
        "c.yml": task.format("gone.c", "unreach-call", "true"),
        "d.yml": task.format("d.c", "termination", "true"), "d.c": "",
    }))  # fmt: skip
    assert told(suite) == [("a.c", False, ERRORS), ("b.c", True, RACE)]
    assert sum(suite.left_out.values()) == 2


def test_esbmc(tmp_path: Path) -> None:
    program = "#include <pthread.h>\n"
    suite = suites.esbmc(made(tmp_path, {
        "a/test.desc": "CORE\na.c\n--data-races-check\n^VERIFICATION SUCCESSFUL$\n",
        "a/a.c": program,
        "b/test.desc": "CORE\nb.c\n\n^VERIFICATION SUCCESSFUL$\n", "b/b.c": program,
        "c/test.desc": "CORE\nc.c\n--deadlock-check\n^VERIFICATION FAILED$\n", "c/c.c": program,
        "d/test.desc": "CORE\nd.c\n--memory-leak-check\n^VERIFICATION FAILED$\n", "d/d.c": program,
        "e/test.desc": "CORE\ne.c\n\n^VERIFICATION FAILED$\n", "e/e.c": "int main() {}\n",
        "f/test.desc": "CORE\n", "f/f.c": program,
    }))  # fmt: skip
    assert told(suite) == [("a.c", True, RACE), ("b.c", True, ERRORS), ("c.c", False, ANY)]
    assert suite.left_out == {"leaks of memory": 1, "no verdict, or no threads": 2}


def test_nidhugg_and_names(tmp_path: Path) -> None:
    made(tmp_path / "smoke", {
        "reference.results.txt": "# a header\na Forbid : 2\nb Allow : 3\nc Forbid : 4\n",
        "C-tests/a.c": "x = 1;", "C-tests/b.c": "x.load(memory_order_relaxed)",
        "C-tests/c.c": "x.load(memory_order_acquire)",
    })  # fmt: skip
    suite = suites.nidhugg(tmp_path / "smoke")
    assert told(suite) == [("a.c", True, CHECKS), ("b.c", False, CHECKS)]
    assert sum(suite.left_out.values()) == 1
    names = ["queue_true.c", "stack-bad.c", "lock.c", "bad/deep-no.c"]
    suite = suites.named(made(tmp_path / "named", dict.fromkeys(names, "")))
    assert told(suite) == [("queue_true.c", True, ANY), ("stack-bad.c", False, ANY)]
    assert sum(suite.left_out.values()) == 2


LINE = "printed by it syncopate: explored: {}\n"


@pytest.mark.parametrize(
    ("right", "about", "output", "status", "outcome"),
    [
        (True, ANY, LINE.format("passed: 2 executions"), 0, "agrees"),
        (False, ANY, LINE.format("passed: 2 executions"), 0, "false pass"),
        (False, ANY, LINE.format("failed: data race: 1 executions"), 1, "agrees"),
        (True, ANY, LINE.format("failed: data race: 1 executions"), 1, "false alarm"),
        (True, ERRORS, LINE.format("failed: data race: 1 executions"), 1, "another"),
        (True, ERRORS, LINE.format("failed: deadlock: 1 executions"), 1, "false alarm"),
        (True, SAFETY, LINE.format("failed: deadlock: 1 executions"), 1, "another"),
        (True, SAFETY, LINE.format("failed: data race: 1 executions"), 1, "false alarm"),
        (True, CHECKS, LINE.format("failed: data race: 1 executions"), 1, "another"),
        (False, CHECKS, LINE.format("failed: crash: 1 executions"), 1, "agrees"),
        (False, RACE, LINE.format("failed: crash: 1 executions"), 1, "another"),
        (False, RACE, LINE.format("failed: data race: 1 executions"), 1, "agrees"),
        (False, ANY, "syncopate: failed check: main returned 3\n"
         + LINE.format("failed: failed check: 1 executions"), 1, "another"),
        (True, ANY, LINE.format("bounded: 9 executions; limit: time"), 3, "not finished"),
        (True, ANY, LINE.format("failed: not supported: 1 executions"), 1, "unsupported"),
        (True, ANY, LINE.format("failed: not repeatable: 1 executions"), 1, "broken"),
        (True, ANY, LINE.format("passed: 2 executions"), 1, "broken"),
        (True, ANY, "Segmentation fault\n", 139, "broken"),
        (True, ANY, "", 0, "broken"),
        (True, ANY, LINE.format("passed: 2 executions"), None, "broken"),
    ],
)  # fmt: skip
def test_judgment(right: bool, about: str, output: str, status: int | None, outcome: str) -> None:
    case = Case(Path("program.c"), right, about)
    assert verdicts.judge(case, verdicts.understand(output, status)) == outcome


def program(body: str) -> str:
    return f"""#include <pthread.h>
void __VERIFIER_assume(int);
int __VERIFIER_nondet_int(void);
static int data;
static void* other(void* argument) {{ {body}; return argument; }}
int main(void) {{
  pthread_t made;
  pthread_create(&made, 0, other, 0);
  data = 1;
  pthread_join(made, 0);
  return 0;
}}
"""


def test_the_whole(tmp_path: Path) -> None:
    folder = made(tmp_path / "suite", {
        "assumed_true.c": program("__VERIFIER_assume(0); data = 2"),
        "chosen_false.c": program("if (__VERIFIER_nondet_int()) data = 2"),
        "alarm_true.c": program("data = 2"),
        "own_error_false.c": "void abort(void);\nvoid reach_error(void) { abort(); }\n"
                             "int main(void) { reach_error(); }\n",
        "pass_false.c": program("(void)0"),
        "broken_false.c": "int main(void) { return unknown; }\n",
    })  # fmt: skip
    command = [sys.executable, ROOT / "bench" / "known_verdicts.py", "named", folder,
               "--levels", "O0", "--json", tmp_path / "out.json"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    results = json.loads((tmp_path / "out.json").read_text())
    outcomes = {each["case"]: each["outcome"] for each in results}
    assert outcomes == {
        "assumed_true.c": "agrees",
        "chosen_false.c": "agrees",
        "alarm_true.c": "false alarm",
        "own_error_false.c": "agrees",
        "pass_false.c": "false pass",
        "broken_false.c": "not compiled",
    }
    assert done.returncode == 1
    row = done.stdout.splitlines()[-1].split()
    assert row == ["gcc", "-O0", "6", "3", "1", "1", "0", "0", "0", "0", "1"]
