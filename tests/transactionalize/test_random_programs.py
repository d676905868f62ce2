"""A rewritten program does what it did, whatever its sections look like."""

import os
import re
import subprocess

import pytest
import random_program
import random_waits
from rewriting import NATIVE, ROOT, SECONDS, transactionalize

WAYS = [
    [], ["--atomic"], ["--words", "m1|m4"], ["--atomic", "--words", "m0"],
    ["--stage", "max"], ["--stage", "it"], ["--stage", "oncommit"],
]  # fmt: skip
ALGORITHMS = ["auto", "norec", "encounter_time", "irrevocable"]
SEEDS = [*range(5), *(pytest.param(n, marks=pytest.mark.long) for n in range(5, 75))]


def compiled(source, program, *flags):
    command = ["gcc", "-O1", "-w", "-fwrapv", source, "-o", program, "-pthread", *flags]
    subprocess.run(command, check=True)
    return program


def printed(program, *arguments, environ=()):
    done = subprocess.run(
        [program, *arguments], env={**os.environ, **dict(environ)}, timeout=SECONDS,
        stdout=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout


def same_after(tmp_path, text: str, way: list[str]) -> str:
    """Checks the rewritten program against the program; returns its text."""
    (tmp_path / "program.c").write_text(text)
    before = printed(compiled(tmp_path / "program.c", tmp_path / "before"))
    done = transactionalize(*way, "-o", tmp_path / "out", tmp_path / "program.c")
    assert done.returncode in (0, 3), done.stderr
    (source,) = (tmp_path / "out").rglob("program.c")
    ours = ["-fgnu-tm", f"-I{ROOT}/include", f"-L{NATIVE}/lib", "-lsyncopate-tm", "-litm"]
    after = compiled(source, tmp_path / "after", *ours)
    for algorithm in ALGORITHMS:
        environ = {"LD_LIBRARY_PATH": f"{NATIVE}/lib/tm", "SYNCOPATE_TM": algorithm}
        assert printed(after, environ=environ) == before
        printed(after, "threads", environ=environ)
    return source.read_text()


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", SEEDS)
def test_random_sections_do_what_they_did(tmp_path, seed):
    way = WAYS[seed % len(WAYS)]
    text = same_after(tmp_path, random_program.program(seed), way)
    assert "__transaction_" in text


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", SEEDS)
def test_random_waits_do_what_they_did(tmp_path, seed):
    same_after(tmp_path, random_waits.program(seed), WAYS[seed % len(WAYS)])


def test_condition_variables_that_are_declared_together_become_ours_each_by_itself(tmp_path):
    text = random_waits.program(0)
    (line,) = (line for line in text.splitlines() if "ready" in line and "pthread_cond_t" in line)
    together = "static pthread_cond_t ready, room = PTHREAD_COND_INITIALIZER, over, timed;\n"
    used = "static pthread_mutex_t n;\nvoid waits(void) {\n  struct timespec t = {0, 0};\n"
    used += "  LOCK(&n);\n  pthread_cond_timedwait(&timed, &n, &t);\n  UNLOCK(&n);\n}\n"
    declared = [each for each in text.splitlines() if each.startswith("static pthread_cond_t")]
    for each in declared:
        text = text.replace(each + "\n", together + used if each == line else "")
    after = same_after(tmp_path, text, ["--atomic"])
    assert "static tm_cond ready, room = TM_COND_INITIALIZER, over; " in after
    assert "static pthread_cond_t timed;" in after


def test_what_two_sections_declare_for_what_follows_goes_before_both(tmp_path):
    function = (
        "int f0(int a) {\nLOCK(&m0);\nLOCK(&m1);\nint kept = a + 1;\ncounted[1]++; own[1]++;\n"
    )
    function += "UNLOCK(&m1);\nUNLOCK(&m0);\nreturn kept;\n}\n"
    tail = random_program.TAIL.replace("CALLS", "at(f0(i));")
    text = same_after(tmp_path, random_program.HEAD + function + tail, ["--atomic"])
    assert re.search(r"int kept;\s+__transaction_atomic \{\s+__transaction_atomic \{", text), text
