"""Sources that GCC took until 4.9: functions that are transaction_safe in one declaration and not
in another. What is amended, what stays, and that today's compiler takes it then."""

import subprocess
import sys

import pytest

from syncopate.bench import safedeclarations

SAFE = "__attribute__((transaction_safe))"
HEADER = f"""
#define TM_SAFE {SAFE}
{SAFE}
int declared(int x);
int defined(int x);
void trailing(int x) {SAFE};
typedef void ({SAFE} *callback)(int);
void takes(void ({SAFE} *then)(int), int x);
static int both(int x);
"""
SOURCE = f"""
#include "planted.h"
static int shared;
/* results in a transaction_safe annotation */
int declared(int x) {{ return x; }}
int
TM_SAFE
defined (int x) {{ return shared + x; }}
void trailing(int x) {{ shared = x; }}
{SAFE} static int both(int x) {{ return x; }}
{SAFE} void takes(void ({SAFE} *then)(int), int x) {{ then(x); }}
int main(void) {{
  int sum = 0;
  __transaction_atomic {{ sum = declared(1) + defined(2) + both(3); trailing(4); }}
  return sum != 6;
}}
"""


def compile_in(folder, *words: str) -> subprocess.CompletedProcess:
    command = ["gcc", "-fgnu-tm", "-w", "-c", str(folder / "planted.c"), "-o", str(folder / "o")]
    return subprocess.run(
        [sys.executable, "-m", "syncopate.bench.safedeclarations", str(folder), *command, *words],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture
def planted(tmp_path):
    (tmp_path / "planted.h").write_text(HEADER)
    (tmp_path / "planted.c").write_text(SOURCE)
    return tmp_path


def test_gcc_refuses_them_and_takes_them_amended(planted):
    refused = subprocess.run(
        ["gcc", "-fgnu-tm", "-w", "-fsyntax-only", planted / "planted.c"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    pairs = safedeclarations.conflicts(refused.stderr, planted)
    assert refused.returncode != 0 and len(pairs) == 5
    done = compile_in(planted)
    assert done.returncode == 0, done.stderr
    source, header = (planted / "planted.c").read_text(), (planted / "planted.h").read_text()
    assert f"{SAFE} int declared(int x) {{" in source
    assert f"{SAFE} int defined(int x);" in header
    assert f"{SAFE} void trailing(int x) {{" in source
    assert f"{SAFE} static int both(int x);" in header
    assert f"{SAFE} void takes(void ({SAFE} *then)(int), int x);" in header
    # Nothing else: without the five attributes they are what they were.
    for added in ("int declared(int x) {", "void trailing(int x) {"):
        source = source.replace(f"{SAFE} {added}", added)
    for added in ("int defined", "static", "void takes"):
        header = header.replace(f"{SAFE} {added}", added)
    assert (source, header) == (SOURCE, HEADER)


def test_what_else_conflicts_stays_and_fails(planted):
    """Both lack the attribute, and one returns something else."""
    source = SOURCE + "long other(int x);\nint other(int x) { return x; }\n"
    (planted / "planted.c").write_text(source)
    done = compile_in(planted)
    assert done.returncode != 0
    assert "conflicting types for" in done.stderr and "other" in done.stderr
    assert "int other(int x) { return x; }" in (planted / "planted.c").read_text()
    assert f"{SAFE} long other" not in (planted / "planted.c").read_text()


def test_a_command_that_succeeds_changes_nothing(planted):
    (planted / "planted.c").write_text("int main(void) { return 0; }\n")
    assert compile_in(planted).returncode == 0
    assert (planted / "planted.h").read_text() == HEADER
