"""Locks that become words, which small transactions take and give back: the paper's answer where a
section is no block (syncopate/tm/word_lock.h). Their sections stay outside of transactions, but
transactions may try them, and the conditions that are waited for under them can be tm_cond."""

from __future__ import annotations

import re

from syncopate.transactionalize import conditions, lockcalls, locks
from syncopate.transactionalize.ctext import CText, Edits

_NAMES = {
    lockcalls.LOCK: "tm_word_acquire",
    lockcalls.UNLOCK: "tm_word_release",
    lockcalls.TRYLOCK: "tm_word_trylock",
}


def choose(plan, program, wanted, everywhere: list[locks.Operation]) -> None:
    """Sets the plan's words. A lock that cannot be one stays a lock, with the reason."""
    keys = {op.key for op in everywhere if wanted.as_word(op.key) and not _is_pointer(op.key)}
    unknown = [op for op in everywhere if op.key.startswith("?")]
    for key in sorted(keys):
        if key in plan.kept:
            continue
        why = _refusal(key, plan, program, unknown)
        if why:
            op = next(op for op in everywhere if op.key == key)
            plan.keep(key, op.text.path, op.line, f"cannot be a word: {why}")
        else:
            plan.words.add(key)
    plan.word_operations = [op for op in everywhere if plan.is_word(op) and op.call in _NAMES]


def _is_pointer(key: str) -> bool:
    """Whether a name stands for whatever a pointer means, not for a lock."""
    return key.startswith("?") and not key.startswith("?.")


def settle(plan) -> None:
    """A pointer that may mean one of several locks leaves them all as they are, or all words."""
    known = None
    while known != plan.words:
        known = set(plan.words)
        for op in plan.pointed:
            if not plan.is_word(op):
                plan.words -= op.may
                for key in op.may:
                    plan.keep(key, op.text.path, op.line, "a pointer may mean it, or another lock")
    plan.word_operations = [op for op in plan.word_operations if plan.is_word(op)]


def _refusal(key: str, plan, program, unknown: list[locks.Operation]) -> str | None:
    """Why a lock cannot be a word, or None."""
    for op in unknown:
        if op.may:
            continue  # known to be one of these; the plan looks whether all are words
        same = op.key.rsplit(".", 1)[-1] == key.rsplit(".", 1)[-1]
        if not op.key.startswith("?.") or same:
            return f"a pointer may mean it at {op.text.path}:{op.line}"
    for text, at, names in locks.no_mutexes(program.texts):
        if locks.is_among(key, names):
            return f"it is no mutex ({text.path}:{text.line(at)})"
    for text, at, names in locks.counting_or_checking(program.texts):
        if locks.is_among(key, names):
            return f"it may be recursive or error-checking ({text.path}:{text.line(at)})"
    for use in plan.uses:
        place = f"{use.text.path}:{use.line}"
        if not use.waits or not use.may_wait_on(key):
            continue
        if use.call != "pthread_cond_wait":
            return f"a wait with a time limit gives it back at {place}"
        elsewhere = conditions.used_otherwise(use.name, plan.uses, program.texts)
        if elsewhere:
            return f"{use.name} is waited for under it, and used otherwise at {elsewhere}"
    return None


def judge(plan) -> None:
    """A word whose condition is also waited for under a lock that stays, stays a lock."""
    for use in plan.uses:
        key = plan.word_under(use)
        if key and use.name in plan.stays:
            plan.words.discard(key)
            why = f"cannot be a word: waits for {use.name}, which stays as it is"
            plan.keep(key, use.text.path, use.line, why)
    settle(plan)


def waits(call, plan) -> str | None:
    """Why a call of pthread_mutex_lock waits, where that is going to be a word."""
    places = {op.text.place(op.at) for op in plan.word_operations}
    here = (call.file, call.line, call.column)
    return "waits for a lock that is a word" if here in places else None


def touches(text: CText, plan) -> bool:
    return any(op.text.path == text.path for op in plan.word_operations)


def write(plan, edits: dict[str, Edits]) -> None:
    for op in plan.word_operations:
        end = re.compile(r"\w+").match(op.text.code, op.at).end()
        edits[op.text.path].replace(op.at, end, _NAMES[op.call])
