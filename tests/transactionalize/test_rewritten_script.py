"""integrations/rewritten on a small program: what it finds compiled, makes of it, and says."""

import argparse
import importlib.util

import pytest
from rewriting import NATIVE, ROOT

MAKEFILE = """
all: count
count: main.o part/add.o part/plain.o
	$(CC) -o $@ $^ -pthread
main.o: main.c part/add.h config.h
	$(CC) -DSTEP=2 -I. -pthread -c -o $@ main.c
part/%.o: part/%.c
	cd part && $(CC) -DSTEP=2 -I.. -pthread -c -o $*.o $*.c
config.h:
	echo '#define ROUNDS 1000' > $@
"""
ADD = """
#include <pthread.h>
#include "add.h"
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static long n;
void add(void) { pthread_mutex_lock(&m); n += STEP; pthread_mutex_unlock(&m); }
long sum(void) { pthread_mutex_lock(&m); long now = n; pthread_mutex_unlock(&m); return now; }
"""
MAIN = """
#include <pthread.h>
#include <stdlib.h>
#include "config.h"
#include "part/add.h"
static void* work(void* x) { for (int i = 0; i < ROUNDS; i++) add(); return x; }
int main(int count, char** words) {
  pthread_t t;
  pthread_create(&t, 0, work, 0);
  work(0);
  pthread_join(t, 0);
  return sum() + plain() != atol(words[count - 1]);
}
"""
PLAIN = "long plain(void) { return 0; }\n"


@pytest.fixture(scope="module")
def script():
    path = ROOT / "integrations/rewritten/rewritten.py"
    spec = importlib.util.spec_from_file_location("rewritten", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_program_is_rewritten_built_and_tested(script, tmp_path, capfd):
    sources = tmp_path / "sources"
    (sources / "part").mkdir(parents=True)
    (sources / "Makefile").write_text(MAKEFILE)
    (sources / "main.c").write_text(MAIN)
    (sources / "part/add.c").write_text(ADD)
    (sources / "part/plain.c").write_text(PLAIN)
    (sources / "part/add.h").write_text("void add(void);\nlong sum(void);\nlong plain(void);\n")
    for name in ("a.t", "b.t"):
        (sources / name).write_text(f'[ {name} = a.t ] || [ -z "$SYNCOPATE_TM" ] && ./count 4000\n')
    options = argparse.Namespace(sources=str(sources), folder=str(tmp_path / "f"), products=NATIVE)
    program = {
        "make": "make count", "plain": "plain.c",
        "tests": [{"command": "./count 4000"}, {"command": "sh", "each": "*.t"}],
    }  # fmt: skip
    work = script.Work(options, program)
    for step in (work.fetch, work.build_locks, work.rewrite, work.build_rewritten):
        step()
    found, flags = work.compiled()
    names = [path.removeprefix(work.at("locks/")) for path in found]
    assert names == ["main.c", "part/add.c", "part/plain.c"]
    assert flags == ["-DSTEP=2", "-I" + work.at("locks"), "-pthread"]
    text = (tmp_path / "f/transactions/part/add.c").read_text()
    assert text.count("__transaction_atomic") == 2
    assert not work.test(["gcc"])
    assert work.test(["norec"])
    assert capfd.readouterr().out.splitlines() == [
        "1 locks, 2 sections: 2 transactions, 2 of them atomic",
        "locks: 3 tests; fail: none",
        "on gcc: 3 tests; fail now: none",
        "1 locks, 2 sections: 2 transactions, 2 of them atomic",
        "locks: 3 tests; fail: none",
        "on norec: 3 tests; fail now: sh b.t",
    ]


def test_what_does_not_build_says_where_to_look(script, tmp_path):
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "Makefile").write_text("all:\n\tfalse\n")
    options = argparse.Namespace(sources=str(sources), folder=str(tmp_path / "f"), products=NATIVE)
    work = script.Work(options, {"make": "make", "tests": []})
    work.fetch()
    with pytest.raises(SystemExit, match=r"make .* failed; see .*/f/log"):
        work.build_locks()
    assert not (tmp_path / "f/locks").exists()
