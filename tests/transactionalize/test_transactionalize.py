"""Programs with locks, rewritten, compiled with -fgnu-tm and run: they count what they did."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PROGRAMS = HERE / "programs"
NATIVE = Path(os.environ.get("SYNCOPATE_NATIVE", ROOT / "build"))
SECONDS = 100


def transactionalize(*arguments, environ=None) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "syncopate", "transactionalize", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT), **(environ or {})},
        capture_output=True, text=True, timeout=SECONDS,
    )  # fmt: skip


def run(folder: Path, sources: list[str], program: Path, *flags: str) -> str:
    """Compiles, runs, and returns what the program prints."""
    files = [folder / source for source in sources]
    subprocess.run(
        ["gcc", "-O1", "-w", "-I", PROGRAMS, *files, "-o", program, "-pthread", *flags], check=True
    )
    done = subprocess.run([program], capture_output=True, text=True, timeout=SECONDS, check=True)
    return done.stdout


def run_rewritten(folder: Path, sources: list[str], program: Path) -> str:
    return run(
        folder, sources, program, "-fgnu-tm", "-I", str(ROOT / "include"),
        "-L", str(NATIVE / "lib"), "-lsyncopate-tm", "-litm",
    )  # fmt: skip


def rewrite(tmp_path: Path, names: list[str], *kind: str, status: int = 0) -> dict:
    """Rewrites programs to tmp_path/out; returns the JSON of what was done."""
    done = transactionalize(
        *kind, "-o", tmp_path / "out", "--json", tmp_path / "done.json",
        *(PROGRAMS / name for name in names),
    )  # fmt: skip
    assert done.returncode == status, done.stderr
    return json.loads((tmp_path / "done.json").read_text())


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("early_exits", "--atomic"),
        ("trylock", "--atomic"),
        ("maintenance", "--relaxed"),
        ("wrappers", "--atomic"),
        ("wrappers", "--relaxed"),
    ],
)
def test_rewritten_programs_count_alike(tmp_path, name, kind):
    files = ["wrappers.c", "account.c", "account.h"] if name == "wrappers" else [f"{name}.c"]
    sources = [file for file in files if file.endswith(".c")]
    done = rewrite(tmp_path, files, kind)
    for lock in done["locks"].values():
        assert lock["rewritten"] == lock["sections"] > 0
        assert lock["atomic"] == (lock["rewritten"] if kind == "--atomic" else 0)
    for source in sources:
        assert "pthread_mutex_trylock" not in (tmp_path / "out" / source).read_text()
    expected = run(PROGRAMS, sources, tmp_path / "locked")
    assert run_rewritten(tmp_path / "out", sources, tmp_path / "rewritten") == expected


def test_words(tmp_path):
    done = rewrite(tmp_path, ["words.c"], "--atomic")
    assert done["locks"]["guard"] == {
        "sections": 2, "rewritten": 2, "atomic": 2, "word": False,
    }  # fmt: skip
    text = (tmp_path / "out/words.c").read_text()
    assert "volatile int" not in text
    assert "__sync" not in text
    expected = run(PROGRAMS, ["words.c"], tmp_path / "locked")
    assert run_rewritten(tmp_path / "out", ["words.c"], tmp_path / "rewritten") == expected


def test_locks_as_words(tmp_path):
    """Item locks that a transaction tries, and a wait in the middle of a loop."""
    name = "word_locks.c"
    done = rewrite(tmp_path, [name], "--atomic", "--words", "^(item_locks|maintenance_lock)$")
    assert done["locks"]["list_lock"] == {
        "sections": 1, "rewritten": 1, "atomic": 1, "word": False,
    }  # fmt: skip
    assert [done["locks"][lock]["word"] for lock in ("item_locks", "maintenance_lock")] == [
        True
    ] * 2
    text = (tmp_path / "out" / name).read_text()
    assert not re.search(r"pthread_(mutex_(lock|unlock|trylock)|cond_)", text)
    assert "tm_word_wait(&maintenance_wanted, &maintenance_lock)" in text
    expected = run(PROGRAMS, [name], tmp_path / "locked")
    assert run_rewritten(tmp_path / "out", [name], tmp_path / "rewritten") == expected


def test_words_are_offered():
    """What is offered is what makes all three locks of the program no mutexes."""
    program = [PROGRAMS / "word_locks.c", "--", "-I", PROGRAMS]
    said = transactionalize(*program).stderr.splitlines()[-1]
    offered = re.fullmatch(r"These may be words: --words '(.*)'", said)[1]
    assert offered == "^(item_locks|list_lock|maintenance_lock)$"
    assert transactionalize("--words", offered, *program).returncode == 0


def test_without_words_these_locks_stay(tmp_path):
    done = rewrite(tmp_path, ["word_locks.c"], "--atomic", status=3)
    assert not any(lock["rewritten"] for lock in done["locks"].values())
    reasons = {(entry["what"], entry["why"]) for entry in done["not_done"]}
    held = "the function returns with the lock held (line "
    assert any(what == "item_locks" and why.startswith(held) for what, why in reasons)
    assert ("list_lock", "waits for a lock that stays") in reasons


def test_a_timed_wait_keeps_a_word_from_being_one(tmp_path):
    copy = tmp_path / "timed.c"
    copy.write_text(
        (PROGRAMS / "word_locks.c").read_text().replace(
            "pthread_cond_wait(&maintenance_wanted, &maintenance_lock)",
            "pthread_cond_timedwait(&maintenance_wanted, &maintenance_lock, &(struct timespec){0})",
        )
    )  # fmt: skip
    done = transactionalize("--words", "maintenance", "--lock", "main", copy, "--", "-I", PROGRAMS)
    assert done.returncode == 3
    assert "maintenance_lock: cannot be a word: a wait with a time limit" in done.stderr


def test_what_cannot_be_done_is_listed(tmp_path):
    done = rewrite(tmp_path, ["refused.c"], "--atomic", status=3)
    lines = (PROGRAMS / "refused.c").read_text().splitlines()
    expected = {
        n: m[1] for n, line in enumerate(lines, 1) if (m := re.search(r"// NOT: (.*)", line))
    }
    found = {entry["line"]: entry for entry in done["not_done"]}
    for line, why in expected.items():
        assert why in found[line]["why"], (line, found[line])
    unexpected = {n: entry["why"] for n, entry in found.items() if n not in expected}
    assert all("volatile" in why for why in unexpected.values()), unexpected
    speaks = next(e for e in done["not_done"] if "fprintf" in e["why"])
    assert [step.split(" at ")[0] for step in speaks["chain"]] == ["log_value", "say", "fprintf"]
    blocks = next(e for e in done["not_done"] if "a lock that stays" in e["why"])
    assert [step.split(" at ")[0] for step in blocks["chain"]][-1] == "pthread_mutex_lock"
    assert done["locks"]["prints"]["rewritten"] == 1
    assert done["locks"]["held"]["rewritten"] == 0
    printed = run_rewritten(tmp_path / "out", ["refused.c"], tmp_path / "rewritten")
    assert printed == run(PROGRAMS, ["refused.c"], tmp_path / "locked")


def test_diff_is_the_default_and_files_stay(tmp_path):
    copy = Path(shutil.copy(PROGRAMS / "early_exits.c", tmp_path))
    before = copy.read_text()
    done = transactionalize("--atomic", copy, "--", "-I", PROGRAMS)
    assert done.returncode == 0, done.stderr
    assert copy.read_text() == before
    assert done.stdout.startswith("--- a/early_exits.c")
    assert "+  long seen; __transaction_atomic {" in done.stdout


def test_a_lock_that_was_not_asked_for(tmp_path):
    done = transactionalize("--lock", "^guard$", PROGRAMS / "early_exits.c")
    # `inner` stays, and so `guard`, whose section waits for it, has to.
    assert done.returncode == 3
    assert done.stdout == ""
    assert "early_exits.c:12: guard: waits for a lock that stays" in done.stderr


def test_in_place(tmp_path):
    copy = Path(shutil.copy(PROGRAMS / "trylock.c", tmp_path))
    done = transactionalize("--in-place", copy, "--", "-I", PROGRAMS)
    assert done.returncode == 0, done.stderr
    assert copy.read_text().count("__transaction_relaxed {") == 7


def one_line(done: subprocess.CompletedProcess) -> str:
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1, done.stderr
    return done.stderr


def test_missing_spatch_names_the_package(tmp_path):
    done = transactionalize(PROGRAMS / "trylock.c", environ={"PATH": str(tmp_path)})
    assert done.returncode == 127
    assert "coccinelle" in one_line(done)


def test_mistakes(tmp_path):
    assert transactionalize("--help").returncode == 0
    assert transactionalize("--lock", "(", "x.c").returncode == 2
    assert "--words" in one_line(transactionalize("--words", "(", "x.c"))
    missing = transactionalize(tmp_path / "absent.c")
    assert missing.returncode == 1
    assert "absent.c" in one_line(missing)
    broken = tmp_path / "broken.c"
    broken.write_text('#include "nowhere.h"\nint x;\n')
    done = transactionalize(broken)
    assert done.returncode == 1
    assert "broken.c:1: nowhere.h" in one_line(done)
    assert "after --" in done.stderr
