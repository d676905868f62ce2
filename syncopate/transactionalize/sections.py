"""Forms critical sections: which lock and unlock become the braces of a transaction, and what is
done about those that leave early. A section that cannot be written as a block is refused, with the
reason; its lock, wherever it is used, then stays a lock."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from syncopate.transactionalize.ctext import CText, Edits
from syncopate.transactionalize.declared import Declaration, Variable, declarations
from syncopate.transactionalize.definitions import functions
from syncopate.transactionalize.effects import Effects
from syncopate.transactionalize.locks import Operation

_JUMP = re.compile(r"\b(return\b[^;]*|goto\s+\w+\s*|break\s*|continue\s*);")
_LEAVES = {  # calls that do not return
    "exit", "_exit", "_Exit", "quick_exit", "abort", "__builtin_unreachable", "err", "errx", "verr",
    "verrx", "pthread_exit", "thrd_exit", "longjmp", "_longjmp", "siglongjmp",
}  # fmt: skip
_NO_RETURN = re.compile(r"\b\w*noreturn\w*\b", re.I)
_KEPT_LITERAL = re.compile(  # a variable, made to point to one
    r"\b(\w+)\s*=\s*(?:&\s*\([\w\s*]+\)|\([\w\s*]+\[\w*\]\s*\))\s*\{"
)
_LABEL = re.compile(r"(?<=[;{}])\s*(\w+)\s*:(?!:)")


class Refused(Exception):
    """Why a section cannot become a block."""


@dataclass(eq=False)
class Section:
    """One critical section that can be a block."""

    lock: Operation
    unlock: Operation
    start: int  # behind the lock's statement
    exits: list[Exit] = field(default_factory=list)
    # What goes before it: what is declared there; places, and what stays there.
    hoisted: list[tuple[str, list[tuple[int, int, str]]]] = field(default_factory=list)
    atomic: bool = False

    @property
    def text(self) -> CText:
        return self.lock.text

    @property
    def end(self) -> int:
        return self.unlock.at

    @property
    def code(self) -> str:
        return self.text.code[self.start : self.end]

    def holds(self, path: str, offset: int) -> bool:
        return self.text.path == path and self.start <= offset < self.end

    def runs(self, path: str, offset: int) -> bool:
        """As holds(), but not what moves behind the transaction."""
        moved = any(e.moves and e.unlock.at <= offset < e.end for e in self.exits)
        return self.holds(path, offset) and not moved


@dataclass(eq=False)
class Exit:
    """An unlock within a section that leaves it by a jump, which ends at `end`. Where more than
    the jump follows it, that `moves` behind the transaction."""

    unlock: Operation
    end: int
    moves: bool


def without_return(texts: dict[str, CText]) -> set[str]:
    """The functions that do not return, as far as declarations say; the C library's, where the
    program has none of that name."""
    own = {function[0] for text in texts.values() for function in functions(text)}
    found = _LEAVES - own
    for text in texts.values():
        for match in _NO_RETURN.finditer(text.code):
            if text.blocks(match.start()):
                continue
            start = max(text.code.rfind(c, 0, match.start()) for c in ";}") + 1
            end = re.compile(r"[^;{]*").match(text.code, match.end()).end()
            called = re.findall(r"\b(\w+)\s*\(", text.level(start, end))
            found |= {word for word in called if not word.startswith("__attribute")}
    return found


def form(
    lock: Operation,
    unlocks: list[Operation],
    held_at: list[int],
    all_unlocks: list[Operation],
    ending: set[str],
    effects: Effects,
) -> Section:
    """The section that begins with `lock`; calls of `ending` do not return. Raises Refused."""
    text = lock.text
    start = text.statement_end(lock.at)
    if start < 0:
        raise Refused("the lock is not a statement of its own")
    if lock.key.startswith("?") and not lock.key.startswith("?."):
        raise Refused("it is not known which lock that is")
    split = [at for at in held_at if not _balances(text, lock.at, at)]
    if split:  # one of the branches that are looked at as if both were there
        raise Refused(f"an #if begins or ends between it and the return in line {split[0]}")
    if held_at:
        raise Refused(f"the function returns with the lock held (line {held_at[0]})")
    if not unlocks:
        own = any(u.function == lock.function and u.key == lock.key for u in all_unlocks)
        alone = "no unlock is its own alone" if own else "its unlock is in another function"
        raise Refused(alone)
    block = text.block(lock.at)
    last = [u for u in unlocks if text.block(u.at) == block and u.at > lock.at]
    if len(last) != 1:
        raise Refused("no single unlock ends the block that the lock begins in")
    section = Section(lock, last[0], start)
    if text.statement_end(section.end) < 0:
        raise Refused("the unlock is not a statement of its own")
    if not text.conditional_directives_balance(lock.at, section.end):
        raise Refused("an #if begins or ends within it")
    if not section.code.strip():
        raise Refused("it is empty: it waits for the holder, or asks whether there is one")
    _check_labels(section)
    for one in (lock, *unlocks):  # the lock's name is gone from the result
        if any(effects.changes(argument) for argument in text.arguments(one.at)):
            raise Refused(f"what names it in line {one.line} does more than that")
    own = [u for u in unlocks if u is not section.unlock]
    for unlock in own:
        section.exits.append(_exit(section, unlock, own, all_unlocks, ending))
    _hoist(section, effects)
    return section


def _balances(text: CText, start: int, line: int) -> bool:
    end = text.offset(line, 0)
    inside = text.text[start:end]
    return end < start or (
        text.conditional_directives_balance(start, end)
        and not re.search(r"^[ \t]*#[ \t]*if", inside, re.M)
    )


def _check_labels(section: Section) -> None:
    text = section.text
    if re.search(r"\b(case\b|default\s*:)", text.level(section.start, section.end)):
        raise Refused("a case label stands within it")
    function = text.blocks(section.lock.at)[0]
    for label in _LABEL.finditer(text.code, section.start, section.end):
        for jump in re.finditer(rf"\bgoto\s+{label.group(1)}\b", text.code[slice(*function)]):
            if not section.holds(text.path, function[0] + jump.start()):
                raise Refused(f"goto {label.group(1)} jumps into it")


def _exit(
    section: Section,
    unlock: Operation,
    own: list[Operation],
    all_unlocks: list[Operation],
    ending: set[str],
) -> Exit:
    text, line = section.text, unlock.line
    after = text.statement_end(unlock.at)
    if not section.holds(text.path, unlock.at) or after < 0:
        raise Refused(f"the unlock at line {line} is no early exit")
    jump = _leaving(text.level(after, text.block(unlock.at)[1]), ending)
    if not jump:
        raise Refused(f"it unlocks at line {line} and goes on")
    end = after + jump.end()
    for one in _JUMP.finditer(text.code, after, end):
        _check_target(section, unlock, one)
    between = text.code[after : after + jump.start()]
    others = [u for u in all_unlocks if u.text is text and after <= u.at < end and u not in own]
    for other in others:  # unlocks of the sections around this one, which end with it
        stop = text.statement_end(other.at)
        between = between.replace(text.code[other.at : stop], "")
    if not between.strip() and "(" not in jump.group():
        return Exit(unlock, end, False)
    if others or any(after <= u.at < end for u in own):
        raise Refused(f"code follows the unlock at line {line}, and other unlocks do")
    if not text.conditional_directives_balance(after, end):
        raise Refused(f"an #if begins or ends behind the unlock at line {line}")
    within = declarations(text, section.start, section.end)
    names = {v.name for d in within if not after <= d.start < end for v in d.variables}
    used = names & set(re.findall(r"\w+", text.code[after:end]))
    if used:
        raise Refused(f"what follows the unlock at line {line} uses {min(used)}, declared within")
    return Exit(unlock, end, True)


def _leaving(level: str, ending: set[str]) -> re.Match | None:
    """The first statement of a level that leaves whatever happens: a jump, a call that does not
    return, or the second of two jumps with an `else` between them."""
    calls = "|".join(sorted(ending))
    label = re.search(r"\bcase\b|\bdefault\s*:", level)
    former = None
    for match in re.finditer(rf"{_JUMP.pattern}|\b(?:{calls})\s*\([^;]*\)\s*;", level):
        before = level[: match.start()].rstrip()
        if label and label.start() < match.start():
            return None
        if before[-1:] in ("", ";", "{", "}", ":"):
            return match
        if before.endswith("else") and former == len(before[: -len("else")].rstrip()):
            return match
        former = match.end()
    return None


def _check_target(section: Section, unlock: Operation, jump: re.Match) -> None:
    """Refuses a jump behind an unlock that does not leave the section."""
    text = section.text
    word, *target = re.findall(r"\w+", jump.group())
    if word == "goto":
        label = re.search(
            rf"(?<=[;{{}}:])\s*{target[0]}\s*:", text.code[section.start : section.end]
        )
        if label:
            raise Refused(f"the goto behind the unlock at line {unlock.line} stays within it")
    if word in ("break", "continue"):
        loops = {"for", "while", "do"} | ({"switch"} if word == "break" else set())
        around = [o for o, _ in text.blocks(jump.start()) if set(governors(text, o)) & loops]
        if section.start < max(around, default=-1) < unlock.at:
            raise Refused(f"the {word} behind the unlock at line {unlock.line} stays within it")


def governors(text: CText, opening: int) -> list[str]:
    """The words that govern a block: ["if", "for"] for `for (...) if (...) {`."""
    words, at = [], opening
    while True:
        left = text.code[:at].rstrip()
        if left.endswith(")"):
            depth, at = 0, len(left) - 1
            while at >= 0:
                depth += (left[at] == ")") - (left[at] == "(")
                if depth == 0:
                    break
                at -= 1
            left = left[:at].rstrip()
        word = re.search(r"\b(for|while|if|switch|do|else)$", left)
        if not word:
            return words
        words.append(word.group())
        at = word.start()


def _hoist(section: Section, effects: Effects) -> None:
    """Declarations of the section's own level that are used behind it move before it."""
    text, block = section.text, section.text.block(section.lock.at)
    after = text.code[text.statement_end(section.end) : block[1]]
    for literal in _KEPT_LITERAL.finditer(section.code):
        place = section.start + literal.start(1)
        lasts = text.before(place) in tuple(">.*") or _named(literal[1], after)
        if text.block(place) == block and lasts:
            line = text.line(place)
            raise Refused(f"a compound literal in line {line}, which ends with it, is kept")
    within = declarations(text, section.start, section.end)
    for one in within:
        if text.block(one.start) != block:
            continue
        used = [v.name for v in one.variables if _named(v.name, after)]
        kept = [v.name for v in one.variables if _keeps_address(section, v, within, after)
                or effects.outlives(_address(v), section.code, after)]  # fmt: skip
        if not used and not kept:
            continue
        name, line = (used + kept)[0], one.line
        for moving in (v.name for v in one.variables):
            if _named(moving, text.code[section.lock.at : one.start]):
                raise Refused(f"{moving}, declared in line {line}, means something else before")
        moved = one.moved_out()
        if not moved or text.before(section.lock.at) == ":":
            how = "used" if used else "pointed to"
            raise Refused(f"{name}, declared in line {line}, is {how} behind it")
        section.hoisted.append(moved)


