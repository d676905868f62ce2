"""Several processes in one view: a program that forks, and records that are in no order."""

import json
import re

import pytest
from conftest import FORKS, compile_c, run_cli, with_pool
from make_record import RecordBuilder

from syncopate.base import paths
from syncopate.launch import kernelview
from syncopate.records.processes import in_order

WHY_NOT = kernelview.obstacle()
needs_kernel = pytest.mark.skipif(WHY_NOT is not None, reason=f"no kernel's view here: {WHY_NOT}")

# Its children end in all ways that run no destructors, a borrowed one within its parent's memory.
ENDS = with_pool(
    r"""
static void child(int i) {
  two_threads();
  if (i == 0) _exit(0);
  if (i == 1) _Exit(0);
  if (i == 2) quick_exit(0);
  syscall(SYS_exit_group, 0);
}
int main(void) {
  for (int i = 0; i < 4; i++)
    if (fork() == 0) child(i);
  if (vfork() == 0) _exit(0);
  two_threads();
  while (wait(0) > 0) {}
  _exit(0);
}
""",
    times=10,
    held=1000,
)


# Each child becomes another program in one way, the last one after having failed to; in each, two
# threads have taken the lock by then, and one still waits at a condition.
BECOMES = with_pool(
    r"""
static pthread_mutex_t other_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static void* waits(void* x) {
  pthread_mutex_lock(&other_lock);
  for (;;) pthread_cond_wait(&never, &other_lock);
  return x;
}
static const char* const path = "/bin/true";
static char *words[] = {"true", "a", 0}, *environment[] = {0};
#define TEN "1", "2", "3", "4", "5", "6", "7", "8", "9", "10"
static void become(int how) {
  switch (how) {
    case 0: execl(path, "true", "a", (char*)0); break;
    case 1: execlp("true", "true", TEN, TEN, TEN, TEN, (char*)0); break;
    case 2: execle(path, "true", "a", (char*)0, environment); break;
    case 3: execv(path, words); break;
    case 4: execve(path, words, environment); break;
    case 5: execvp("true", words); break;
    case 6: execvpe("true", words, environment); break;
    case 7: fexecve(open(path, O_RDONLY), words, environment); break;
    case 8: execveat(AT_FDCWD, path, words, environment, 0); break;
    case 9: syscall(SYS_execve, path, words, environment); break;
  }
}
static void fail(void) {
  if (execv("/nowhere", words) == 0 || execl("/nowhere", "a", (char*)0) == 0) _exit(9);
}
int main(void) {
  for (int how = 0; how <= 10; how++) {
    if (fork() != 0) continue;
    pthread_t waiting;
    pthread_create(&waiting, 0, waits, 0);
    two_threads();
    if (how == 10) {
      fail();
      two_threads();
      fail();
      two_threads();
      _exit(0);
    }
    become(how);
    _exit(9);
  }
  int status, wrong = 0;
  while (wait(&status) > 0) wrong += status != 0;
  if (vfork() == 0) {
    execv("/nowhere", words);
    execv(path, words);
  }
  wait(&status);
  two_threads();
  return wrong + (status != 0);
}
""",
    times=10,
    held=1000,
)


def process(number: int, parent: int) -> dict:
    return {"process": {"id": number, "parent_id": parent}}


def order(*pairs: tuple[int, int]) -> list[tuple[int, int]]:
    records = [process(*pair) for pair in pairs]
    return [(depth, each["process"]["id"]) for depth, each in in_order(records)]


