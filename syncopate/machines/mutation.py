"""Order mutation: is every memory order that a program asks for needed, and tested?

The explored machine lists the ordered accesses of a scenario (SYNCOPATE_SITES=FILE) and weakens
the n-th to relaxed (SYNCOPATE_WEAKEN=n). A mutant that no scenario fails with has survived: the
order is stronger than needed, or the scenarios do not show why it is.
"""

from __future__ import annotations

import json
import os
import re

from syncopate.base import boundedfile, scratch
from syncopate.base.errors import FAILED, Failure
from syncopate.machines import checkset

SURVIVORS = "survivors.toml"
_FIELDS = {"target", "operation", "order", "function", "reason"}


class Mutant:
    """One ordered access, made relaxed, and what the scenarios that reach it made of it."""

    def __init__(self, target: str, site: dict):
        self.target = target
        self.operation = site["operation"]
        self.order = site["order"]
        self.position = site["position"]
        self.caught_by: str | None = None
        self.bounded = False
        self.suspicious: str | None = None
        self.runs = 0

    @property
    def function(self) -> str:
        return self.position.partition(" at ")[0]


def main(scenarios: list[checkset.Scenario], environ: dict[str, str], as_json: bool) -> int:
    known = read_survivors(os.path.join(checkset.folder(), SURVIVORS))
    mutants = explore(scenarios, environ)
    rows = [_row(mutant, known) for mutant in mutants]
    if as_json:
        print(json.dumps({"schema": "syncopate-mutation", "version": 1, "mutants": rows}, indent=1))
    else:
        _show(rows)
    return FAILED if any(row["verdict"] == "survived" for row in rows) else 0


def explore(scenarios: list[checkset.Scenario], environ: dict[str, str]) -> list[Mutant]:
    """Weakens every site of every scenario, until each mutant is caught or nothing is left to try.

    The same access met in several scenarios of a target is one mutant. Where a limit has ended the
    systematic search, executions at random come next: they reach deeper.
    """
    mutants: dict[tuple[str, ...], Mutant] = {}
    bounded = [each for each in scenarios if _attack(each, environ, mutants)]
    searched = ",".join([*filter(None, [environ.get("SYNCOPATE_EXPLORE")]), "random=1"])
    for scenario in bounded:
        targets = (each for each in mutants.values() if each.target == scenario.target())
        if any(each.bounded and each.caught_by is None for each in targets):
            _attack(scenario, {**environ, "SYNCOPATE_EXPLORE": searched}, mutants)
    return list(mutants.values())


def _attack(
    scenario: checkset.Scenario, environ: dict[str, str], mutants: dict[tuple[str, ...], Mutant]
) -> bool:
    """Tries each site of one scenario. Returns whether a limit has saved a mutant."""
    target = scenario.target()
    bounded = False
    sites, original = sites_of(scenario, environ)
    for site in sites:
        key = (target, site["operation"], site["order"], site["position"])
        mutant = mutants.setdefault(key, Mutant(target, site))
        if mutant.caught_by is not None:
            continue
        result = checkset.run(scenario, {**environ, "SYNCOPATE_WEAKEN": str(site["site"])})
        mutant.runs += 1
        if result["verdict"] == "failed":
            mutant.caught_by = scenario.name
        elif result["verdict"] == "bounded" or ", weakened: nothing" in result["output"]:
            mutant.bounded = bounded = True
        else:
            fewer = executions_of(result)
            if original is not None and fewer is not None and fewer < original:
                mutant.suspicious = f"{scenario.name}: {fewer:,} executions, {original:,} without"
    return bounded


def executions_of(result: dict) -> int | None:
    """How many executions a run that passed has explored, without those that turned out to be
    others' equals: its last line says so. A weaker order allows no fewer outcomes. Where a mutant
    has fewer executions than its original, either both orders of two seq_cst operations were told
    apart, or the search has lost some: worth a look."""
    if result["verdict"] != "passed":
        return None
    found = re.search(r": ([\d,]+) executions \(([\d,]+) redundant", result["output"])
    if found is None:
        return None
    every, redundant = (int(number.replace(",", "")) for number in found.groups())
    return every - redundant


def sites_of(scenario: checkset.Scenario, environ: dict[str, str]) -> tuple[list[dict], int | None]:
    """The scenario's ordered accesses, and how many executions it has if it passed. A Failure when
    it fails as it is."""
    with scratch.folder() as folder:
        path = os.path.join(folder, "sites.json")
        result = checkset.run(scenario, {**environ, "SYNCOPATE_SITES": path})
        if result["verdict"] == "failed":
            raise Failure(
                f"{scenario.name} fails without any mutation; run"
                f" `syncopate check {scenario.target()}` first"
            )
        try:
            with open(path, encoding="utf-8") as file:
                return json.load(file), executions_of(result)
        except (OSError, json.JSONDecodeError) as error:
            raise Failure(f"{scenario.name}: no list of its accesses: {error}") from None


def read_survivors(path: str) -> list[dict]:
    """The mutants that are known to survive, each with its reason. None when there is no file."""
    if not os.path.exists(path):
        return []
    entries = boundedfile.read_toml(path).get("survivor", [])
    for number, entry in enumerate(entries, 1):
        wrong = sorted(set(entry) ^ _FIELDS)
        if wrong or not entry["reason"].strip():
            raise Failure(
                f"{path}: survivor {number}: {wrong[0] if wrong else 'reason'}: each has exactly"
                f" {', '.join(sorted(_FIELDS))}"
            )
    return entries


def reason_of(mutant: Mutant, known: list[dict]) -> str | None:
    """Why this mutant may survive; None when nobody has said. A target "ticket" means all waits of
    it, and "*" all targets."""
    for entry in known:
        targets = ("*", mutant.target, mutant.target.partition(":")[0])
        if (
            entry["target"] in targets
            and entry["operation"] == mutant.operation
            and entry["order"] == mutant.order
            and entry["function"] == mutant.function
        ):
            return entry["reason"]
    return None


def _row(mutant: Mutant, known: list[dict]) -> dict:
    reason = None if mutant.caught_by else reason_of(mutant, known)
    verdict = "caught" if mutant.caught_by else "known" if reason else "survived"
    return {
        "target": mutant.target,
        "operation": mutant.operation,
        "order": mutant.order,
        "position": mutant.position,
        "verdict": verdict,
        "bounded": mutant.bounded,
        "by": mutant.caught_by,
        "suspicious": None if mutant.caught_by else mutant.suspicious,
        "reason": reason,
    }


def _show(rows: list[dict]) -> None:
    from rich.table import Table

    from syncopate.base import terminal

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("target", "access made relaxed", "where", "verdict", "by, or why it may"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        verdict = row["verdict"] + (" (bounded)" if row["bounded"] and not row["by"] else "")
        verdict += " (SUSPICIOUS: fewer executions)" if row["suspicious"] else ""
        table.add_row(
            row["target"],
            f"{row['operation']} {row['order']}",
            row["position"],
            verdict,
            row["by"] or row["suspicious"] or row["reason"] or "",
        )
    console = terminal.console()
    console.print(table)
    count = {name: sum(row["verdict"] == name for row in rows) for name in ("caught", "known")}
    survived = len(rows) - sum(count.values())
    console.print(
        f"\n{len(rows)} mutants: {count['caught']} caught, {count['known']} survived for known"
        f" reasons, {survived} survived"
    )
