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
_INDEX = re.compile(r"\[[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*\]")
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
        self._pointers: set[str] = set()  # to mutexes, by name; members as `structure.member`
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
            self._pointers |= {f"{owner}.{name}"} if stars else set()
        elif not stars:
            (self._arrays if array else self._variables).add(name)
        elif not local:
            self._pointers.add(name)

    def owner(self, text: CText, at: int, path: str) -> str | None:
        """The structure that the last member of a path at a place belongs to, as declarations tell;
        None where they do not."""
        around = [f for f in self._functions if f.text is text and f.opening < at < f.closing]
        path = re.sub(rf"{_INDEX.pattern}|[\s()&*]", "", path)
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
            return self._address(_stripped(text[1:]), function, seen)
        if _CALL.match(text) and CText("", text).call_end(0) == len(text):
            return self._returned(re.match(r"\w+", text).group(), seen)
        text = re.sub(r"\s*(->|\.)\s*", r"\1", text)
        moved = re.fullmatch(rf"({_PATH.pattern})\s*\+[^;]*", text)  # within an array
        path = moved.group(1) if moved else text
        if _PATH.fullmatch(path):
            found = self._element(path, function, seen, bool(moved))
            return self._stored(path, function, seen) if found is None else found
        raise Unknown

    def _address(self, place: str, function, seen: set) -> set[str]:
        path = _INDEX.sub("", place.replace(" ", ""))
        words = re.split(r"->|\.", path)
        if place.rstrip().endswith("]"):
            found = self._element(path, function, seen, True)
            if found is None and _PATH.fullmatch(path):
                found = self._stored(path, function, seen)
            if found is not None:
                return found
        elif len(words) == 1 and words[0] in self._variables | self._arrays:
            return {words[0]}
        elif self._member(words, function):
            return {self._member(words, function)}
        raise Unknown

    def _member(self, words: list[str], function) -> str | None:
        """The lock that a member is, where a path ends in one."""
        owners = self._members.get(words[-1], set()) if len(words) > 1 else set()
        owner = self._type_of(words[0], function) if len(words) == 2 else None
        owner = owner if owner in owners else next(iter(owners)) if len(owners) == 1 else None
        return f"{owner or '?'}.{words[-1]}" if owners else None  # "": one without a name

    def _element(self, path: str, function, seen: set, indexed: bool) -> set[str] | None:
        """The lock that all elements of an array are, or of what is allocated and then used as one;
        None where a path means no array that is known."""
        words = re.split(r"->|\.", path)
        if len(words) == 1 and function and _is_local(path, function):
            return None
        name = self._member(words, function) if len(words) > 1 else path
        if not self._is_pointer(name):
            return {name} if name in self._arrays or (name and len(words) > 1) else None
        if len(words) > 1 and not indexed:
            return None
        if ("element", name) in seen:
            return set()
        try:
            return self._stored(path, function, {*seen, ("element", name)}) or {name}
        except Unknown:
            if self._may_be_set_to_another(words[-1]):
                raise
            return {name}

    def _is_pointer(self, name: str | None) -> bool:
        """Whether it is declared as a pointer to mutexes: a variable of all functions, a member."""
        of_any = {one.rpartition(".")[2] for one in self._pointers if "." in one}
        return name in self._pointers or bool(name and name[:2] == "?." and name[2:] in of_any)

    def _may_be_set_to_another(self, name: str) -> bool:
        """Whether the address of something is stored under a name."""
        pattern = re.compile(rf"\b{name}\s*=(?!=)[^;]*?(?<!&)&(?!&)")
        return any(pattern.search(text.code) for text in self._texts.values())

    def through_pointer(self, text: CText, at: int, mutex: str) -> bool:
        """Whether `&p[i]` at a place is an element of what a pointer points to."""
        match = re.fullmatch(rf"&({_PATH.pattern})\[.*\]", mutex)
        if not match:
            return False
        around = [f for f in self._functions if f.text is text and f.opening < at < f.closing]
        path = match.group(1)
        if path.isidentifier() and around and _is_local(path, around[0]):
            declared = rf"\*\s*(?:(?:const|restrict)\s+)*{path}\b"
            return path in around[0].parameters or bool(re.search(declared, around[0].body))
        words = re.split(r"->|\.", path)
        owner = self.owner(text, at, path) or "?" if len(words) > 1 else None
        return self._is_pointer(f"{owner}.{words[-1]}" if owner else path)

    def _stored(self, path: str, function, seen: set) -> set[str]:
        """What has been stored in a variable or a member."""
        words = re.split(r"->|\.", path)
        if len(words) > 1:
            owner = self._type_of(words[0], function) if len(words) == 2 else None
            return self._once(("member", words[-1], owner), seen, self._of_member)
        if function and _is_local(path, function):
            return self._once(("local", function.name, path), seen, self._of_local, function)
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
            stores = re.compile(rf"((?<![\w>.])\w+)?\s*(?:->|\.)\s*{name}\s*=(?!=)")
            for match in stores.finditer(function.body):
                other = self._type_of(match.group(1), function) if match.group(1) else None
                if owner and other and other != owner:
                    continue
                found |= self._right_side(function, match.end(), seen)
            if re.search(rf"(?<!&)&(?!&)[^;,&=?]*(?:->|\.)\s*{name}\b(?!\s*\[)", function.body):
                raise Unknown  # its address is taken
        for text in self._texts.values():
            for match in re.finditer(rf"[{{,]\s*\.\s*{name}\s*=(?!=)\s*([^,}}]*)", text.code):
                around = [f for f in self._functions if f.text is text
                          and f.opening < match.start() < f.closing]  # fmt: skip
                found |= self._value(match.group(1), around[0] if around else None, seen)
        if self._is_set_by_position(owner):
            raise Unknown
        return found

    def _is_set_by_position(self, owner: str | None) -> bool:
        """Whether a lock stands in such a structure's initial value without a member's name."""
        of = rf"(?:{'|'.join(map(re.escape, self._names_of(owner)))})" if owner else r"\w+"
        begins = re.compile(  # a variable's, a compound literal
            rf"(?:\b{of}[\s*]+\w+\s*(?:\[[^\]]*\]\s*)*="
            rf"|(?:[=,(&]|\breturn)\s*\(\s*(?:struct\s+)?{of}\s*\))\s*(?=\{{)"
        )
        for text in self._texts.values():
            for match in begins.finditer(text.code):
                inside = text.code[match.end() : text.closing(match.end())]
                inside = re.sub(r"\.\s*\w+\s*=\s*[^,{}]*", "", inside)
                members = re.findall(r"&[^,{}]*(?:->|\.)\s*(\w+)", inside)
                locks = self._variables | self._arrays | self._pointers
                if locks & set(re.findall(r"\w+", inside)) or self._members.keys() & set(members):
                    return True
        return False

    def _names_of(self, structure: str) -> list[str]:
        return [structure, *(n for n in self._meant_by if self._one_name(n) == structure)]

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
