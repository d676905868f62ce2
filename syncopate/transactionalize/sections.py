"""Forms critical sections: which lock and unlock become the braces of a transaction, and what is
done about those that leave early. A section that cannot be written as a block is refused, with the
reason; its lock, wherever it is used, then stays a lock."""

import re
from dataclasses import dataclass, field

from syncopate.transactionalize.ctext import CText, Edits
from syncopate.transactionalize.locks import Operation

_JUMP = re.compile(r"\b(return\b[^;]*|goto\s+\w+\s*|break\s*|continue\s*);")
_DECLARATION = re.compile(
    r"(?:^|(?<=[;{}]))\s*((?:(?:const|static|volatile|unsigned|signed|struct|enum|union)\s+)*"
    r"(?!(?:return|goto|else|case|do|break|continue)\b)[A-Za-z_]\w*(?:\s+\*+\s*|\s*\*+\s*|\s+))"
    r"(\w+)\s*(\[|=(?!=)|;|,)"
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
    exits: list["Exit"] = field(default_factory=list)
    hoisted: list[tuple[int, int, str]] = field(default_factory=list)
    atomic: bool = False

    @property
    def text(self) -> CText:
        return self.lock.text

    @property
    def end(self) -> int:
        return self.unlock.at

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


def form(
    lock: Operation, unlocks: list[Operation], held_at: list[int], all_unlocks: list[Operation]
) -> Section:
    """The section that begins with `lock`. Raises Refused."""
    text = lock.text
    start = text.statement_end(lock.at)
    if start < 0:
        raise Refused("the lock is not a statement of its own")
    if lock.key.startswith("?") and not lock.key.startswith("?."):
        raise Refused("it is not known which lock that is")
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
    _check_labels(section)
    own = [u for u in unlocks if u is not section.unlock]
    for unlock in own:
        section.exits.append(_exit(section, unlock, own, all_unlocks))
    _hoist(section)
    return section


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
    section: Section, unlock: Operation, own: list[Operation], all_unlocks: list[Operation]
) -> Exit:
    text, line = section.text, unlock.line
    after = text.statement_end(unlock.at)
    if not section.holds(text.path, unlock.at) or after < 0:
        raise Refused(f"the unlock at line {line} is no early exit")
    inner = text.block(unlock.at)
    level = text.level(after, inner[1])
    jump = _JUMP.search(level)
    if not jump or re.search(r"\bcase\b|\bdefault\s*:", level[: jump.start()]):
        raise Refused(f"it unlocks at line {line} and goes on")
    _check_target(section, unlock, jump.group())
    end = after + jump.end()
    between = text.code[after : after + jump.start()]
    others = [u for u in all_unlocks if u.text is text and after <= u.at < end and u not in own]
    for other in others:  # unlocks of the sections around this one, which end with it
        stop = text.statement_end(other.at)
        between = between.replace(text.code[other.at : stop], "")
    if not between.strip() and "(" not in jump.group():
        return Exit(unlock, end, False)
    if others or any(after <= u.at < end for u in own):
        raise Refused(f"code follows the unlock at line {line}, and other unlocks do")
    declared = {m.group(2) for m in _DECLARATION.finditer(text.code, section.start, section.end)}
    used = declared & set(re.findall(r"\w+", text.code[after:end]))
    if used:
        raise Refused(f"what follows the unlock at line {line} uses {min(used)}, declared within")
    return Exit(unlock, end, True)


def _check_target(section: Section, unlock: Operation, jump: str) -> None:
    text = section.text
    word, *target = re.findall(r"\w+", jump)
    if word == "goto":
        label = re.search(
            rf"(?<=[;{{}}:])\s*{target[0]}\s*:", text.code[section.start : section.end]
        )
        if label:
            raise Refused(f"the goto behind the unlock at line {unlock.line} stays within it")
    if word in ("break", "continue"):
        for opening, _ in text.blocks(unlock.at):
            loops = ("for", "while", "do") + (("switch",) if word == "break" else ())
            if opening > section.start and set(governors(text, opening)) & set(loops):
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


def _hoist(section: Section) -> None:
    """Declarations of the section's own level that are used behind it move before it."""
    text = section.text
    after = text.code[text.statement_end(section.end) : text.block(section.lock.at)[1]]
    level = text.level(section.start, section.end)
    for match in _DECLARATION.finditer(level):
        name, follows = match.group(2), match.group(3)
        if not re.search(rf"\b{name}\b", after):
            continue
        start = section.start + match.start(1)
        stop = level.find(";", match.end(3) - 1) + section.start + 1
        whole = text.code[start:stop]
        single = follows == ";" or (follows == "=" and "," not in re.sub(r"\(.*\)", "", whole))
        if not single or "const" in whole or "{" in whole or text.before(section.lock.at) == ":":
            raise Refused(f"{name}, declared in line {text.line(start)}, is used behind it")
        if follows == "=":  # the type goes, the assignment stays
            stop = section.start + match.start(2)
        section.hoisted.append((start, stop, f"{match.group(1).strip()} {name};"))


def write(section: Section, edits: Edits, number: int, restart: str) -> int:
    """Puts the section's edits; `restart` is a label to put before it, or "". Returns the number
    for the next label."""
    text = section.text
    word = "__transaction_atomic" if section.atomic else "__transaction_relaxed"
    before = "".join(f"{declaration} " for _, _, declaration in section.hoisted) + restart
    padding = re.compile(r" *(?=\n)|").match(text.code, section.start).end()
    edits.replace(section.lock.at, padding, f"{before}{word} {{")
    for start, stop, _ in section.hoisted:
        edits.replace(start, stop, "")
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