def _named(name: str, code: str) -> bool:
    return bool(re.search(rf"(?<![\w.])(?<!->){name}\b", code))


def _address(of: Variable) -> str:
    """Matches where a variable's address is taken."""
    return rf"(?:&\s*{of.name}\b" + (rf"|{of.name}\b(?!\s*\[))" if of.is_array else ")")


def _keeps_address(section: Section, of: Variable, within: list[Declaration], after: str) -> bool:
    """Whether a pointer that outlives the section is made to point to a variable of it."""
    code, address = section.code, _address(of)
    own = {v.name for d in within for v in d.variables} - set(re.findall(r"\w+", after))
    return any(
        match[1] not in own
        for match in re.finditer(rf"([\w\])]+)\s*=\s*(?:\([^()]*\)\s*)?{address}", code)
    )


def _room(section: Section) -> tuple[int, int, str]:
    """Where the lock's statement stands, with the blanks that a loop around it has left beside it,
    on lines of their own, too (locks.py); and what indents it, where those before it go."""
    text, start = section.text.text, section.lock.at
    stop = re.compile(r" *(?:\n +(?=\n))*(?=\n)|").match(text, section.start).end()
    lines = re.search(r"\n((?: +\n)+)( *)$", text[:start])
    return (lines.start(1), stop, lines[2]) if lines else (start, stop, "")


