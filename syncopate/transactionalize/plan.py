"""Decides which locks become transactions. A lock does when all of its sections can; otherwise all
of them stay, since transactions and a lock do not exclude each other."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass, field

from syncopate.transactionalize import (
    bitfields,
    conditions,
    effects,
    indirect,
    lent,
    locks,
    sections,
    wordlocks,
)
from syncopate.transactionalize.callgraph import INDIRECT, WAITING, Call, CallGraph, waiting
from syncopate.transactionalize.conditions import last_word
from syncopate.transactionalize.definitions import functions
from syncopate.transactionalize.locks import Operation
from syncopate.transactionalize.program import Program
from syncopate.transactionalize.sections import Refused, Section

_OF_ANOTHER = "unlocks what another function locked"
_VA_ARG = re.compile(r"\bva_arg\s*\(")
# While that runs, no transaction does; and who has that lock may wait for one to begin.
OF_OTHERS = "may wait for a lock that stays, in a function of the library's users"


@dataclass
class NotDone:
    """One line of the list of what was not done."""

    file: str
    line: int
    kind: str  # "section" | "call" | "condition" | "word"
    what: str
    why: str
    chain: list[str] = field(default_factory=list)


@dataclass(eq=False)
class Plan:
    """What is going to be rewritten, and what is not."""

    operations: list[Operation] = field(default_factory=list)
    formed: list[Section] = field(default_factory=list)
    kept: dict[str, list[NotDone]] = field(default_factory=dict)
    not_asked: set[str] = field(default_factory=set)
    uses: list[conditions.Use] = field(default_factory=list)
    stays: set[str] = field(default_factory=set)  # condition variables
    words: set[str] = field(default_factory=set)  # locks that small transactions take
    word_operations: list[Operation] = field(default_factory=list)
    pointed: list[Operation] = field(default_factory=list)  # each on one of several locks
    unfit: dict[str, str] = field(default_factory=dict)  # functions GCC spoils -> what they do

    def stays_lock(self, key: str) -> bool:
        return key in self.kept or key in self.not_asked

    def is_word(self, op: Operation) -> bool:
        return op.key in self.words or bool(op.may and op.may <= self.words)

    def word_under(self, use: conditions.Use) -> str | None:
        """The lock that a wait gives back, if that is a word."""
        return next((key for key in self.words if use.waits and use.may_wait_on(key)), None)

    def sections(self) -> list[Section]:
        return [s for s in self.formed if not self.stays_lock(s.lock.key)]

    def keep(self, key: str, file: str, line: int, why: str, chain=(), kind="section") -> None:
        entries, entry = (
            self.kept.setdefault(key, []),
            NotDone(file, line, kind, key, why, [*chain]),
        )
        if entry not in entries:
            entries.append(entry)

    def section_of(self, use: conditions.Use) -> Section | None:
        """The innermost section around a use, of those that are formed."""
        around = [s for s in self.formed if s.holds(use.text.path, use.at)]
        return max(around, key=lambda s: s.start) if around else None


@dataclass(frozen=True)
class Wanted:
    """Which locks the user wants to be rewritten, by their names; and those of them as words."""

    locks: re.Pattern
    words: re.Pattern | None = None
    ones: frozenset[str] = frozenset()  # locks that stand for several, and are sections
    spoiled: tuple[NotDone, ...] = ()  # sections that did not compile as transactions

    def with_one(self, *names: str) -> Wanted:
        return dataclasses.replace(self, ones=self.ones | set(names))

    def as_section(self, key: str) -> bool:
        return key in self.ones or bool(self.locks.search(key))

    def as_word(self, key: str) -> bool:
        return key not in self.ones and bool(
            self.words and self.words.search(key) and self.locks.search(key)
        )


def make(
    program: Program, wanted: Wanted, graph: CallGraph, found: list, written, hidden,
    tried: set[tuple[str, int]],
) -> Plan:  # fmt: skip
    """The plan for a program whose facts about sections are `found`. Of these locks, those at
    `tried` are tries that a transaction would make succeed."""
    plan = Plan()
    bit_fields = program.bit_fields()  # before it is asked which files cannot be judged
    for name, touched in bit_fields.items():
        plan.unfit[name] = f"touches {_described(touched[0])}"
    for name in _taking_arguments(program):
        plan.unfit[name] = f"calls va_arg (in {name}), at which GCC fails in transactions"
    everywhere = locks.operations(found, program.texts, written)
    plan.operations = [op for op in everywhere if not op.inner]
    plan.not_asked = {op.key for op in plan.operations if not wanted.as_section(op.key)}
    plan.uses = conditions.uses(program.facts("conditions"), program.texts)
    plan.stays = {  # what a pointer may mean
        name for name in {use.name for use in plan.uses}
        if conditions.used_otherwise(name, plan.uses, program.texts)
    }  # fmt: skip
    _keep_what_is_not_understood(plan, program, everywhere, written)
    _keep_what_is_timed(plan, program, everywhere)
    _keep_what_macros_hide(plan, everywhere, hidden)
    for one in wanted.spoiled:
        plan.keep(one.what, one.file, one.line, one.why)
    wordlocks.choose(plan, program, wanted, everywhere)
    _keep_what_processes_share(plan, program, everywhere)
    does = effects.of(program.texts)
    _keep_what_is_lent(plan, program, everywhere, does)
    _keep_what_pointers_lock(plan, program, written)
    plan.pointed = [op for op in everywhere if op.may]
    wordlocks.settle(plan)
    _form_sections(plan, found, hidden, sections.without_return(program.texts), does)
    _refuse_overlaps(plan)
    for op in lent.within_itself(plan, tried, calls_in, graph):
        plan.keep(op.key, op.text.path, op.line, "a try by who holds it already, which must fail")
    through = indirect.everywhere(graph, program.texts)
    known = -1
    while known != len(plan.kept):
        known = len(plan.kept)
        _judge_conditions(plan, program)
        _judge_waiting(plan, graph, through)
        _judge_fitness(plan, graph, bit_fields)
    return plan


def _keep_what_is_not_understood(plan: Plan, program: Program, everywhere, written) -> None:
    """Locks in files that do not compile, and where Coccinelle did not find what the text says."""
    for op in everywhere:
        if op.text.path in program.broken:
            why = f"is used in {op.text.path}, which cannot be judged"
            plan.keep(op.key, op.text.path, op.line, why)
    for use in plan.uses:
        if use.text.path in program.broken:
            plan.stays.add(use.name)
    seen = {(op.text.path, op.at) for op in everywhere}
    keys = {op.key for op in everywhere}
    for text in program.texts.values():
        for at, key in locks.unseen(text, seen, written):
            for one in {k for k in keys if k.rsplit(".", 1)[-1] == key.rsplit(".", 1)[-1]} or {key}:
                plan.keep(one, text.path, text.line(at), "Coccinelle does not understand this use")


def _keep_what_pointers_lock(plan: Plan, program: Program, written) -> None:
    """Locks that a function may be called for whose address is taken: any, or the one that a
    thread's handler is given with it."""
    keys = {op.key for op in plan.operations}
    for file, line, name, mutex in written.pointers:
        text = program.texts[file]
        at = text.offset(line, 0)
        for key in keys if mutex is None else locks.possible(mutex, text, at, keys, program.texts):
            plan.words.discard(key)
            plan.keep(key, file, line, f"{name} may be called for it through a pointer")


