"""`syncopate report --predict MACHINE`: the worst locks' use replayed on the model of a machine."""

from __future__ import annotations

from dataclasses import asdict

from syncopate.base import scratch
from syncopate.base.errors import Failure
from syncopate.base.progress import Progress
from syncopate.base.since import zip_equal
from syncopate.machines import machinefiles, whatif
from syncopate.records import lockuse
from syncopate.records.analysis import Analysis
from syncopate.show import whatifoutput

SEEDS = 2
# What is asked of every lock; and, of one whose holds mostly only read, a reader-writer lock.
CHANGES = ("halve", "shard=8")
# Causes of waits that holds do not make, so that a replay of them says nothing: a few holds that
# were not timed, threads put aside on purpose, waits that do not end, readers who overtake.
NOT_REPLAYED = {"open", "kept", "gate", "starved", "signalers"}


def predictions(
    analyses: list[Analysis], records: list[dict], machine: str, progress: Progress
) -> list[dict]:
    """What `simulate --from` would write of the locks that the records' findings are about."""
    path = machinefiles.find(machine)
    found = []
    for analysis, results in zip_equal(analyses, records):
        for finding in results["findings"]:
            if not NOT_REPLAYED.isdisjoint(finding["causes"]):
                continue
            progress(f"replaying {finding['lock']}")
            document = _of(analysis, finding, path)
            if document:
                found.append(document)
    return found


def _of(analysis: Analysis, finding: dict, path: str) -> dict | None:
    """None where the record does not say enough of the lock."""
    try:
        use = lockuse.of(analysis, lockuse.choose(analysis, finding["lock"]))
    except Failure:
        return None
    # Threads that hold another lock meanwhile do not meet at the parts of this one.
    changes = [each for each in CHANGES if not (use.under and each.startswith("shard"))]
    if "readers" in finding["causes"]:
        changes.append(f"rwlock={round(100 * finding['only_read'])}")
    with scratch.folder() as folder:
        replayer = whatif.Replayer(use, path, folder)
        parsed = [whatif.parse(text) for text in changes]
        answers = whatif.answers(replayer, parsed, [len(use.threads)], SEEDS)
    use.assumptions.extend(each.assumption for each in parsed if each.assumption)
    return whatifoutput.document(use, path, [asdict(each) for each in answers])
