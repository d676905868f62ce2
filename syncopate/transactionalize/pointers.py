"""Which mutexes a pointer may mean: what the program's assignments, arguments and returned values
let it be, through `void*` as well. Variables are told apart by function, members by their name and,
where both are seen, by their structure; the order of statements is not looked at. What comes from
elsewhere (the heap, a function that is not given, arithmetic) is unknown, and so is all that it may
reach."""

from __future__ import annotations

import re

from syncopate.transactionalize.ctext import CText
from syncopate.transactionalize.definitions import functions
from syncopate.transactionalize.lockcalls import CAST, LOCK_TYPES, declarations_of

_LOCK = declarations_of(*LOCK_TYPES)
_DECLARED = re.compile(r"\s*(?:const\b)?\s*(\**)\s*(?:const\b)?\s*(\w+)\s*(\[[^=]*\])?")
_CALL = re.compile(r"\w+\s*\(")
_HEAD = re.compile(r"\b(?:struct|union)\s*(\w*)\s*$")
_NAME_BEHIND = re.compile(r"\s*(\w+)\s*;")
_BEFORE_BRACE = 300  # characters, in which a structure's name stands
_TYPEDEF = re.compile(r"\btypedef\s+(?:const\s+)?(?:(?:struct|union)\s+)?(\w+)[\s*]+(\w+)\s*;")
_PATH = re.compile(r"\w+(?:(?:->|\.)\w+)*")


class _Function:
    def __init__(self, text: CText, name: str, parameters: list[str], opening: int, closing: int):
        self.text, self.name = text, name
        self.opening, self.closing = opening, closing
        self.parameters = [(re.findall(r"\w+", p) or [""])[-1] for p in parameters]
        self.head = ", ".join(parameters)

    @property
    def body(self) -> str:
        return self.text.code[self.opening : self.closing]


class Unknown(Exception):
    """It may be anything."""