def _keep_what_is_timed(plan: Plan, program: Program, everywhere: list[Operation]) -> None:
    """Locks that are also taken with a time limit, which neither transactions nor words have."""
    keys = {op.key for op in everywhere}
    for text in program.texts.values():
        for at, mutex in locks.timed(text):
            for one in locks.possible(mutex, text, at, keys, program.texts):
                plan.keep(one, text.path, text.line(at), "is locked with a time limit")


def _keep_what_macros_hide(plan: Plan, everywhere: list[Operation], hidden) -> None:
    """What a macro means that does more than one operation (hiddenmacros.py)."""
    keys = {op.key for op in everywhere}
    for use in hidden:
        why = f"the macro {use.macro} does not just lock or unlock it"
        if use.mutex is not None:
            key = locks.key_of(use.mutex, None)
            last = key.rsplit(".", 1)[-1]
            unknown = key.startswith("?") and not key.startswith("?.")
            for one in {k for k in keys if unknown or k.rsplit(".", 1)[-1] == last} or {key}:
                plan.keep(one, use.file, use.line, why)
        if use.condition is not None:
            plan.stays |= {u.name for u in plan.uses
                           if not use.condition or u.name == last_word(use.condition)}  # fmt: skip


def _keep_what_processes_share(plan: Plan, program: Program, everywhere: list[Operation]) -> None:
    """Transactions are of one process, and so are words."""
    keys = {op.key for op in everywhere}
    for text, at, names in locks.shared_between_processes(program.texts):
        for key in keys:
            if locks.is_among(key, names):
                plan.words.discard(key)
                why = "its attributes may share it between processes"
                plan.keep(key, text.path, text.line(at), why)