def test_a_program_that_forks_is_one_view(tmp_path):
    program = compile_c(FORKS, tmp_path / "server", "-O2", "-g", "-pthread")
    record = tmp_path / "rec"
    assert run_cli("record", "-o", record, "--", program).returncode == 0
    files = sorted(tmp_path.glob("rec*"))
    assert len(files) == 3
    done = run_cli("report", *reversed(files), environ={"COLUMNS": "150"})
    assert done.returncode == 0, done.stderr
    first = done.stdout[: done.stdout.index("\n\n")]
    together = done.stdout.partition("The same locks in several processes")[2]
    assert re.search(r"^pool_lock +each its own +2 +\S+ \S+ +[\d.]+ % +8\d\s*$", together, re.M), (
        together
    )
    assert first.startswith("3 processes with a record, lost to locks: ")
    parent, *children = re.findall(r"^( *)(\S*server) .*?(\S+) *$", first, re.M)
    assert (parent[0], parent[2]) == ("", "-")
    assert [(child[0], child[2]) for child in children] == [("  ", "pool_lock")] * 2


QUIET = with_pool(
    r"""
#include <stdio.h>
int main(void) {
  two_threads();
  for (int i = 0; i < 5; i++) {
    if (fork() != 0) continue;
    if (i == 0) two_threads();
    if (i == 1) execl("/bin/true", "true", (char*)0);
    if (i == 2) execl("/no/such/program", "none", (char*)0);
    if (i == 3 && fork() == 0) _exit(0);
    for (int programs = 0; i == 4 && programs < 3; programs++) {
      const pid_t other = vfork();
      if (other == 0) execl("/bin/true", "true", (char*)0);
      waitpid(other, 0, 0);
    }
    _exit(0);
  }
  while (wait(0) > 0) {}
  return 0;
}
""",
    times=10,
    held=1000,
)


def test_children_that_never_wait_are_counted(tmp_path):
    """Theirs, too, and those that failed to become another program, or had others started (by
    vfork); not what has a record."""
    program = compile_c(QUIET, tmp_path / "server", "-O2", "-pthread")
    assert run_cli("record", "-q", "-o", tmp_path / "rec", "--", program).returncode == 0
    files = sorted(tmp_path.glob("rec*"))
    told = json.loads(run_cli("report", "--json", *files).stdout)
    quiet = {each["process"]["command"][0]: each["process"]["quiet_children"]
             for each in told["records"] if each["process"]["quiet_children"]}  # fmt: skip
    # The third and the fourth child and that one's child, and the last; the first waited.
    assert quiet == {str(program): 4}
    assert told["processes"]["quiet"] == 4
    text = run_cli("report", *files, environ={"COLUMNS": "200"}).stdout
    assert "with a record (4 more, forked, came to nothing that is recorded), lost" in text
    assert "note: 4 forked processes came to nothing that is recorded, as waits, and so" in text


