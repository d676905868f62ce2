"""Why locks of languages cost what they cost, and what to do: an interpreter's own lock, and Java's
locks, of which a VM tells."""

from __future__ import annotations

from collections.abc import Iterator

from syncopate.base.units import percent
from syncopate.records import knowncalls, languages
from syncopate.records.holdlengths import at_most, holds_unseen
from syncopate.records.lockfigures import CERTAIN, LIKELY, MOSTLY, Reason

_JAVA_SAID = {
    knowncalls.SLEEP: (
        "sleeps",
        "sleeps",
        "sleep after the release, or wait for a condition of the lock, which releases it",
    ),
    knowncalls.INPUT_OUTPUT: (
        "input_output",
        "reads or writes",
        "copy what is to be read or written, and do that after the release, or in a thread of its"
        " own",
    ),
    knowncalls.WAIT: ("waits", "waits", "release it before what waits there, or hold that shorter"),
}


def of_interpreter(language: str, lock: dict, results: dict) -> Reason:
    """Why threads wait for the lock of an interpreter, or at one within it."""
    is_part = lock["name"].startswith(languages.WITHIN)
    told = "it is a part of the lock with which" if is_part else "with this lock"
    unseen = "" if lock["hold"] else f"; {holds_unseen(lock, results)}{at_most(lock, results)}"
    return Reason(
        "interpreter",
        f"{told} one thread at a time runs {language} code{unseen}",
        "let processes share that work, or C code that releases the lock",
        CERTAIN,
    )


def releases_in_java(stack: dict) -> bool:
    """Whether a holder's stack is that of a release, as of java.util.concurrent; else it is where
    the holder was while another thread waited."""
    return any(knowncalls.is_release_in_java(frame["function"]) for frame in stack["frames"])


def in_java(lock: dict, results: dict) -> Iterator[Reason]:
    """What holders of Java's locks are in while others wait, as the VM tells."""
    if results["process"]["recorder"] != "jvm":
        return
    kinds: dict[str, float] = {}
    named: dict[str, str] = {}
    meanwhile = [stack for stack in lock["holders"] if not releases_in_java(stack)]
    for stack in meanwhile:
        inner = stack["frames"][0]["function"] if stack["frames"] else ""
        if kind := knowncalls.kind_in_java(inner):
            kinds[kind] = kinds.get(kind, 0.0) + stack["share"]
            named.setdefault(kind, inner)
    total = sum(stack["share"] for stack in meanwhile)
    for kind, seen in kinds.items():
        if (share := seen / total) >= MOSTLY:
            cause, why, do = _JAVA_SAID[kind]
            yield Reason(
                cause,
                f"who holds it {why} for {percent(share)} of the time that others wait, in"
                f" {named[kind]}",
                do,
                LIKELY,
            )