def _keep_what_is_lent(plan: Plan, program: Program, everywhere, does: effects.Effects) -> None:
    """What functions of other libraries may lock."""
    keys = {op.key for op in everywhere}
    for name, text, at, called in lent.to_others(program.texts, keys, does.macros):
        for key in {k for k in keys if k.rsplit(".", 1)[-1] == name}:
            plan.words.discard(key)
            why = f"its address goes to {called}, which is not in these files"
            plan.keep(key, text.path, text.line(at), why)


def _form_sections(
    plan: Plan, found: list, hidden: list, ending: set[str], does: effects.Effects
) -> None:
    place = {(op.text.path, op.at): op for op in plan.operations}
    all_unlocks = [op for op in plan.operations if op.kind == "unlock"]
    ends: dict[Operation, set[Operation]] = {}
    held: dict[Operation, list[int]] = {}
    for fact in found:
        text = plan.operations and _text(plan, fact.file)
        if fact.kind not in ("pair", "held") or not text:
            continue
        lock = place.get((fact.file, text.offset(fact.line, fact.column)))
        if lock and plan.is_word(lock):
            continue
        if lock and fact.kind == "held":
            held.setdefault(lock, []).append(fact.more["to_line"])
        elif lock:
            unlock = place.get((fact.file, text.offset(*fact.to)))
            if unlock and unlock.key == lock.key:
                ends.setdefault(lock, set()).add(unlock)
    owners: dict[Operation, list[Operation]] = {}
    for lock, unlocks in ends.items():
        for unlock in unlocks:
            owners.setdefault(unlock, []).append(lock)
    for op in plan.operations:
        if plan.is_word(op):
            continue
        if op.kind == "trylock":
            plan.keep(
                op.key, op.text.path, op.line, "a trylock that is no spin loop and no plain if"
            )
        elif op.kind == "unlock" and op not in owners:
            own = any(
                one.function == op.function and one.key == op.key and one.kind != "unlock"
                for one in plan.operations
            ) or _is_used_beside(op, hidden)
            why = "ends no section that is a block" if own else _OF_ANOTHER
            plan.keep(op.key, op.text.path, op.line, why)
        elif op.kind == "lock":
            unlocks = sorted(ends.get(op, ()), key=lambda u: u.at)
            try:
                if any(len(owners[u]) > 1 for u in unlocks):
                    raise Refused("an unlock that ends it ends another section, too")
                held_at = held.get(op, [])
                formed = sections.form(op, unlocks, held_at, all_unlocks, ending, does)
                plan.formed.append(formed)
            except Refused as refused:
                plan.keep(op.key, op.text.path, op.line, str(refused))


def _is_used_beside(op: Operation, hidden: list) -> bool:
    """Whether a macro that does more than lock is used in an operation's function."""
    start, stop = op.text.blocks(op.at)[0]
    lines = range(op.text.line(start), op.text.line(stop) + 1)
    return any(use.file == op.text.path and use.line in lines for use in hidden)


def _text(plan: Plan, file: str):
    return next((op.text for op in plan.operations if op.text.path == file), None)


def _refuse_overlaps(plan: Plan) -> None:
    for one in plan.formed:
        for other in plan.formed:
            if one.text is other.text and one.start <= other.lock.at < one.end < other.end:
                for section in (one, other):
                    plan.keep(section.lock.key, section.text.path, section.lock.line,
                              "two sections overlap and neither holds the other")  # fmt: skip


