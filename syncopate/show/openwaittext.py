"""Waits that are not over, and deadlocks, in sentences."""

from __future__ import annotations

from syncopate.base.units import duration, several
from syncopate.records.openwaits import SHOWN
from syncopate.records.recordformat import LOST_KINDS


def holders_of(wait: dict) -> str:
    """Whom a wait is for; with a question mark where the thread may have let go since."""
    names = [
        each["thread"]
        + ("" if each["certain"] else "?")
        + (" (ended)" if each["ended"] else "")
        + (" (before the fork)" if each["left_behind"] else "")
        for each in wait["holders"]
    ]
    return ", ".join(names) or "-"


def shown(results: dict) -> list[dict]:
    """All of a program that runs or was killed. Of one that ended by itself those for locks:
    threads that wait for work when a program ends are as they should be."""
    if not results["process"]["finished"]:
        return results["open_waits"]
    return [each for each in results["open_waits"] if each["kind"] in LOST_KINDS]


def sentences(results: dict) -> list[str]:
    """Deadlocks, and the first of the waits that are not over."""
    called = {lock["name"]: lock["called"] for lock in results["locks"]}
    waits = [{**each, "lock": called.get(each["lock"], each["lock"])} for each in shown(results)]
    more = [f"{several(len(waits) - SHOWN, 'more wait')} not over: in --json"]
    return [
        *[deadlock["sentence"] for deadlock in results["deadlocks"]],
        *map(sentence, waits[:SHOWN]),
        *more * (len(waits) > SHOWN),
    ]


def how_long(wait: dict) -> str:
    return duration(wait["waited_ns"]) + " or longer" * wait.get("or_longer", False)


def sentence(wait: dict) -> str:
    """One wait that is not over."""
    place = f" at {wait['place']}" if wait["place"] else ""
    holders = f", held by {holders_of(wait)}" if wait["holders"] and wait["kind"] != "join" else ""
    return f"{wait['thread']} has waited {how_long(wait)} for {wait['lock']}{place}{holders}"
