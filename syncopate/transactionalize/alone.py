"""Which transactions of a rewritten program run alone, and why, at the stage that it is in."""

import os
from dataclasses import dataclass, field

from syncopate.base.workers import Workers
from syncopate.transactionalize import plan
from syncopate.transactionalize.definitions import functions
from syncopate.transactionalize.plan import NotDone
from syncopate.transactionalize.rewrite import Rewriter
from syncopate.transactionalize.sections import Section
from syncopate.transactionalize.serialization import NEVER, Compiled


@dataclass
class Transaction:
    """A section that became one: how the compiler lets it run, and why it may have to run alone."""

    file: str
    line: int
    lock: str
    kind: str  # "atomic" | "relaxed"
    alone: str  # serialization.AT_START, IN_FLIGHT or NEVER
    why: list[NotDone] = field(default_factory=list)


def transactions(rewriter: Rewriter) -> list[Transaction]:
    """How the compiler lets each run. Requires: rewriter.run() has been called."""
    texts, edits = rewriter.written_to_folder()
    program, compiled = rewriter.program, Compiled()
    with Workers(os.cpu_count()) as pool:
        for text in pool.map(lambda name: program.assembler(name, "-fgnu-tm"), program.compiled()):
            compiled.read(text, program.relative)
    found, reasons = [], _Reasons(rewriter)
    for section in rewriter.chosen:
        old, new = section.text, texts[section.text.path]
        first, last = (
            new.count("\n", 0, edits[old.path].moved(at, old.text)) + 1
            for at in (section.lock.at, section.end)
        )
        reached = rewriter.names_reached(section)
        reached |= {one.inner for name, one in rewriter.variadic.items() if name in reached}
        alone = compiled.of(old.path, first, last, reached)
        kind = "atomic" if section.atomic else "relaxed"
        why = reasons.of(section) if alone != NEVER else []
        found.append(Transaction(old.path, section.lock.line, section.lock.key, kind, alone, why))
    return found


class _Reasons:
    """Why the compiler may find a transaction unsafe at this stage."""

    def __init__(self, rewriter: Rewriter):
        self._rewriter = rewriter
        self._texts = rewriter.program.texts
        self._homes = {  # function -> the file that defines it
            of[0]: path for path, text in self._texts.items() for of in functions(text)
        }

    def of(self, section: Section) -> list[NotDone]:
        found = [*self._elsewhere(section), *self._calls(section), *self._words(section)]
        found += [one for one in self._compiler(section) if one not in found]
        path, line, key = section.text.path, section.lock.line, section.lock.key
        nothing = NotDone(path, line, "call", key, "the compiler finds something unsafe")
        return found or [nothing]

    def _elsewhere(self, section: Section) -> list[NotDone]:
        """Functions of other files, of which nothing is declared yet."""
        graph, path = self._rewriter.graph, section.text.path
        if self._rewriter.stage.declares:
            return []
        return [
            NotDone(path, call.line, "call", section.lock.key,
                    f"calls {graph.name(call.callee)}, which is in another file and not declared")
            for call in graph.remaining(plan.calls_in(section, graph))
            if call.callee in graph.defined and self._homes.get(graph.name(call.callee)) != path
        ]  # fmt: skip

    def _calls(self, section: Section) -> list[NotDone]:
        graph, path, key = self._rewriter.graph, section.text.path, section.lock.key
        found = [
            NotDone(path, chain[0].line, "call", key, f"calls {graph.name(callee)}",
                    plan.describe(chain, graph))
            for callee, chain in graph.chains(plan.calls_in(section, graph)).items()
        ]  # fmt: skip
        reached = self._rewriter.names_reached(section)
        for text in self._texts.values():
            for name, _, parameters, _, _ in functions(text):
                split = name in self._rewriter.variadic
                if name in reached and parameters[-1:] == ["..."] and not split:
                    why = f"calls {name}, which is variadic"
                    found.append(NotDone(path, section.lock.line, "call", key, why))
        return found

    def _words(self, section: Section) -> list[NotDone]:
        """Volatile variables and atomic instructions, where they stay."""
        found = []
        if self._rewriter.stage.is_maximal:
            return found
        reached = self._rewriter.names_reached(section)
        for name, places in self._rewriter.touched.items():
            for place in places:
                if section.runs(place.text.path, place.at) or place.function in reached:
                    what = "an atomic instruction" if place.operation else "a volatile variable"
                    found.append(NotDone(place.text.path, place.line, "word", section.lock.key,
                                         f"{name}: {what}"))  # fmt: skip
                    break
        return found

    def _compiler(self, section: Section) -> list[NotDone]:
        """What it said where a claim of safety was given up."""
        reached, key = self._rewriter.names_reached(section), section.lock.key
        lines = range(section.lock.line, section.unlock.line + 1)
        return [
            one
            for one in self._rewriter.not_done
            if one.kind == "call" and not one.chain
            and (one.what in reached or (
                one.what == key and one.file == section.text.path and one.line in lines
            ))
        ]  # fmt: skip