class Pointers:
    """Answers for the files given. Requires: these are all that use the mutexes."""

    def __init__(self, texts: dict[str, CText]):
        self._texts = texts
        self._functions = [
            _Function(text, name, parameters, opening, closing)
            for text in texts.values()
            for name, _, parameters, opening, closing in functions(text)
        ]
        self._variables: set[str] = set()  # mutexes, by name
        self._arrays: set[str] = set()
        self._members: dict[str, set[str]] = {}  # of mutexes: name -> their structures
        self._meant_by = _meanings(texts)  # a structure's other names -> the compiler's name for it
        self._read_mutexes()

    def _one_name(self, structure: str | None) -> str | None:
        seen = set()
        while structure in self._meant_by and structure not in seen:
            seen.add(structure)
            structure = self._meant_by[structure]
        return structure

    def _type_of(self, name: str, function) -> str | None:
        return self._one_name(_type_of(name, function))

    def meant(self, text: CText, at: int, expression: str) -> set[str] | None:
        """The keys of the locks that an expression at a place may mean; None: it is not known."""
        around = [f for f in self._functions if f.text is text and f.opening < at < f.closing]
        return self._answer(expression, around[0] if around else None)

    def meant_in_function(self, name: str, expression: str) -> set[str] | None:
        """The same for an expression in the function of that name."""
        named = [f for f in self._functions if f.name == name]
        return self._answer(expression, named[0]) if len(named) == 1 else None

    def _answer(self, expression: str, function) -> set[str] | None:
        try:
            return self._value(expression, function, set()) or None
        except Unknown:
            return None

    def _read_mutexes(self) -> None:
        for text in self._texts.values():
            for match in _LOCK.finditer(text.code):
                blocks = text.blocks(match.start())
                owner = self._one_name(_structure(text, blocks[-1])) if blocks else None
                for declared in re.sub(r"\{[^{}]*\}", "", match.group(1)).split(","):
                    one = _DECLARED.match(declared)
                    if one:
                        self._declare(*one.groups(), owner, bool(blocks))

    def _declare(self, stars: str, name: str, array: str, owner: str | None, local: bool) -> None:
        if owner is not None:
            self._members.setdefault(name, set()).add(owner)
        elif not stars:
            (self._arrays if array else self._variables).add(name)
        elif not local:
            self._arrays.add(name)  # allocated, and then used as one

    def owner(self, text: CText, at: int, path: str) -> str | None:
        """The structure that the last member of a path at a place belongs to, as declarations tell;
        None where they do not."""
        around = [f for f in self._functions if f.text is text and f.opening < at < f.closing]
        path = re.sub(r"\[[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*\]|[\s()&*]", "", path)
        first, *members = re.split(r"->|\.", path)
        if around and _is_local(first, around[0]):
            owner = self._type_of(first, around[0])
        else:
            owner = self._declared_type(rf"\b{first}", -1)
        for member in members[:-1]:
            owner = owner and self._declared_type(rf"\b{member}", self._structures().get(owner))
        known = self._members.get(members[-1], set()) if members else set()
        return owner if owner in known else None

    def _declared_type(self, name: str, block) -> str | None:
        """The one type with which a name is declared in a block, or (-1) at file level."""
        pattern = re.compile(
            r"(?:^|[;{}])\s*(?:(?:extern|static|const|volatile)\s+)*(?:struct\s+)?(\w+)[\s*]+"
            + name + r"\s*(?:\[[^\]]*\]\s*)*[;=]"
        )  # fmt: skip
        found = set()
        for text in self._texts.values() if block == -1 else [block[0]] if block else []:
            code = text.level(0, len(text.code)) if block == -1 else text.code[slice(*block[1])]
            found |= set(pattern.findall(code))
        return self._one_name(found.pop()) if len(found) == 1 else None

    def _structures(self) -> dict[str, tuple]:
        """Name -> file and block of what declares its members."""
        return {
            name: (text, block)
            for text in self._texts.values()
            for block in text.top_blocks()
            if (name := self._one_name(_structure(text, block)))
        }

    # ---- expressions ------------------------------------------------------------------------

    def _value(self, expression: str, function, seen: set) -> set[str]:
        """What an expression may point to. Raises Unknown."""
        text = _stripped(expression)
        if text in ("NULL", "0", "nullptr", ""):
            return set()
        choice = re.fullmatch(r"[^?]*\?(.*):(.*)", text, re.S)
        if choice:
            either = self._value(choice.group(1), function, seen)
            return either | self._value(choice.group(2), function, seen)
        if text.startswith("&"):
            return self._address(_stripped(text[1:]), function)
        if _CALL.match(text) and CText("", text).call_end(0) == len(text):
            return self._returned(re.match(r"\w+", text).group(), seen)
        path = _PATH.fullmatch(re.sub(r"\s*(->|\.)\s*", r"\1", text))
        if path:
            return self._stored(path.group(), function, seen)
        moved = re.fullmatch(r"(\w+)\s*\+\s*[^;]*", text)
        if moved and moved.group(1) in self._arrays:
            return {moved.group(1)}
        raise Unknown

    def _address(self, place: str, function) -> set[str]:
        path = re.sub(r"\[[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*\]", "", place.replace(" ", ""))
        words = re.split(r"->|\.", path)
        if len(words) == 1 and words[0] in self._variables | self._arrays:
            return {words[0]}
        if words[-1] in self._members and len(words) > 1:
            owners = self._members[words[-1]]
            owner = self._type_of(words[0], function) if len(words) == 2 else None
            owner = owner if owner in owners else next(iter(owners)) if len(owners) == 1 else "?"
            return {f"{owner}.{words[-1]}"}
        raise Unknown

    def _stored(self, path: str, function, seen: set) -> set[str]:
        """What has been stored in a variable or a member."""
        words = re.split(r"->|\.", path)
        if len(words) > 1:
            owner = self._type_of(words[0], function) if len(words) == 2 else None
            return self._once(("member", words[-1], owner), seen, self._of_member)
        if function and _is_local(path, function):
            return self._once(("local", function.name, path), seen, self._of_local, function)
        if path in self._arrays:
            return {path}
        return self._once(("global", path), seen, self._of_global)

    def _once(self, place: tuple, seen: set, find, *more) -> set[str]:
        if place in seen:
            return set()
        seen.add(place)
        return find(place, seen, *more)

    def _of_local(self, place: tuple, seen: set, function) -> set[str]:
        name = place[2]
        found = self._assigned(function, rf"(?<![\w.>])(?<!->){name}", seen)
        if name in function.parameters:
            found |= self._arguments(function, function.parameters.index(name), seen)
        return found

    def _of_global(self, place: tuple, seen: set) -> set[str]:
        found, declared = set(), False
        for text in self._texts.values():
            for match in re.finditer(rf"\b{place[1]}\s*=(?!=)\s*([^;,]*)[;,]", text.code):
                if not text.blocks(match.start()):
                    found |= self._value(match.group(1), None, seen)
            declared |= bool(re.search(rf"[\w*]\s*\b{place[1]}\s*[;=]", text.code))
        for function in self._functions:
            if not _is_local(place[1], function):
                found |= self._assigned(function, rf"(?<![\w.>])(?<!->){place[1]}", seen)
        if not declared:
            raise Unknown
        return found

    def _of_member(self, place: tuple, seen: set) -> set[str]:
        _, name, owner = place
        found = set()
        for function in self._functions:
            for match in re.finditer(rf"(\w+)\s*(?:->|\.)\s*{name}\s*=(?!=)", function.body):
                other = self._type_of(match.group(1), function)
                if owner and other and other != owner:
                    continue
                found |= self._right_side(function, match.end(), seen)
            if re.search(rf"&\s*\w+(?:\s*(?:->|\.)\s*\w+)*\s*(?:->|\.)\s*{name}\b", function.body):
                raise Unknown  # its address is taken
        for text in self._texts.values():
            for match in re.finditer(rf"[{{,]\s*\.\s*{name}\s*=(?!=)\s*([^,}}]*)", text.code):
                around = [f for f in self._functions if f.text is text
                          and f.opening < match.start() < f.closing]  # fmt: skip
                found |= self._value(match.group(1), around[0] if around else None, seen)
        return found

    def _assigned(self, function, left: str, seen: set) -> set[str]:
        if re.search(r"(?<!&)&\s*" + left.split(")")[-1] + r"\b(?!\s*(?:->|\.|\[))", function.body):
            raise Unknown  # others may store there
        found = set()
        for match in re.finditer(left + r"\s*(?:[-+*/|&^]|<<|>>)?=(?!=)", function.body):
            if match.group()[-2] in "-+*/|&^<>":
                raise Unknown
            found |= self._right_side(function, match.end(), seen)
        return found

    def _right_side(self, function, at: int, seen: set) -> set[str]:
        """Of an assignment: to the `;`, `,` or `)` that ends it."""
        body, depth, end = function.body, 0, at
        while end < len(body):
            if depth == 0 and body[end] in ";,)":
                break
            depth += (body[end] in "([{") - (body[end] in ")]}")
            end += 1
        return self._value(body[at:end], function, seen)

    def _returned(self, name: str, seen: set) -> set[str]:
        named = [f for f in self._functions if f.name == name]
        if not named:
            raise Unknown
        found = set()
        for function in named:
            if ("returned", function.text.path, name) in seen:
                continue
            seen.add(("returned", function.text.path, name))
            for match in re.finditer(r"\breturn\b([^;]*);", function.body):
                found |= self._value(match.group(1), function, seen)
        return found

    def _arguments(self, function, index: int, seen: set) -> set[str]:
        found, called = set(), False
        for text in self._texts.values():
            for match in re.finditer(rf"\b{function.name}\b(\s*\()?", text.code):
                around = [f for f in self._functions if f.text is text
                          and f.opening < match.start() < f.closing]  # fmt: skip
                if (
                    not match.group(1)
                    and not around
                    and re.match(r"\s*;", text.code[match.end() :])
                ):
                    continue
                if not match.group(1):
                    raise Unknown  # it may be called through a pointer
                if not around:
                    continue  # a declaration
                given = text.arguments(match.start())
                called = True
                found |= self._value(given[index], around[0], seen) if index < len(given) else set()
        if not called:
            raise Unknown
        return found


