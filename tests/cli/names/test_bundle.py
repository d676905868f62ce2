"""A bundle: a record with what its names need. On a machine that has neither the program nor its
symbols, or has another build of it, a report of it is the same."""

import json
import re
import shlex
import shutil
import subprocess
import zipfile

import pytest
from conftest import COMMAND, FORKS, compile_c, one_line, run_cli
from test_builds import build_id_of, run, split

# A lock in a variable with a member's name, one in an object, sections that call and write.
PROGRAM = """
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static struct { int size; pthread_mutex_t lock; } table = { 0, PTHREAD_MUTEX_INITIALIZER };
struct cache { long hits; pthread_mutex_t m; };
static struct cache* cache;
__attribute__((noinline)) void log_line(void) {
  pthread_mutex_lock(&table.lock);
  usleep(500);
  pthread_mutex_unlock(&table.lock);
}
__attribute__((noinline)) void look_up(struct cache* c) {
  pthread_mutex_lock(&c->m);
  c->hits++;
  usleep(1500);  // longer than under the other lock: threads wait for both
  pthread_mutex_unlock(&c->m);
}
__attribute__((noinline)) void prepare(struct cache* c) {
  c->hits = 0;
  pthread_mutex_init(&c->m, 0);
  __asm__ volatile("");
}
static void* work(void* x) {
  for (int i = 0; i < 20; i++) { log_line(); look_up(cache); }
  return x;
}
int main(void) {
  cache = malloc(sizeof *cache);
  prepare(cache);
  pthread_t t[3];
  for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, work, 0);
  for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
}
"""


@pytest.fixture
def program(tmp_path):
    (tmp_path / "there").mkdir()
    return compile_c(PROGRAM, tmp_path / "there" / "prog", "-g", "-O2", "-pthread")


@pytest.fixture
def record(program, tmp_path):
    done = run_cli("record", "-o", tmp_path / "rec", "--", program, "--password=secret")
    assert done.returncode == 0, done.stderr
    return tmp_path / "rec"


def told(file, **others) -> dict:
    """What a report says, but for the file's name."""
    done = run_cli("report", "--json", file, **others)
    assert done.returncode == 0, done.stderr
    return {**json.loads(done.stdout)["records"][0], "file": ""}


def bundle(record, *options, **others):
    target = record.with_name("packed")
    done = run_cli("report", record, "--bundle", target, *options, **others)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    return target


def has_names(results: dict) -> bool:
    text = json.dumps(results)
    return all(name in text for name in ("table.lock", "cache->m", "look_up", "usleep (<stdin>:"))


def gone(program) -> None:
    program.unlink()


def stripped(program) -> None:
    run("strip", program)


def rebuilt(program) -> None:
    compile_c(PROGRAM.replace("look_up", "wrong"), program, "-g", "-O2", "-pthread")


def replaced_by_something_else(program) -> None:
    program.write_text("no program")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("becomes", [gone, stripped, rebuilt, replaced_by_something_else])
def test_a_bundle_has_the_same_names_without_its_program(program, record, becomes):
    before = told(record)
    assert has_names(before)
    packed = bundle(record)
    assert packed.stat().st_mode & 0o777 == 0o600
    becomes(program)
    assert told(packed) == before
    alone = told(record)
    assert not has_names(alone)
    assert "wrong" not in json.dumps(alone)
    if becomes is rebuilt:
        assert any("is not the build that was recorded" in note for note in alone["notes"])


def test_separate_debug_information_goes_into_the_bundle(program, record):
    before = told(record)
    debug = split(program, link=True)
    packed = bundle(record)
    debug.unlink()
    program.unlink()
    assert told(packed) == before


def test_debug_information_alone_is_packed_where_the_program_is_gone(program, record, tmp_path):
    cache = tmp_path / "cache" / build_id_of(str(program))
    cache.mkdir(parents=True)
    debug = split(program, link=False)
    debug.rename(cache / "debuginfo")
    program.unlink()
    environ = {"DEBUGINFOD_CACHE_PATH": str(tmp_path / "cache"),
               "DEBUGINFOD_URLS": "http://127.0.0.1:1"}  # fmt: skip
    before = told(record, environ=environ)
    assert "look_up" in json.dumps(before)
    packed = bundle(record, environ=environ)
    shutil.rmtree(tmp_path / "cache")
    assert told(packed) == before


