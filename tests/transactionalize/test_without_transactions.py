"""Files that GCC does not compile with -fgnu-tm, whatever is written into them."""

import json
import subprocess
from pathlib import Path

import pytest
from rewriting import NATIVE, ROOT, transactionalize

INLINED = """\
static inline __attribute__((always_inline, const)) unsigned turned(unsigned x) {
  return (x << 16) + (x >> 16);
}
static inline unsigned twice(unsigned x) { return turned(turned(x)); }
"""
HASH = """\
#include "inlined.h"
#include "all.h"
unsigned hash(unsigned x) { return turned(x) ^ twice(x); }
"""
MAIN = """\
#include "all.h"
#include <stdio.h>
pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER, hashed = PTHREAD_MUTEX_INITIALIZER;
long n; unsigned h = 1;
static void* work(void* none) {
  for (int i = 0; i < 1000; i++) {
    pthread_mutex_lock(&plain);
    n++;
    pthread_mutex_unlock(&plain);
    pthread_mutex_lock(&hashed);
    h += hash(3);
    pthread_mutex_unlock(&hashed);
  }
  return none;
}
int main(void) {
  pthread_t thread[2];
  for (int i = 0; i < 2; i++) pthread_create(&thread[i], 0, work, 0);
  for (int i = 0; i < 2; i++) pthread_join(thread[i], 0);
  printf("%ld %u\\n", n, h);
  return 0;
}
"""
FILES = {
    "inlined.h": INLINED,
    "all.h": "#include <pthread.h>\nunsigned hash(unsigned);\n",
    "hash.c": HASH,
    "main.c": MAIN,
}


def made(folder: Path, more: dict[str, str], *options: str) -> dict:
    files = FILES | more
    for name, text in files.items():
        (folder / name).write_text(text)
    place, out = folder / "done.json", folder / "out"
    names = [folder / name for name in files]
    done = transactionalize(*options, "-o", out, "--json", place, *names)
    assert done.returncode == 3, done.stderr
    return json.loads(place.read_text())


def listed(done: dict) -> dict[str, str]:
    return {f"{one['file']}: {one['what']}": one["why"] for one in done["not_done"]}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("options", [["--atomic"], ["--relaxed"], ["--stage", "max"]])
def test_a_file_without_locks_is_left_to_a_plain_compiler(tmp_path, options):
    done = made(tmp_path, {}, *options)
    why = listed(done)["hash.c: hash.c"]
    assert "without -fgnu-tm" in why and "'turned'" in why and "attribute const" in why
    assert {lock["rewritten"] for lock in done["locks"].values()} == {1}
    out = tmp_path / "out"
    assert "transaction_safe" not in (out / "all.h").read_text()
    objects = []
    for name, flags in {"hash.c": [], "main.c": ["-fgnu-tm"]}.items():
        objects.append(tmp_path / f"{name}.o")
        command = ["gcc", "-O1", "-w", *flags, "-I", ROOT / "include", "-c", out / name]
        subprocess.run([*command, "-o", objects[-1]], check=True)
    program = tmp_path / "program"
    libraries = ["-L", NATIVE / "lib", "-lsyncopate-tm", "-litm", "-pthread"]
    subprocess.run(["gcc", *objects, "-o", program, *libraries], check=True)
    x = 3 << 16
    assert subprocess.run([program], capture_output=True, text=True).stdout == (
        f"2000 {(1 + 2000 * (x ^ 3)) % 2**32}\n"
    )


@pytest.mark.sampled(2)
@pytest.mark.parametrize("options", [["--atomic"], ["--atomic", "--words", "in_file"]])
def test_locks_of_a_file_that_does_not_compile_so_stay(tmp_path, options):
    lock = """\
pthread_mutex_t in_file = PTHREAD_MUTEX_INITIALIZER;
unsigned k;
void count(void) { pthread_mutex_lock(&in_file); k += twice(k); pthread_mutex_unlock(&in_file); }
"""
    done = made(tmp_path, {"hash.c": HASH + lock}, *options)
    assert done["locks"]["in_file"]["rewritten"] == 0 and done["locks"]["plain"]["rewritten"] == 1
    why = [one for one in done["not_done"] if one["what"] == "in_file"]
    assert "does not compile with transactions: inlining failed" in why[0]["why"], why
    assert "tm_word" not in (tmp_path / "out/hash.c").read_text()
