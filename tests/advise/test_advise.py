"""`syncopate advise` on programs whose critical sections are known (known.cpp, shapes.cpp)."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from syncopate.machines.advice import Lock, verdicts

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
MACHINE = ROOT / "machines" / "haswell-4c8t.toml"
SECONDS = 300  # a loaded machine is slow
SECTIONS = 40  # of each lock of known.cpp, in turns: the first four of a thread have fewer before
PAIRS = (0 + 1 + 2 + 3 + 16 * 4) + (1 + 2 + 3 + 17 * 4)


def syncopate(*arguments, **others) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "syncopate", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        **others,
    )


@pytest.fixture(scope="module")
def known(tmp_path_factory) -> Path:
    """known.cpp, compiled."""
    program = tmp_path_factory.mktemp("known") / "known"
    source = HERE / "known.cpp"
    options = ("-std=c++20", "-O2", "-pthread")
    compiled = syncopate("c++", "--machine=simulated", *options, source, "-o", program)
    assert compiled.returncode == 0, compiled.stderr
    return program


@pytest.fixture(scope="module")
def report(known) -> Path:
    """What it is advised, as JSON."""
    path = known.parent / "known.json"
    done = syncopate("advise", "--machine", MACHINE, "--json", path, known)
    assert done.returncode == 0, done.stderr
    return path


@pytest.fixture(scope="module")
def locks(report) -> dict[str, dict]:
    return {lock["name"]: lock for lock in json.loads(report.read_text())["locks"]}


@pytest.fixture(scope="module")
def shapes() -> dict[str, dict]:
    """The locks of shapes.cpp."""
    done = syncopate("advise", "-m", MACHINE, "--json", "-", HERE / "shapes.cpp")
    assert done.returncode == 0, done.stderr
    return {lock["name"]: lock for lock in json.loads(done.stdout)["locks"]}


def place(marked: str, function: str = "run::lambda") -> str:
    """Where the line of known.cpp with this comment is."""
    lines = (HERE / "known.cpp").read_text().splitlines()
    number = next(i for i, line in enumerate(lines, 1) if line.endswith(f"// {marked}"))
    return f"{function} at known.cpp:{number}"


def advice(lock: dict) -> list[str]:
    return [each["verdict"] for each in lock["advice"]]


def test_counts_sections_and_pairs(locks):
    assert len(locks) == 5
    for lock in locks.values():
        assert (lock["threads"], lock["sections"], lock["pairs"]) == (2, SECTIONS, PAIRS)
        assert lock["taken_at"][0]["sections"] <= SECTIONS
        assert "known.cpp:" in lock["taken_at"][0]["place"]


def test_sections_that_never_conflict_would_elide(locks):
    lock = locks["apart.lock"]
    assert (lock["conflicting"], lock["sharing_lines"]) == (0, 0)
    assert lock["would_commit_share"] == 1
    assert advice(lock) == ["would elide"]
    assert lock["written_lines"] == {"median": 1, "p99": 1, "most": 1}
    assert lock["read_lines"]["median"] == 1  # the lock's


def test_one_counter_is_named(locks):
    lock = locks["counted.lock"]
    assert lock["conflicting"] == PAIRS
    assert [field["field"] for field in lock["conflicts"]] == ["counted.sum"]
    assert lock["conflicts"][0]["alone"] == PAIRS
    assert advice(lock) == ["shard on this field"]
    assert lock["advice"][0]["fields"] == ["counted.sum"]
    assert lock["advice"][0]["places"] == [place("the field")]
    assert "without it, 100.0 % would commit" in lock["advice"][0]["text"]


def test_false_sharing_names_both_fields(locks):
    lock = locks["adjacent.lock"]
    assert (lock["conflicting"], lock["sharing_lines"]) == (0, PAIRS)
    assert advice(lock) == ["false sharing"]
    assert lock["advice"][0]["fields"] == ["adjacent.left", "adjacent.right"]
    assert lock["advice"][0]["places"] == [place("the line")]


def test_elements_of_an_array_that_share_lines_are_one_case():
    """Of six pairs of neighbors each is in a sixth of the pairs of sections."""
    pairs = [(first, second) for first in range(4) for second in range(first + 1, 4)]
    where = [{"first": "f at a.c:1", "second": "f at a.c:1", "count": 100}]
    counts = {
        "name": "lock", "sections": 1000, "pairs": 600, "conflicting": 0, "sharing_lines": 600,
        "friendly": 1000, "threads": 4, "shared": 0, "calling": 0, "read_only": 0, "conflicts": [],
        "shared_lines": [
            {"first": f"slots[{one}].v", "second": f"slots[{other}].v", "pairs": 100,
             "alone": 100, "met_at": where}
            for one, other in pairs
        ],
    }  # fmt: skip
    (found,) = verdicts(Lock(counts))
    assert found.text == (
        "among slots[].v, in 100.0 % of pairs; on lines of their own, 100.0 % would commit"
    )
    assert (found.fields, found.places) == (["slots[].v"], ["f at a.c:1"])


def lock_of(**counts) -> Lock:
    """Of a thousand sections of two threads with which nothing is wrong, but for these counts."""
    sound = {
        "name": "lock", "locks": 1, "sections": 1000, "pairs": 1000, "conflicting": 0,
        "sharing_lines": 0, "friendly": 1000, "threads": 2, "shared": 0, "calling": 0,
        "too_large": 0, "read_only": 0, "conflicts": [], "shared_lines": [], "calls": [],
        "taken_at": [], "meetings_left_out": 0, "written_lines": {"median": 1, "p99": 2},
    }  # fmt: skip
    return Lock({**sound, **counts})


def field_in(pairs: int, alone: int) -> dict:
    return {"field": "total", "pairs": pairs, "alone": alone, "met_at": []}


CALLS = [{"function": "write", "place": "f at a.c:1", "count": 200}]


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        (
            {"calling": 200, "too_large": 200, "friendly": 600, "calls": CALLS},
            "60.0 % of its sections would commit: 20.0 % of its sections call write; 20.0 % of its"
            " sections exceed what a transaction holds",
        ),
        (
            {"calling": 290, "friendly": 710, "calls": CALLS, "conflicting": 50,
             "sharing_lines": 50, "conflicts": [field_in(50, 50)]},
            "63.9 % of its sections would commit: 29.0 % of its sections call write; 5.0 % of pairs"
            " conflict, on total; 5.0 % of pairs only share lines",
        ),
        (
            {"conflicting": 900, "conflicts": [field_in(10, 0)], "meetings_left_out": 5000},
            "90.0 % of pairs conflict, on total; the fields of 5,000 meetings are not known",
        ),
        (
            {"conflicting": 900, "meetings_left_out": 1},
            "90.0 % of pairs conflict; the fields of 1 meeting are not known",
        ),
        (
            {"conflicting": 900, "conflicts": [field_in(400, 300)]},
            "90.0 % of pairs conflict, on total: no single field explains them",
        ),
        ({"pairs": 0}, "no section of two threads was compared: too much lay between them"),
        (
            {"pairs": 0, "locks": 2},
            "no section of two threads was compared: each of its locks may be one thread's",
        ),
        ({"shared": 1000}, "its sections take it shared, and already run together"),
    ],
)  # fmt: skip
def test_what_is_left_says_what_is_in_the_way(counts, said):
    """One field, however few pairs conflict; calls and sizes, where no pair does."""
    (found,) = verdicts(lock_of(**counts))
    assert (found.verdict, found.text) == ("leave it", said)


def test_sections_that_were_not_watched_are_told_of_where_no_lock_is_shown(tmp_path):
    empty = tmp_path / "sections.json"
    empty.write_text(
        '{"schema": "syncopate-sections-report", "version": 1, "machine": "m", "line_bytes": 64,'
        ' "l1_bytes": 32768, "sections_not_watched": 3, "locks": []}'
    )
    done = syncopate("advise", "--lock", "nowhere", empty)
    assert "3 sections of further locks were not watched" in done.stdout, done.stderr


def test_calls_are_named(locks):
    lock = locks["logged.lock"]
    assert lock["calling"] == SECTIONS
    assert lock["friendly"] == 0
    calls = {each["function"]: each for each in lock["calls"]}
    assert set(calls) == {"write", "puts"}
    assert calls["write"]["count"] == SECTIONS
    assert calls["puts"]["count"] == 2
    assert calls["write"]["place"] == place("the call")
    assert advice(lock) == ["leave it"]
    assert "call write, puts" in lock["advice"][0]["text"]


def test_read_mostly(locks):
    lock = locks["settings.lock"]
    assert lock["read_only"] == SECTIONS - 4
    # Section i of a thread is compared with sections i-4 to i-1 of the other one, or i-3 to i.
    writes = (9, 19)
    pairs = [(a, b) for a in range(20) for b in range(20) if -3 <= a - b <= 4]
    assert len(pairs) == PAIRS
    assert lock["conflicting"] == sum(a in writes or b in writes for a, b in pairs)
    assert advice(lock) == ["would elide", "read mostly: a reader-writer lock"]
    assert lock["advice"][1]["places"][0] == place("the write")


def test_locks_of_one_origin_are_one(shapes):
    lock = next(lock for name, lock in shapes.items() if "allocated in make_bucket" in name)
    assert lock["locks"] == 2
    assert lock["sections"] == 40
    assert lock["conflicting"] == lock["pairs"]
    (field,) = lock["conflicts"]
    assert field["field"] == lock["name"] + "+64"
    assert field["pairs"] == lock["pairs"]


def test_outer_sections_have_what_inner_ones_do(shapes):
    for name in ("outer_lock", "inner_lock"):
        assert [each["field"] for each in shapes[name]["conflicts"]] == ["inner_count"]
        assert shapes[name]["sections"] == 20
        assert shapes[name]["calls"] == []


def test_blocks_that_later_sections_allocate_are_no_conflict(shapes):
    lock = shapes["queue_lock"]
    assert lock["sections"] >= 20  # more when the condition was waited for
    assert [each["field"] for each in lock["conflicts"]] == ["queue_first"]


def test_what_is_the_threads_own_is_written_but_not_shared(shapes):
    lock = shapes["own_lock"]
    assert lock["written_lines"]["median"] == 1
    assert (lock["read_only"], lock["conflicting"], lock["sharing_lines"]) == (20, 0, 0)
    assert advice(lock) == ["would elide", "read mostly: a reader-writer lock"]
    assert lock["advice"][1]["text"] == "100.0 % of its sections write nothing shared"


def test_what_is_left(shapes):
    readers = shapes["read_lock"]
    assert (readers["shared"], readers["conflicting"]) == (20, 0)
    large = shapes["large_lock"]
    assert large["too_large"] == large["sections"] == 4
    assert large["written_lines"]["median"] == 1024
    assert shapes["lonely_lock"]["threads"] == 1
    for lock in (readers, large, shapes["lonely_lock"]):
        assert advice(lock) == ["leave it"]
    assert "exceed what a transaction holds" in large["advice"][0]["text"]


def test_text(report):
    done = syncopate("advise", report)
    assert done.returncode == 0
    text = " ".join(done.stdout.split())
    assert "adjacent.lock: false sharing between adjacent.left and adjacent.right" in text
    assert "counted.lock: shard on this field: counted.sum" in text
    assert "take_turns at known.cpp:" in text
    one = syncopate("advise", "--top", 1, "--lock", "^s|^l", report).stdout
    assert "logged.lock" in one
    assert "settings.lock" not in one
    assert "1 more lock;" in one


def test_the_simulation_is_the_same(known, tmp_path):
    environ = {**os.environ, "SYNCOPATE_MACHINE": str(MACHINE)}

    def run(**more) -> str:
        done = subprocess.run(
            [known], env={**environ, **more}, capture_output=True, text=True, timeout=SECONDS
        )
        return done.stderr

    plain = run()
    assert "simulated time: " in plain
    assert run(SYNCOPATE_SECTIONS=str(tmp_path / "sections.json")) == plain
    assert (tmp_path / "sections.json").exists()


def test_a_name_that_nothing_has(known):
    done = syncopate("advise", "--lock", "nowhere", known)
    assert done.stdout.splitlines()[-1:] == ["No lock has a name that matches 'nowhere'."]


def test_status_is_the_programs(known):
    done = syncopate("advise", "--json", "-", known, "fail")
    assert done.returncode == 7
    assert json.loads(done.stdout)["locks"]
    assert done.stderr.splitlines() == ["begun", "begun", "40"]


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        ([], 2, "no program named"),
        (["--top", "0", "x"], 2, "whole number above 0"),
        (["--top", "\u00b2", "x"], 2, "whole number above 0"),
        (["--lock", "(", "x"], 2, "no regular expression"),
        (["--machines", "x"], 2, "did you mean --machine"),
        (["/nonexistent"], 127, "no such file"),
        (["/nonexistent.json"], 2, "No such file"),
        (["/bin/true"], 2, "was not compiled for the simulated machine"),
        ([ROOT / "CMakePresets.json"], 2, "no report of critical sections"),
        (["-m", "haswell-4c8t", ROOT / "CMakePresets.json"], 2, "does not go with a report"),
    ],
)
def test_bad_use(arguments, status, said):
    done = syncopate("advise", *arguments)
    assert done.returncode == status
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("machine", "none"),
    [("haswell-4c8t", False), ("epyc-9754-2s", True), ("./epyc-9754-2s.toml", True)],
)
def test_a_machine_without_transactions_is_told(known, machine, none):
    """There nothing commits, however few conflicts there are."""
    done = syncopate("advise", "-m", machine, known, cwd=ROOT / "machines")
    assert done.returncode == 0, done.stderr
    assert (" has no transactions: what would commit" in done.stdout) == none


def test_a_bad_machine_file_is_said_once(known, tmp_path):
    machine = tmp_path / "bad.toml"
    machine.write_text("x = [")
    done = syncopate("advise", "-m", machine, known)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1 and "bad.toml:1" in done.stderr


ENDS_AT_ONCE = """
#include <sys/syscall.h>
int main() { asm volatile("syscall" ::"a"(SYS_exit_group), "D"(2)); }
"""


def test_a_program_that_ends_without_a_report(tmp_path):
    source = tmp_path / "program.cpp"
    source.write_text(ENDS_AT_ONCE)
    done = syncopate("advise", source)
    assert (done.returncode, done.stdout) == (2, "")
    assert "it ended without a report, with status 2; was it killed" in done.stderr


def test_reports_of_other_versions_are_refused(report, tmp_path):
    other = tmp_path / "other.json"
    other.write_text(json.dumps({**json.loads(report.read_text()), "version": 99}))
    done = syncopate("advise", other)
    assert done.returncode == 2
    assert "version 99" in done.stderr


def test_help():
    done = syncopate("advise", "--help")
    assert done.returncode == 0
    assert done.stdout.startswith("usage: syncopate advise")
    assert "advise " in syncopate("--help").stdout
