"""Locks as words that transactions take and give back."""

import re

from rewriting import PROGRAMS, rewrite, run, run_rewritten, transactionalize


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
    offered = offered_words(program)
    assert offered == "^(item_locks|list_lock|maintenance_lock)$"
    assert transactionalize("--words", offered, *program).returncode == 0


def offered_words(program: list) -> str:
    said = transactionalize(*program).stderr.splitlines()[-1]
    return re.fullmatch(r"These can be words: --words '(.*)'", said)[1]


def test_only_what_can_be_a_word_is_offered(tmp_path):
    """Not what is recursive or checks, has time limits, or shares a pointer with such a one; nor is
    that a word when it is asked for, and a pointer to it takes it as what it is."""
    program = [PROGRAMS / "offered.c", "--", "-I", PROGRAMS]
    assert offered_words(program) == "^(adaptive|one|other|plain)$"
    done = rewrite(tmp_path, ["offered.c"], "--words", ".", status=3)
    words = {name for name, lock in done["locks"].items() if lock["word"]}
    assert words == {"adaptive", "one", "other", "plain", "?i%3?&one:&other"}
    assert not words & {entry["what"] for entry in done["not_done"]}
    text = (tmp_path / "out/offered.c").read_text()
    assert "take_which(i % 2 ? &timed : &or_timed)" in text
    expected = run(PROGRAMS, ["offered.c"], tmp_path / "locked")
    assert run_rewritten(tmp_path / "out", ["offered.c"], tmp_path / "rewritten") == expected


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
