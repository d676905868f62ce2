"""Writes what was found as a policy file, each line with its reason and its gain."""

from __future__ import annotations

import json

from syncopate.base.shown import shown
from syncopate.base.units import several
from syncopate.launch.policy import SCHEMA, VERSION
from syncopate.records.recordformat import BARRIER
from syncopate.tuning.choice import Choice
from syncopate.tuning.hotlocks import HotLock
from syncopate.tuning.plan import Outcome
from syncopate.tuning.search import CONFIRMING, Verdict

# What a step has changed for all locks, in a reason.
CALLED = {
    "lock": "lock",
    "elide": "elision",
    "omp_barrier": "barrier",
    "omp_lock": "lock of OpenMP",
    "omp_regions": "keeping of regions",
}


def document(choice: Choice, locks: dict[int, HotLock], outcome: Outcome | None = None) -> dict:
    """The policy that a choice stands for, as TOML gives it back; with reasons if it was found."""
    default = dict(choice.default)
    if default and outcome:
        default |= _why_default(choice, outcome)
    entries = []
    for number, settings in choice.single:
        lock = locks[number]
        why = _why_single(number, lock, settings, outcome) if outcome else {}
        entries += [{**site, **dict(settings), **why} for site in lock.sites]
    policy: dict = {"schema": SCHEMA, "version": VERSION}
    if default:
        policy["default"] = default
    if entries:
        policy["lock"] = entries
    return policy


def _why_default(choice: Choice, outcome: Outcome) -> dict[str, str]:
    steps = [step for step in outcome.steps if step.choice.default != step.against.default]
    step = next((step for step in steps if step.choice.default == choice.default), None)
    if step is None:
        return {}
    changed = [key for key, _ in set(step.choice.default) - set(step.against.default)]
    last = CALLED.get(changed[0], "choice") if len(changed) == 1 else "choice"
    better = "is better than" if step.is_better else "was not seen to be worse than"
    before = "the program as it is" if step.against.as_is else "what was best before"
    return {"reason": f"this {last} for all {better} {before}", "gain": gain(step)}


def _why_single(number: int, lock: HotLock, settings, outcome: Outcome) -> dict[str, str]:
    of_what = "all time is spent at it" if lock.object == BARRIER else "the time lost to locks"
    share = f"{lock.share * 100:.0f} % of {of_what}"
    step = next((s for s in outcome.steps if dict(s.choice.single).get(number) == settings), None)
    return {"reason": share, **({"gain": gain(step)} if step else {})}


def gain(verdict: Verdict) -> str:
    """How many times better: the factor, its 95 % interval, and of how many rounds."""
    ratio = verdict.ratio
    covered = "95 %" if verdict.rounds >= CONFIRMING else "too few rounds for 95 %"
    return (
        f"{1 / ratio.value:.3f}x ({covered}: {1 / ratio.high:.3f} to {1 / ratio.low:.3f};"
        f" {several(verdict.rounds, 'round')})"
    )


def text(policy: dict, comments: list[str]) -> str:
    """The document as TOML, whose comments may hold no control character."""
    lines = [f"# {shown(comment)}" for comment in comments]
    lines += [f"schema = {_quoted(policy['schema'])}", f"version = {policy['version']}"]
    tables = [("[default]", policy["default"])] if "default" in policy else []
    tables += [("[[lock]]", entry) for entry in policy.get("lock", [])]
    for title, table in tables:
        lines += ["", title, *(f"{key} = {_quoted(value)}" for key, value in table.items())]
    return "\n".join(lines) + "\n"


def _quoted(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
