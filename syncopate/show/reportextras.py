"""What a report shows beside the record: predictions of changes, and a policy."""

from __future__ import annotations

import os

from syncopate.base import boundedfile
from syncopate.base.errors import BAD_USE, FAILED, Failure
from syncopate.base.shown import shown
from syncopate.launch import policy
from syncopate.launch.policykeys import KINDS
from syncopate.show.whatifoutput import SCHEMA as WHATIF_SCHEMA
from syncopate.show.whatifoutput import VERSION as WHATIF_VERSION

OBJECTS = {"lock": "mutex", "prefer": "rwlock", "barrier": "barrier"}  # by an entry's key
NAMED_BY = {"symbol": "variable", "creation": "created", "first use": "used"}  # to policy keys


def extras(records: list[dict], predictions: list[dict], policy_path: str | None) -> dict:
    """The page's additional data for these records: `whatif`, `policy` and `policyOf`."""
    added: dict = {"whatif": predictions}
    if policy_path:
        wanted = policy.read(policy_path)
        added["policy"] = {
            "file": policy_path,
            "default": wanted.default,
            "entries": wanted.entries,
        }
        added["policyOf"] = [
            [_entry_of(lock, wanted.entries) for lock in results["locks"]] for results in records
        ]
    return added


def prediction(path: str, records: list[dict]) -> dict:
    """What `syncopate simulate --from RECORD --json PATH` wrote, of a lock that the report has."""
    document = boundedfile.read_json(path)
    known = isinstance(document, dict) and document.get("schema") == WHATIF_SCHEMA
    if not known or document.get("version") != WHATIF_VERSION:
        raise Failure(
            f"{path} is not what `syncopate simulate --from RECORD --json FILE` writes", FAILED
        )
    with boundedfile.damaged_where_wrong(path, "let `syncopate simulate --from` write it again"):
        name = _checked(document)
    if not any(lock["name"] == name for results in records for lock in results["locks"]):
        raise Failure(f"{path} is of lock '{name}', which the report does not show", BAD_USE)
    return document


def add_predictions(records: list[dict], predictions: list[dict]) -> None:
    """Gives each finding the predictions of its lock."""
    for results in records:
        for finding in results["findings"]:
            finding["predictions"] = [
                {
                    "what": shown(str(answer.get("what", ""))),
                    "label": shown(answer["label"]),
                    "threads": answer["threads"],
                    **{key: answer[key] for key in ("gain", "low", "high")},
                    "machine": _name(document["machine"]),
                    "assumes": shown(str(answer.get("assumes", ""))),  # not in older JSON
                }
                for document in predictions
                if document["lock"]["name"] == finding["lock"]
                for answer in document["answers"]
            ]


def _name(machine: str) -> str:
    return shown(os.path.basename(machine).removesuffix(".toml"))


def _checked(document: dict) -> str:
    """The name of the lock that it is of. Raises what an unsound one makes of this."""
    name = document["lock"]["name"]
    sound = isinstance(name, str) and isinstance(document["machine"], str)
    for answer in document["answers"]:
        sound &= all(float(answer[key]) >= 0 for key in ("before", "after", "gain", "low", "high"))
        sound &= isinstance(answer["label"], str) and isinstance(answer["threads"], int)
    if not (sound and all(isinstance(each, str) for each in document["assumptions"])):
        raise ValueError("a text is none")
    return name


def _entry_of(lock: dict, entries: list[dict]) -> int | None:
    """The index of the first policy entry that names this lock and is for its kind, or None."""
    key = NAMED_BY.get(lock["named_by"])
    for index, entry in enumerate(entries):
        if key in entry and _is_called(lock["site"], entry[key]) and _is_for(lock, entry):
            return index
    return None


def _is_for(lock: dict, entry: dict) -> bool:
    """As the preload library has it (products/preload/choice/policy.h)."""
    of = next((OBJECTS[kind] for kind in KINDS if kind in entry), None)
    return lock["object"] == of if of else lock["object"] in ("mutex", "rwlock")


def _is_called(site: str, wanted: str) -> bool:
    """Whether a report's site is that of a policy: "make(int)" and "make(int)+0x28" are `make`."""
    return wanted in (site, site.partition("(")[0], site.partition("+0x")[0])