# ---- declarations ---------------------------------------------------------------------------


def _stripped(expression: str) -> str:
    """Without casts and brackets around it."""
    text = expression.strip()
    while True:
        cast = CAST.match(text)
        if cast and cast.end() < len(text):
            text = text[cast.end() :].strip()
        elif text.startswith("(") and CText("", text).closing(0) == len(text) - 1:
            text = text[1:-1].strip()
        else:
            return text


def _is_local(name: str, function) -> bool:
    if name in function.parameters:
        return True
    return bool(re.search(rf"[{{;(]\s*(?:const\s+)?(?:struct\s+)?\w+[\s*]+(?:const\s+)?{name}\s*"
                          rf"(?:\[[^\]]*\]\s*)*[=;,]", function.body))  # fmt: skip


def _type_of(name: str, function) -> str | None:
    """The structure that a variable is, or points to, as a function's text tells."""
    if not function:
        return None
    declared = rf"(?:^|[{{;(,])\s*(?:const\s+)?(?:struct\s+)?(\w+)[\s*]+(?:const\s+)?{name}\s*"
    match = re.search(declared + r"(?:[,]|$)", function.head)
    match = match or re.search(declared + r"[=;,\[]", function.body)
    return match.group(1) if match and match.group(1) not in ("return", "else") else None


def _meanings(texts: dict[str, CText]) -> dict[str, str]:
    """What typedefs make of structures: name -> the tag, where there is one, or another name."""
    found = {}
    for text in texts.values():
        found |= {name: meant for meant, name in _TYPEDEF.findall(text.code) if name != meant}
        for opening, closing in text.top_blocks():
            head = _HEAD.search(text.code, max(opening - _BEFORE_BRACE, 0), opening)
            behind = re.compile(r"[\w\s,*]*;").match(text.code, closing + 1) if head else None
            is_type = head and text.code[: head.start()].rstrip().endswith("typedef")
            names = re.findall(r"\w+", behind.group()) if behind and is_type else []
            meant = (head and head[1]) or (names or [""])[0]
            found |= {name: meant for name in names if name != meant}
    return found


def _structure(text: CText, block: tuple[int, int]) -> str | None:
    """The name of the structure whose members stand in a block; "" without one, None if it is no
    structure."""
    head = _HEAD.search(text.code, max(block[0] - _BEFORE_BRACE, 0), block[0])
    if not head:
        return None
    behind = _NAME_BEHIND.match(text.code, block[1] + 1)
    is_type = text.code[: text.last_before(head.start()) + 1].endswith("typedef")
    return behind.group(1) if behind and is_type else head.group(1)