YIELDS = r"""
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>
static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static void take(pthread_mutex_t* m) {
  pthread_mutex_lock(m);
  pthread_mutex_unlock(m);
}
__attribute__((noinline)) static void wait_politely(int times) {
  while (times--) sched_yield();
}
int main(void) {
  wait_politely(10);
  if (fork() == 0) {
    take(&first);
    take(&second);
    wait_politely(100);
    return 0;
  }
  wait(0);
  return 0;
}
"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("compiler", ["gcc -O2", "gcc -O3", "clang -O2"])
def test_a_childs_yields_are_where_it_yields(tmp_path, compiler):
    """At a place that its parent knew by a number of its own."""
    name, level = compiler.split()
    program = compile_c(YIELDS, tmp_path / "yields", level, "-pthread", compiler=name)
    assert run_cli("record", "-q", "-o", tmp_path / "rec", "--", program).returncode == 0
    (child,) = tmp_path.glob("rec.*")
    for file, times in ((tmp_path / "rec", 10), (child, 100)):
        (record,) = json.loads(run_cli("report", "--json", file).stdout)["records"]
        yields = {lock["object"]: lock["waits"]["yield"]["count"]
                  for lock in record["locks"] if "yield" in lock["waits"]}  # fmt: skip
        assert yields == {"yield": times}


def test_children_that_could_make_no_record_are_named(tmp_path):
    """As workers that change their user, where that may not write."""
    (tmp_path / "here").mkdir()
    moves = FORKS.replace("int main(void) {", 'int main(void) {\n  rename("here", "there");')
    moves = moves.replace("(wait(0) > 0) {}", '(wait(0) > 0) {}\n  rename("there", "here");')
    forks = compile_c("#include <stdio.h>" + moves, tmp_path / "forks", "-pthread")
    done = run_cli("record", "-o", "here/f.rec", "--", forks, cwd=tmp_path)
    why = "2 forked processes have no record: No such file or directory"
    assert f"recorded in here/f.rec, but {why}; to read it" in done.stderr
    report = run_cli("report", "here/f.rec", cwd=tmp_path, environ={"COLUMNS": "200"})
    assert f"note: {why}; name a file (-o) where these may" in report.stdout


def test_processes_that_run_no_destructors_tell_all(tmp_path):
    program = compile_c(ENDS, tmp_path / "server", "-O2", "-g", "-pthread")
    assert run_cli("record", "-o", tmp_path / "rec", "--", program).returncode == 0
    files = sorted(tmp_path.glob("rec*"))
    records = json.loads(run_cli("report", "--json", *files).stdout)["records"]
    assert len(records) == 5
    for each in records:
        (lock,) = [lock for lock in each["locks"] if lock["called"] == "pool_lock"]
        account = each["account"]
        assert each["process"]["finished"], each["process"]
        assert (lock["acquisitions"], account["why_unexplained"]) == (20, None)
        assert sum(account["parts"].values()) == account["total_ns"] + account["too_much_ns"]


def test_processes_that_become_other_programs_tell_all(tmp_path):
    program = compile_c(BECOMES, tmp_path / "server", "-O1", "-g", "-pthread", "-w")
    done = run_cli("record", "-o", tmp_path / "rec", "--", program)
    assert done.returncode == 0, done.stderr
    files = [file for file in tmp_path.glob("rec*") if not re.search(r"\.\d+\.1$", file.name)]
    records = json.loads(run_cli("report", "--json", *sorted(files)).stdout)["records"]
    ours = [each for each in records if each["process"]["executable"].endswith("server")]
    assert len(ours) == 12
    ended = sorted(each["process"]["finished"] for each in ours)
    assert ended == [False] * 10 + [True] * 2
    for each in ours:
        (lock,) = [lock for lock in each["locks"] if lock["called"] == "pool_lock"]
        account, notes = each["account"], each["notes"]
        is_last = lock["acquisitions"] == 60
        assert lock["acquisitions"] == 20 or (is_last and each["process"]["finished"])
        assert account["why_unexplained"] is None, account
        assert sum(account["parts"].values()) == account["total_ns"] + account["too_much_ns"]
        assert any(note.startswith("the program became another one by exec") for note in notes) == (
            not each["process"]["finished"]
        ), notes
        assert not any("may lag" in note for note in notes)


def test_parents_come_before_their_children():
    assert order((3, 2), (2, 1), (1, 0)) == [(0, 1), (1, 2), (2, 3)]
    assert order((5, 1), (1, 0), (4, 1)) == [(0, 1), (1, 5), (1, 4)]
    assert order((7, 9), (8, 9)) == [(0, 7), (0, 8)]


def test_every_record_is_shown_once():
    assert order((1, 2), (2, 1)) == [(0, 1), (0, 2)]
    assert order((1, 1)) == [(0, 1)]


def test_children_of_what_became_another_program_stand_below_the_last():
    """Where others stand between the records of one process, too: which one forked them is not
    told, and the last is mostly the program itself, after shells that began it."""
    assert order((1, 0), (1, 0), (2, 1)) == [(0, 1), (0, 1), (1, 2)]
    assert order((1, 0), (2, 1), (3, 0), (1, 0), (2, 1)) == [
        (0, 1), (0, 1), (1, 2), (1, 2), (0, 3),
    ]  # fmt: skip


def test_of_a_process_that_has_told_nothing_no_time_is_said(tmp_path):
    """Of a child that was killed before it waited, not even how long it ran is known."""
    known = RecordBuilder(0, 5_000_000).write(tmp_path / "a")
    unknown = RecordBuilder(0, 0).write(tmp_path / "b")
    text = run_cli("report", known, unknown, environ={"COLUMNS": "150"}).stdout
    assert re.findall(r"^\S.* 4242 +0 +(\S+|\d\S+ ms) +0 ns", text, re.M) == ["5.00 ms", "-"], text


def test_one_view_in_json(tmp_path):
    program = compile_c(FORKS, tmp_path / "server", "-O2", "-g", "-pthread")
    record = tmp_path / "rec"
    assert run_cli("record", "-o", record, "--", program).returncode == 0
    files = sorted(tmp_path.glob("rec*"), reverse=True)
    told = json.loads(run_cli("report", "--json", *files).stdout)
    view, records = told["processes"], told["records"]
    parent, *children = view["tree"]
    assert (parent["depth"], parent["worst"]) == (0, None)
    assert [(each["depth"], each["worst"]) for each in children] == [(1, "pool_lock")] * 2
    for each in view["tree"]:
        assert records[each["record"]]["process"]["id"] == each["id"]
    (lock,) = view["locks"]
    assert (lock["called"], lock["processes"], lock["members"]) == ("pool_lock", 2, 2)
    assert lock["lost_ns"] == view["lost_ns"] == sum(each["lost_ns"] for each in records)
    assert view["lost_share"] == lock["lost_share"] > 0


def test_names_of_many_processes_are_asked_of_one_tool(tmp_path):
    """They have the same files: a tool for each would read these again for each."""
    tool = paths.require(paths.NAMES_TOOL)
    program = compile_c(FORKS, tmp_path / "server", "-O2", "-g", "-pthread")
    assert run_cli("record", "-o", tmp_path / "rec", "--", program).returncode == 0
    native = tmp_path / "native"
    (native / "bin").mkdir(parents=True)
    instead = native / paths.NAMES_TOOL
    instead.write_text(f'#!/bin/sh\necho x >> {tmp_path}/started\nexec "{tool}" "$@"\n')
    instead.chmod(0o755)
    files = sorted(tmp_path.glob("rec*"))
    done = run_cli("report", *files, environ={"SYNCOPATE_NATIVE": str(native)})
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "started").read_text() == "x\n"


# Three children: of one the parent goes on; the others are taken in by another process before they
# wait for a lock, as daemons are, one of them from a parent that recorded nothing.
ORPHANS = with_pool(
    r"""
