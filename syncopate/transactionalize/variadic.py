"""Variadic functions in transactions. The compiler refuses va_start there, so such a function is
split: what it does takes a va_list and can be safe; what starts the list is written twice, for
transactions and for elsewhere."""

import re
from dataclasses import dataclass

from syncopate.transactionalize.ctext import CText, Edits
from syncopate.transactionalize.definitions import functions

_START = re.compile(r"[ \t]*\bva_start\s*\(\s*(\w+)\s*,\s*(\w+)\s*\)\s*;[ \t]*\n?")
_END = re.compile(r"[ \t]*\bva_end\s*\(\s*\w+\s*\)\s*;[ \t]*\n?")
_LIST = re.compile(r"[ \t]*\bva_list\s+(\w+)\s*;[ \t]*\n?")


@dataclass(eq=False)
class Variadic:
    """A function that starts one list of arguments, once."""

    text: CText
    name: str
    returns: str  # what stands before its name
    parameters: list[str]  # without "..."
    head: int  # where its definition begins
    dots: tuple[int, int]  # the parameter "..."
    name_at: int
    body: tuple[int, int]  # { and }
    removed: list[tuple[int, int]]  # va_list, va_start, va_end
    list_name: str

    @property
    def inner(self) -> str:
        return f"{self.name}_arguments"


def find(texts: dict[str, CText], names: set[str]) -> list[Variadic]:
    """Those of these functions that can be split."""
    found = []
    for text in texts.values():
        for name, head, parameters, opening, closing in functions(text):
            if name not in names or parameters[-1:] != ["..."] or "static" in head.split():
                continue
            starts = list(_START.finditer(text.code, opening, closing))
            ends = list(_END.finditer(text.code, opening, closing))
            lists = list(_LIST.finditer(text.code, opening, closing))
            if [len(starts), len(ends), len(lists)] != [1, 1, 1]:
                continue
            if re.search(r"\bva_(?:arg|copy)\b", text.code[opening:closing]):
                continue
            name_at = max(m.start() for m in re.finditer(rf"\b{name}\s*\(", text.code[:opening]))
            dots = text.code.rfind("...", name_at, opening)
            begin = re.compile(r"\s*").match(text.code, name_at - len(head)).end()
            found.append(Variadic(
                text, name, " ".join(head.split()), parameters[:-1], begin, (dots, dots + 3),
                name_at, (opening, closing), [m.span() for m in (*lists, *starts, *ends)],
                lists[0].group(1),
            ))  # fmt: skip
    return found


def write_definition(one: Variadic, edits: Edits, attribute: str) -> None:
    """The function takes the list; behind it stand the two that start one."""
    listed = f"va_list {one.list_name}"
    edits.insert(one.head, f"__attribute__(({attribute})) ")
    edits.replace(one.name_at, one.name_at + len(one.name), one.inner)
    edits.replace(*one.dots, listed)
    for start, end in one.removed:
        edits.replace(start, end, "")
    given = ", ".join([*(re.findall(r"\w+", p)[-1] for p in one.parameters), "arguments"])
    last = re.findall(r"\w+", one.parameters[-1])[-1]
    clone = f"{one.inner}_in_transaction"
    taken = ", ".join([*one.parameters, "..."])
    out = [
        f"\n\nextern __typeof__({one.inner}) {clone}",
        f'    __asm__("_ZGTt{len(one.inner)}{one.inner}");',
    ]
    for name, callee in ((one.name, one.inner), (f"{one.name}_in_transaction", clone)):
        void = one.returns.split()[-1:] == ["void"]
        result = "" if void else f"{one.returns.replace('extern', '')} result = "
        out += [
            f"{one.returns} {name}({taken}) {{",
            "    va_list arguments;",
            f"    va_start(arguments, {last});",
            f"    {result}{callee}({given});",
            "    va_end(arguments);",
            *([] if void else ["    return result;"]),
            "}",
        ]
    edits.insert(one.body[1] + 1, "\n".join(out))


def declaration(one: Variadic, attribute: str) -> str:
    """What follows a declaration of the function."""
    listed = ", ".join([*one.parameters, f"va_list {one.list_name}"])
    wrapped = f"syncopate_tm_wrap_{one.name}"
    return (
        f"\n{one.returns} {one.inner}({listed}) __attribute__(({attribute}));"
        f'\nextern __typeof__({one.name}) {wrapped} __asm__("{one.name}_in_transaction")'
        f"\n    __attribute__((transaction_wrap({one.name}), transaction_safe));"
    )
