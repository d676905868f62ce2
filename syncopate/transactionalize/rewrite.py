"""Writes a plan out, as far as a stage goes: transactions, condition variables, words, declarations
of functions that transactions call; and lets the compiler judge which transactions are atomic."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field

from syncopate.base.errors import FAILED, Failure
from syncopate.base.workers import Workers
from syncopate.transactionalize import (
    atomics,
    conditions,
    handlers,
    indirect,
    plan,
    sections,
    variadic,
    wordlocks,
    words,
)
from syncopate.transactionalize.callgraph import (
    PUT_OFF,
    SAFE,
    SAFE_WITHOUT_LIBRARY,
    Call,
    CallGraph,
)
from syncopate.transactionalize.ctext import CText, Edits, behind_includes
from syncopate.transactionalize.definitions import functions
from syncopate.transactionalize.plan import NotDone, Plan
from syncopate.transactionalize.program import CompilerError, Program
from syncopate.transactionalize.stages import LIBRARY, Stage

_DECLARED = re.compile(r"\s*(?:__attribute__\s*\(\(.*?\)\)\s*)?[;{]")
_TRANSACTIONAL = re.compile(r"\b__transaction_\w+|\btransaction_(?:safe|callable)\b")
_STATIC = re.compile(r"static\b")
_PTHREAD_COND = re.compile(r"\bpthread_cond_t\b")
_ROUNDS = 30  # of the compiler finding something that cannot be atomic; each settles at least one


@dataclass
class Output:
    """What is written, and what is not done."""

    texts: dict[str, str] = field(default_factory=dict)
    not_done: list[NotDone] = field(default_factory=list)


@dataclass(frozen=True)
class How:
    """How far to go."""

    atomic: bool  # transactions may be atomic
    stage: Stage = LIBRARY
    pure: re.Pattern | None = None  # functions that the user vouches for


class Spoiled(Exception):
    """Sections that do not compile as transactions: their lock, and why it is to stay."""

    def __init__(self, entries: list[NotDone]):
        super().__init__(entries)
        self.entries = entries


class Rewriter:
    def __init__(self, program: Program, the_plan: Plan, graph: CallGraph, written, how: How):
        self.program, self.plan, self.graph = program, the_plan, graph
        self.written, self.how, self.stage = written, how, how.stage
        self.not_done: list[NotDone] = []
        self._compiled: dict[tuple, list[CompilerError]] = {}
        self.chosen = the_plan.sections()
        graph.done = plan.rewritten_places(the_plan)
        self._set_what_is_safe()
        graph.indirect = {}
        begun = [call for section in self.chosen for call in plan.calls_in(section, graph)]
        maximal = self.stage.is_maximal
        self.types = indirect.resolve(graph, program.texts, begun) if maximal else []
        self._leave_unfit_types()
        self.reached: set[str] = set()
        for section in self.chosen:
            self.reached |= graph.reached(plan.calls_in(section, graph))
        names = {graph.name(title) for title in self.reached}
        split = variadic.find(program.texts, names) if self.stage.wraps_library else []
        self.variadic = {one.name: one for one in split if one.text.path not in program.broken}
        self.atomics, self.uses, self.volatile = [], [], []
        self.touched: dict[str, list[words.Place]] = {}  # volatile or atomic words, as they are
        self._plan_words()
        self.unsafe: set[str] = set()  # functions found unsafe, beyond what the call graph shows
        self.untouchable: set[str] = set()  # functions whose declarations are not ours
        self.plain: set[str] = set()  # sources to be compiled without -fgnu-tm

    def run(self) -> Output:
        self._judge_by_chains()
        if not self.stage.is_maximal:
            self.not_done = []  # at this stage, only what the compiler then says counts
        texts = self._settle()
        if not self.how.atomic:
            for section in self.chosen:
                section.atomic = False
            texts = self._settle()
        return Output(texts, self.not_done)

    def written_to_folder(self) -> tuple[dict[str, str], dict[str, Edits]]:
        """What run() returned, put into the program's folder again, and the edits that made it."""
        texts, edits = self._write()
        self.program.write_copy(texts)
        return texts, edits

    def _leave_unfit_types(self) -> None:
        """Through types that are not declared, functions are called as they are, and alone."""
        for kind in list(self.types):
            below = self.graph.reached([Call(title, "", 0, 0) for title in kind.targets])
            if {self.graph.name(title) for title in below} & self.plan.unfit.keys():
                self.types.remove(kind)
                known = self.graph.indirect.items()
                self.graph.indirect = {at: to for at, to in known if to is not kind.targets}

    def _set_what_is_safe(self) -> None:
        safe = set(SAFE if self.stage.wraps_library else SAFE_WITHOUT_LIBRARY)
        if self.stage.puts_off:
            safe |= PUT_OFF
        if self.stage.puts_off and self.how.pure:
            outside = {n for t, n in self.graph.names.items() if t not in self.graph.defined}
            safe |= {name for name in outside if self.how.pure.search(name)}
        self.graph.safe = safe

    # ---- words ------------------------------------------------------------------------------

    def _plan_words(self) -> None:
        texts = self.program.texts
        volatile = words.volatile_globals(texts)
        found = words.places(self.program.facts("words", WORDS=["no_such_name"]), texts)
        names = set(volatile) | {place.name for place in found}
        found = words.places(self.program.facts("words", WORDS=sorted(names)), texts)
        found = [p for p in found if p.operation or not words.is_local(p)]
        for place in found:
            if (place.operation or place.name in volatile) and self._in_transactions(place):
                self.touched.setdefault(place.name, []).append(place)
        if not self.stage.is_maximal:
            return
        chosen = atomics.choose(found, atomics.Judges(
            self._in_transactions, self._in_section, handlers.reached(self.graph, texts),
            self.program.broken, words.other_atomics(texts)))  # fmt: skip
        for place, why in chosen.refused:
            self._add(place.text.path, place.line, "word", place.name, why)
        self.volatile = [w for n in chosen.names for w in volatile.get(n, [])]
        self.atomics, self.uses = chosen.operations, chosen.uses
        self.graph.done |= {p.text.place(p.at) for p in self.atomics}
        for place in words.plain_members(self.atomics, texts, self._in_section):
            self._add(place.text.path, place.line, "word", place.name,
                      "a member that transactions change is used outside of them")  # fmt: skip

    def _in_section(self, place) -> bool:
        return any(s.runs(place.text.path, place.at) for s in self.chosen)

    def _in_transactions(self, place) -> bool:
        reached = {self.graph.name(title) for title in self.reached}
        return self._in_section(place) or place.function in reached

    # ---- what can be atomic -----------------------------------------------------------------

    def _judge_by_chains(self) -> None:
        for section in self.chosen:
            chains = self.graph.chains(plan.calls_in(section, self.graph))
            section.atomic = not chains and self.stage.is_maximal
            for callee, chain in chains.items():
                self._add(
                    section.text.path, chain[0].line, "call", section.lock.key,
                    f"calls {self.graph.name(callee)}, which cannot be rolled back",
                    plan.describe(chain, self.graph),
                )  # fmt: skip

    def _add(self, file: str, line: int, kind: str, what: str, why: str, chain=()) -> None:
        entry = NotDone(file, line, kind, what, why, list(chain))
        if entry not in self.not_done:
            self.not_done.append(entry)

    def _settle(self) -> dict[str, str]:
        """Writes and compiles until the compiler agrees."""
        for _ in range(_ROUNDS):
            texts, edits = self._write()
            self.program.write_copy(texts)
            errors = self._errors(texts)
            if not errors:
                return texts
            learned = [self._learn(error, texts, edits) for error in errors]
            if not any(learned):
                self._give_up(errors)
        raise Failure("the compiler keeps finding unsafe code; please report this", FAILED)

    def _give_up(self, errors: list[CompilerError]) -> None:
        """The locks of what does not compile stay; a file without any is for a compiler that knows
        no transactions."""
        spoiled = [entry for error in errors for entry in self._spoiled_by(error)]
        if spoiled:
            raise Spoiled(spoiled)
        for error in errors:
            if error.unit not in self.plain:
                self._leave_plain(error)

    def _spoiled_by(self, error: CompilerError) -> list[NotDone]:
        """The sections of the function that does not compile; where that has none, those of the
        file, or of the source that includes it, and its words."""
        why = f"does not compile as a transaction: {_said(error)}"
        own = [s for s in self.chosen if s.text.path == error.file]
        within = [s.lock for s in own if s.lock.function == error.function]
        if not within:
            why = f"stands in a file that does not compile with transactions: {_said(error)}"
            words = [op for op in self.plan.word_operations if op.text.path == error.unit]
            of_unit = [s for s in self.chosen if s.text.path == error.unit]
            within = [s.lock for s in own or of_unit] + words
        return [
            NotDone(op.text.path, op.line, "section", key, why)
            for op in within
            for key in (op.may or [op.key])
        ]

    def _leave_plain(self, error: CompilerError) -> None:
        """Nothing of this source is a transaction, nor then called by one in another way than as it
        is, and alone."""
        if self.program.compile(error.unit, "-fPIC", "-S", "-o", "/dev/null"):
            where = f"{error.file}:{error.line}: {error.message}"
            raise Failure(f"the result does not compile: {where}", FAILED)
        self.plain.add(error.unit)
        line = error.line if error.file == error.unit else 1
        self._add(error.unit, line, "file", error.unit,
                  f"is to be compiled without -fgnu-tm: {_said(error)}")  # fmt: skip
        for name, *_ in functions(self.program.texts[error.unit]):
            self.untouchable.add(name)
            self._demote(name)

    def _errors(self, texts: dict[str, str]) -> list[CompilerError]:
        """What the compiler finds wrong; it is not asked again about what has not changed. In code
        for shared libraries it infers less than in a program's."""
        sources = set(self.program.sources())
        headers = str([text for name, text in texts.items() if name not in sources])

        def of(name: str) -> list[CompilerError]:
            key = (name, texts[name], headers, name in self.plain)
            if key not in self._compiled:
                kind = [] if name in self.plain else ["-fgnu-tm"]
                self._compiled[key] = self.program.compile(
                    name, *kind, "-fPIC", "-S", "-o", "/dev/null"
                )
            return self._compiled[key]

        with Workers(os.cpu_count()) as pool:
            return [error for found in pool.map(of, self.program.compiled()) for error in found]

    def _learn(self, error: CompilerError, texts: dict[str, str], edits: dict[str, Edits]) -> bool:
        """Gives up one claim of safety; returns whether there was one to give up."""
        if error.file not in texts:
            return False
        new = CText(error.file, texts[error.file])
        old = self.program.texts[error.file]
        at = edits[error.file].original(new.offset(error.line, error.column - 1), old.text)
        conflict = re.match(r"conflicting types for .(\w+)", error.message)
        if conflict:
            known = conflict.group(1) in self.untouchable
            self.untouchable.add(conflict.group(1))
            self._demote(conflict.group(1))
            return not known
        around = [s for s in self.chosen if s.holds(old.path, at)]
        if any(s.atomic for s in around):
            self._add(old.path, old.line(at), "call", around[-1].lock.key, error.message)
            for section in around:
                section.atomic = False
            for section in around:
                self._demote(section.lock.function)
            return True
        outer = old.blocks(at)
        name = _function_name(old, outer[0][0]) if outer else None
        if name and name not in self.unsafe:
            self._add(old.path, old.line(at), "call", name, error.message)
            self._demote(name)
            return True
        return False

    def _demote(self, function: str) -> None:
        """A function that is not safe after all: nor is what reaches it."""
        self.unsafe.add(function)
        for section in self.chosen:
            if section.atomic and function in self.names_reached(section):
                section.atomic = False
                self._add(section.text.path, section.lock.line, "call", section.lock.key,
                          f"reaches {function}, which is not safe")  # fmt: skip

    def names_reached(self, section) -> set[str]:
        calls = plan.calls_in(section, self.graph)
        return {self.graph.name(title) for title in self.graph.reached(calls)}

    # ---- writing ----------------------------------------------------------------------------

    def _write(self) -> tuple[dict[str, str], dict[str, Edits]]:
        texts = self.program.texts
        edits = {name: Edits() for name in texts}
        labels = self._write_conditions(edits)
        number = 0
        for section in sorted(self.chosen, key=lambda s: (s.text.path, s.start)):
            restart = f"{labels[section]}: " if section in labels else ""
            number = sections.write(section, edits[section.text.path], number, restart)
        wordlocks.write(self.plan, edits)
        self._write_names_of_old(edits)
        for text, start, stop in self.volatile:
            edits[text.path].replace(start, stop, "")
        for place in self.atomics:
            words.write_atomic(place, edits[place.text.path])
        words.write_accesses(self.uses, edits)
        self._write_declarations(edits)
        self._write_includes(edits)
        for name in self.program.broken:
            edits[name] = Edits()
        return {name: edits[name].apply(text.text) for name, text in texts.items()}, edits

    def _write_names_of_old(self, edits: dict[str, Edits]) -> None:
        """What was written out for the analysis, and stays a lock, is called as before."""
        ops = [op for s in self.chosen for op in (s.lock, s.unlock, *(e.unlock for e in s.exits))]
        gone = {(op.text.path, op.at) for op in [*ops, *self.plan.word_operations]}
        gone |= {(u.text.path, u.at) for u in self.plan.uses if u.name not in self.plan.stays}
        for path, all_of in self.written.original.items():
            text = self.program.texts[path].text
            for was in all_of:
                places = {(path, was.start), (path, was.end)}  # a (void) ends where its call begins
                stays = not places & gone and text[was.start : was.end] == was.by
                if stays and not edits[path].touch(was.start, was.end):
                    edits[path].replace(was.start, was.end, was.was)

    def _write_conditions(self, edits: dict[str, Edits]) -> dict:
        labels = {}
        rewritten = {use.name for use in self.plan.uses} - self.plan.stays
        for use in self.plan.uses:
            if use.name not in rewritten:
                continue
            word = self.plan.word_under(use)
            section = self.plan.section_of(use) if use.waits and not word else None
            kind = conditions.pattern(use, section) if section else "word" if word else None
            if kind == "loop":
                labels.setdefault(section, f"syncopate_again_{len(labels) + 1}")
            label = labels.get(section, "") if section else ""
            conditions.write(use, edits[use.text.path], label, kind)
        conditions.write_declarations(rewritten, self.program.texts, edits)
        return labels

    def _attribute(self, title: str) -> str:
        """What to declare of a function that transactions reach."""
        if not self.stage.is_maximal:
            return "transaction_callable"
        name = self.graph.name(title)
        calls = self.graph.calls.get(title, [])
        chains = self.graph.chains(calls)
        below = {self.graph.name(t) for t in self.graph.reached(calls)} | {name}
        holds = any(s.lock.function in below and not s.atomic for s in self.chosen)
        unsafe = chains or holds or below & self.unsafe
        return "transaction_callable" if unsafe else "transaction_safe"

    def _write_declarations(self, edits: dict[str, Edits]) -> None:
        if not self.stage.declares:
            return
        pointed = {title for kind in self.types for title in kind.targets}
        for title in sorted(self.reached | pointed):
            name = self.graph.name(title)
            own = self.program.relative(title.rpartition(":")[0])  # of a static function: its file
            if name in self.untouchable or (own and title not in pointed):
                continue  # static: the compiler sees for itself
            if name in self.variadic:
                self._write_variadic(self.variadic[name], self._attribute(title), edits)
                continue
            attribute = f"__attribute__(({self._attribute(title)})) "
            for text in self.program.texts.values():
                for at in _declarations(text, name) if own in ("", text.path) else ():
                    if own or not _STATIC.match(text.code, at):  # another one of that name
                        edits[text.path].insert(at, attribute)
        for kind in self.types:
            safe = all(self._attribute(t) == "transaction_safe" for t in kind.targets)
            word = "transaction_safe" if safe else "transaction_callable"
            edits[kind.text.path].insert(kind.end, f" __attribute__(({word}))")

    def _write_variadic(self, one: variadic.Variadic, attribute: str, edits: dict) -> None:
        variadic.write_definition(one, edits[one.text.path], attribute)
        for text in self.program.texts.values():
            for at in _declarations(text, one.name):
                end = text.call_end(text.code.index(one.name, at))
                closed = re.compile(r"[^;{]*;").match(text.code, end)
                if closed:
                    edits[text.path].insert(closed.end(), variadic.declaration(one, attribute))

    def _write_includes(self, edits: dict[str, Edits]) -> None:
        waits = {u.name for u in self.plan.uses} - self.plan.stays
        for name, text in self.program.texts.items():
            is_source = name in self.program.sources()
            names_condition = any(re.search(rf"\b{w}\b", text.code) for w in waits)
            headers = []
            transactional = is_source and self._is_transactional(name, edits[name])
            if transactional and self.stage.wraps_library:
                headers.append("wrap_libc.h")
            if transactional and self.stage.puts_off:
                headers.append("wrap_output.h")
            if names_condition and (edits[name] if is_source else _PTHREAD_COND.search(text.code)):
                headers.append("condition.h")
            if wordlocks.touches(text, self.plan):
                headers.append("word_lock.h")
            declares = (_declarations(text, name) for name in self.variadic)
            if any(declares) and not re.search(r"#\s*include\s*<stdarg\.h>", text.text):
                edits[name].insert_line(behind_includes(text.text), "#include <stdarg.h>\n")
            lines = [f"#include <syncopate/tm/{header}>\n" for header in headers]
            if transactional and self.stage.puts_off:
                lines += [
                    f"extern __typeof__({one}) {one} __attribute__((transaction_pure));\n"
                    for one in self._pure_in(name)
                ]
            if lines:
                edits[name].insert_line(behind_includes(text.text), "".join(lines))

    def _is_transactional(self, name: str, edits: Edits) -> bool:
        """Whether what is written into a file makes code of it run in transactions."""
        text = self.program.texts[name].text
        return len(_TRANSACTIONAL.findall(edits.apply(text))) > len(_TRANSACTIONAL.findall(text))

    def _pure_in(self, file: str) -> list[str]:
        """The functions that the user vouches for and this file calls."""
        if not self.how.pure:
            return []
        called = {
            self.graph.name(c.callee)
            for calls in self.graph.calls.values()
            for c in calls
            if c.file == file and c.callee not in self.graph.defined
        }
        return sorted(name for name in called if self.how.pure.search(name))


def _said(error: CompilerError) -> str:
    """What the compiler finds wrong, and why where it does not say."""
    message = error.message.strip(" :")
    if "inlining failed" in message:
        message += " (with -fgnu-tm, GCC 12 inlines no function with the attribute const)"
    return message


def _function_name(text: CText, opening: int) -> str | None:
    """The function whose body opens at an offset."""
    head = text.level(max(text.code.rfind("}", 0, opening), 0), opening)
    match = re.search(r"(\w+)\s*\(\s*\)\s*$", re.sub(r"\([^()]*\)", "()", head))
    return match.group(1) if match else None


def _declarations(text: CText, name: str) -> list[int]:
    """Where the declarations and the definition of a function begin, at file level."""
    found = []
    for match in re.finditer(rf"\b{name}\s*\(", text.code):
        end = text.call_end(match.start())
        if end < 0 or text.blocks(match.start()):
            continue
        if not _DECLARED.match(text.code, end):
            continue
        back = max(text.code.rfind(c, 0, match.start()) for c in ";}")
        start = re.compile(r"\s*").match(text.code, back + 1).end()
        if start < match.start():
            found.append(start)
    return found