static int orphan(const char* name, pid_t parent) {
  alarm(30);
  while (parent != 0 && getppid() == parent) usleep(1000);
  two_threads();
  int ended = open(name, O_CREAT | O_WRONLY, 0600);
  return ended < 0;
}
int main(void) {
  alarm(30);
  two_threads();
  if (fork() == 0) return orphan("child", 0);
  if (fork() == 0) {
    pid_t self = getpid();
    if (fork() == 0) return orphan("orphan_of_quiet", self);
    _exit(0);
  }
  if (fork() == 0) {
    two_threads();
    pid_t self = getpid();
    if (fork() == 0) return orphan("orphan", self);
    return 0;
  }
  while (wait(0) > 0) {}
  while (access("orphan", F_OK) || access("orphan_of_quiet", F_OK)) usleep(1000);
  usleep(300 * 1000);
  return 0;
}
""",
    times=10,
    held=1000,
)


def test_processes_that_outlive_their_parents_stand_below_them(tmp_path):
    program = compile_c(ORPHANS, tmp_path / "server", "-g", "-pthread")
    assert run_cli("record", "-o", "r", "--", program, cwd=tmp_path).returncode == 0
    records = sorted(tmp_path.glob("r*"))
    assert len(records) == 5
    view = json.loads(run_cli("report", "--json", *records).stdout)["processes"]
    assert [each["depth"] for each in view["tree"]] in (
        [0, 1, 1, 1, 2],
        [0, 1, 1, 2, 1],
        [0, 1, 2, 1, 1],
    )