def _judge_conditions(plan: Plan, program: Program) -> None:
    for use in plan.uses:
        if not use.waits or plan.word_under(use):
            continue
        section = plan.section_of(use)
        file = use.text.path
        if section and not plan.stays_lock(section.lock.key):
            if conditions.pattern(use, section) is None:
                why = (
                    f"waits in the middle of it (line {use.line}): a transaction cannot sleep there"
                )
                if use.call != "pthread_cond_wait":
                    why = f"waits with a time limit (line {use.line})"
                plan.keep(section.lock.key, file, section.lock.line, why)
            elsewhere = conditions.used_otherwise(use.name, plan.uses, program.texts)
            if elsewhere:
                why = f"waits for {use.name}, which is used otherwise at {elsewhere}"
                plan.keep(section.lock.key, file, section.lock.line, why)
        elif not section:
            for key in {op.key for op in plan.operations}:
                if use.may_wait_on(key) and key not in plan.kept:
                    plan.keep(key, file, use.line, "waits for a condition outside of its sections")
        if not section or plan.stays_lock(section.lock.key):
            plan.stays.add(use.name)
    wordlocks.judge(plan)
    for use in plan.uses:  # another lock waits for a condition that stays one of pthread's
        section = plan.section_of(use) if use.waits and use.name in plan.stays else None
        if section and not plan.stays_lock(section.lock.key):
            why = f"waits for {use.name} (line {use.line}), which stays as it is"
            plan.keep(section.lock.key, use.text.path, section.lock.line, why)


def rewritten_places(plan: Plan) -> set[tuple[str, int, int]]:
    """Where calls stand that will be gone."""
    done = set()
    for section in plan.sections():
        ops = [section.lock, section.unlock, *(e.unlock for e in section.exits)]
        done |= {op.text.place(op.at) for op in ops}
    done |= {
        use.text.place(use.at)
        for use in plan.uses
        if use.name not in plan.stays and not plan.word_under(use)
    }
    done |= {op.text.place(op.at) for op in plan.word_operations if op.kind != "lock"}
    return done


def calls_in(section: Section, graph: CallGraph) -> list[Call]:
    """The calls that stand in a section, but for those that an early exit takes out of it."""
    text = section.text
    found = []
    for call in graph.of_function(text.path, section.lock.function):
        at = text.offset(call.line, call.column - 1)
        if section.runs(text.path, at):
            found.append(call)
    return found


def describe(chain: list[Call], graph: CallGraph) -> list[str]:
    def one(call: Call) -> str:
        through = (call.file, call.line, call.column) in graph.indirect
        how = " through a pointer" if through else ""
        return f"{graph.name(call.callee)}{how} at {call.file}:{call.line}"

    return [one(call) for call in chain]


def _judge_waiting(plan: Plan, graph: CallGraph, through: dict) -> None:
    """`through`: whom calls through pointers may reach."""
    graph.done, graph.indirect = rewritten_places(plan), through
    of_others = graph.waiting_from_outside()
    for section in plan.sections():
        calls = calls_in(section, graph)
        chain = waiting(graph.chains(calls), graph)
        place = section.lock.key, section.text.path, section.lock.line
        if chain:
            why = wordlocks.waits(chain[-1], plan) or WAITING[graph.name(chain[-1].callee)]
            plan.keep(*place, why, describe(chain, graph))
        elif of_others and (pointer := graph.through_pointer(calls)):
            name, chain = of_others
            told = [
                f"{graph.name(INDIRECT)} at {pointer.file}:{pointer.line}, which may call {name}"
            ]
            plan.keep(*place, OF_OTHERS, [*told, *describe(chain, graph)])
    graph.indirect = {}


def _described(touched: bitfields.Access) -> str:
    place = f"{touched.file}:{touched.line}"
    return f"the bit-field {touched.member} ({place}), which GCC compiles wrongly in transactions"


def _taking_arguments(program: Program) -> list[str]:
    """The functions with a va_arg: GCC 12 crashes where a transaction reaches one."""
    return [
        name
        for text in program.texts.values()
        for name, _, _, opening, closing in functions(text)
        if _VA_ARG.search(text.code, opening, closing)
    ]


def _judge_fitness(plan: Plan, graph: CallGraph, bit_fields: dict) -> None:
    """Sections with what GCC does not compile in transactions, in themselves or in what they call.
    Whom pointers call is not among that: without a declared type, that runs alone, as it is."""
    for section in plan.sections():
        text = section.text
        lines = range(text.line(section.start), text.line(section.end) + 1)
        of_function = bit_fields.get(section.lock.function, [])
        here = [a for a in of_function if a.file == text.path and a.line in lines]
        chain = [] if here else graph.chain_into(calls_in(section, graph), plan.unfit)
        if here or _VA_ARG.search(text.code, section.start, section.end):
            why = f"touches {_described(here[0])}" if here else plan.unfit[section.lock.function]
        elif chain:
            why = plan.unfit[graph.name(chain[-1].callee)]
        else:
            continue
        plan.keep(section.lock.key, text.path, section.lock.line, why, describe(chain, graph))
