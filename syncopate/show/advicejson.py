"""Advice of a report for other tools: `report --advice json`, docs/reference/report-schema.md."""

from collections.abc import Iterable

from syncopate.records import imbalance, teamwaits
from syncopate.records.recordformat import LOST_KINDS

SCHEMA, VERSION = "syncopate-advice", 1
OF_LOCK = (
    "named_by",
    "place",
    "site",
    "object",
    "members",
    "acquisitions",
    "lost_ns",
    "lost_share",
)


def document(records: Iterable[dict]) -> dict:
    """The whole of what is printed, of records as `report --json` has them."""
    return {"schema": SCHEMA, "version": VERSION, "records": [_record(each) for each in records]}


def _record(results: dict) -> dict:
    locks = {}
    for lock in results["locks"]:  # the worst of a name first
        locks.setdefault(lock["name"], lock)
    return {
        "file": results["file"],
        "process": {key: results["process"][key] for key in ("id", "executable", "command")},
        "thread_time_ns": results["thread_time_ns"],
        "lost_ns": results["lost_ns"],
        "deadlocks": results["deadlocks"],
        "notes": results["notes"],
        "advice": [
            _advice(found, locks[found["lock"]])
            for found in results["findings"]
            if found["lock"] in locks
        ],
    }


def _advice(found: dict, lock: dict) -> dict:
    waits = [each for kind, each in lock["waits"].items() if kind in LOST_KINDS]
    return {
        "lock": found["lock"],
        **{key: found[key] for key in ("called", "member", "declared")},
        **{key: lock[key] for key in OF_LOCK},
        "waits": sum(each["count"] for each in waits),
        **_lost_in_team(found, lock),
        "hold_mean_ns": lock["hold"] and lock["hold"]["mean_ns"],
        "gain_at_most": found["gain_at_most"],
        "reasons": found["reasons"],
        "predictions": found["predictions"],
    }


def _lost_in_team(found: dict, lock: dict) -> dict:
    """Where nothing is lost to locks: who is not the last to come there waits, or all do."""
    if imbalance.CAUSE in found["causes"]:
        waits = sum(each["times"] - each["last"] for each in lock["work"])
    elif not teamwaits.CAUSES.isdisjoint(found["causes"]):
        waits = teamwaits.times(lock)
    else:
        return {}
    return {"lost_ns": found["lost_ns"], "lost_share": found["lost_share"], "waits": waits}
