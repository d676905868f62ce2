"""`syncopate simulate --from`: what a change of one lock would bring, on any machine."""

import os
import sys
from dataclasses import asdict, replace

from syncopate.base import scratch
from syncopate.base.errors import BAD_USE, Failure
from syncopate.machines import machinefiles, whatif
from syncopate.records import bundle, lockuse


def main(options: dict[str, str]) -> int:
    """`syncopate simulate --from RECORD`: `options` are simulate's."""
    from syncopate.records.analysis import Analysis
    from syncopate.show import whatifoutput

    changes = [
        whatif.parse(text) for text in options.get("--what", whatif.DEFAULT_CHANGES).split(",")
    ]
    threads = numbers("--threads", options["--threads"]) if "--threads" in options else None
    seeds = numbers("--seeds", options.get("--seeds", str(whatif.SEEDS)))
    if len(seeds) != 1:
        raise Failure(f"--seeds {options['--seeds']}: how many, one number", BAD_USE)
    if threads and max(threads) > whatif.MOST_THREADS:
        raise Failure(f"--threads: {whatif.MOST_THREADS:,} at most are replayed", BAD_USE)
    machine = options.get("--machine") or os.environ.get("SYNCOPATE_MACHINE") or "this"
    if not machinefiles.files():
        machinefiles.find(machine)  # says who has machines; no record would help
    whatifoutput.check(options)
    record = bundle.read_one(options["--from"])
    path = machinefiles.find(machine)
    if not machinefiles.has_transactions(machinefiles.read(path)):
        changes = _without_transactions(changes, machine, "--what" in options)
    analysis = Analysis(record)
    use = lockuse.of(analysis, lockuse.choose(analysis, options.get("--lock")))
    with scratch.folder() as folder:
        replayer = whatif.Replayer(use, path, folder)
        counts = threads or [len(use.threads)]
        found = whatif.answers(replayer, changes, counts, seeds[0], progress=_progress)
    _progress("")
    said = use.assumptions + [c.assumption for c in changes if c.assumption]
    if max(counts) > len(use.threads):
        said.append(
            "threads beyond the one recorded do what that did"
            if len(use.threads) == 1
            else f"threads beyond the {len(use.threads)} recorded ones do what those did"
        )
    use = replace(use, assumptions=said)
    whatifoutput.show(use, os.path.basename(path).removesuffix(".toml"), found)
    if "--json" in options:
        whatifoutput.write_json(options["--json"], use, path, [asdict(each) for each in found])
    if "--figure" in options:
        whatifoutput.draw(options["--figure"], use, machine, found)
    return 0


def _without_transactions(
    changes: list[whatif.Change], machine: str, asked: bool
) -> list[whatif.Change]:
    """Those that a machine without transactions can make; a Failure where another one is asked for:
    the replay would take the lock, and its answer be none of elision."""
    kept = [each for each in changes if not each.needs_transactions]
    if asked and len(kept) != len(changes):
        raise Failure(f"--what elide: machine {machine} has no transactions", BAD_USE)
    return kept


def numbers(option: str, text: str) -> list[int]:
    """Whole numbers above 0, separated by commas."""
    found = [int(word) if word.isdigit() else 0 for word in text.split(",")]
    if not all(found):
        raise Failure(f"{option} needs whole numbers above 0, not '{text}'", BAD_USE)
    return found


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{text:40}\r", end="", file=sys.stderr, flush=True)