def write(section: Section, edits: Edits, number: int, restart: str) -> int:
    """Puts the section's edits; `restart` is a label to put before it, or "". Returns the number
    for the next label."""
    text = section.text
    word = "__transaction_atomic" if section.atomic else "__transaction_relaxed"
    # What is used behind the section around it, too, has gone before that one already.
    hoisted = [one for one in section.hoisted if not edits.touch(*one[1][0][:2])]
    before = "".join(f"{declaration} " for declaration, _ in hoisted) + restart
    start, stop, indentation = _room(section)
    edits.replace(start, stop, f"{indentation}{before}{word} {{")
    for start, stop, stays in (edit for _, replaced in hoisted for edit in replaced):
        edits.replace(start, stop, stays)
    closed = text.statement_end(section.end)
    for exit_ in section.exits:
        stop = text.statement_end(exit_.unlock.at)
        if exit_.moves:
            number += 1
            label = f"syncopate_left_{number}"
            edits.replace(exit_.unlock.at, stop, f"goto {label};")
            edits.move(stop, exit_.end, closed, f" if (0) {{ {label}:;", " }")
        else:
            edits.replace(exit_.unlock.at, stop, "")
    empty = ";" if text.before(section.end) == ":" else ""
    edits.replace(section.end, closed, f"{empty}}}")
    return number