def test_several_records_in_one_bundle(tmp_path):
    program = compile_c(FORKS, tmp_path / "server", "-O2", "-g", "-pthread")
    packed = tmp_path / "packed"
    done = run_cli("record", "-o", tmp_path / "rec", "--bundle", packed, "--", program)
    assert done.returncode == 0, done.stderr
    assert f"syncopate: wrote {packed}" in done.stderr
    files = sorted(tmp_path.glob("rec*"))
    with zipfile.ZipFile(packed) as inside:
        names = inside.namelist()
    assert sum(name.startswith("records/") for name in names) == len(files) == 3
    program.unlink()
    for file in files:
        file.unlink()
    text = run_cli("report", packed).stdout
    assert text.startswith("3 processes with a record, lost to locks: ")
    assert len(re.findall(r"server .*pool_lock", text)) == 2
    assert "holds 3 records, and one is wanted" in one_line(run_cli("diff", packed, packed))


def test_a_bundle_is_a_record_to_other_commands(program, record):
    packed = bundle(record)
    program.unlink()
    done = run_cli("diff", record, packed)
    assert done.returncode == 0, done.stderr


def test_arguments_are_left_out_of_a_bundle(record):
    packed = bundle(record, "--redact")
    with zipfile.ZipFile(packed) as inside:
        raw = inside.read("records/0")
    assert b"secret" in record.read_bytes()
    assert b"secret" not in raw
    assert told(packed)["process"]["command"][1:] == ["(arguments left out)"]


@pytest.mark.long
def test_a_bundle_goes_to_devices_and_pipes_as_any_output(tmp_path, record):
    """A device says that it can be moved about in, and cannot: "record --bundle /dev/null", too."""
    done = run_cli("report", record, "--bundle", "/dev/null")
    assert (done.returncode, done.stderr) == (0, "syncopate: wrote /dev/null\n")
    command = f"{shlex.join([*COMMAND, 'report', str(record)])} --bundle /dev/stdout | cat"
    piped = subprocess.run(["sh", "-c", command], capture_output=True, check=True)
    (tmp_path / "piped").write_bytes(piped.stdout)
    of_bundle, of_record = (run_cli("report", each) for each in (tmp_path / "piped", record))
    assert of_bundle.stdout == of_record.stdout != ""


def test_what_is_wrong_with_a_bundle_is_one_line(tmp_path, record):
    def packed_as(**members: str):
        file = tmp_path / "bad"
        with zipfile.ZipFile(file, "w") as into:
            for name, text in members.items():
                into.writestr(name.replace("_", "."), text)
        return one_line(run_cli("report", file))

    listed = {"schema": "syncopate-bundle", "version": 1, "modules": []}
    assert "is a damaged bundle: its list (KeyError)" in packed_as(other="")
    assert "is a damaged bundle" in packed_as(bundle_json="[")
    assert "is a damaged bundle" in packed_as(bundle_json="[" * 100_000)
    assert "is bundle version 2 and" in packed_as(bundle_json=json.dumps({**listed, "version": 2}))
    assert "it has no record" in packed_as(bundle_json=json.dumps({**listed, "records": []}))
    for file in ("../etc/passwd", "/etc/passwd", "bundle.json", 7):
        records = [{"file": file, "name": "x"}]
        said = packed_as(bundle_json=json.dumps({**listed, "records": records}))
        assert "is a damaged bundle: its list" in said
    lacking = json.dumps({**listed, "records": [{"file": "records/0", "name": "x"}]})
    assert "it lacks records/0" in packed_as(bundle_json=lacking)
    cut = tmp_path / "cut"
    cut.write_bytes(bundle(record).read_bytes()[:-100])
    assert "is a damaged bundle" in one_line(run_cli("report", cut))
