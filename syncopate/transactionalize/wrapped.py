"""The one operation on a lock that is all that the body of a macro or of a function does."""

from __future__ import annotations

import re

from syncopate.transactionalize.ctext import CText
from syncopate.transactionalize.lockcalls import (
    BUSY,
    LOCK,
    PTHREAD,
    TRYLOCK,
    Names,
    Template,
    bare,
)

_POLITE = (
    r"(?:(?:sched_yield|pthread_yield|usleep|cpu_relax|_mm_pause|__builtin_ia32_pause)"
    r"\s*\([^;{}()]*\)\s*;\s*)"
)
_RETURN = r"(?:\s*return\b[^;()]*;)?"
_FAILS = r"(?:assert|abort|exit|_exit|perror|fprintf|printf|puts|syslog|errx?|strerror|__assert\w*)"
CALL = r"(\w+)\s*(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))"
_TRIES = re.compile(rf"return\b[\s(]*?(!?)\s*\(?\s*{CALL}[\s)]*?(==\s*0)?[\s)]*;", re.S)
_CHECK = re.compile(  # what a wrapper may do with the status besides returning it
    rf"\s*(?:(?:\(void\)\s*\w+|assert\s*\([^;{{}}]*\)|return\b[^;()]*)\s*;"
    rf"|if\s*\([^;{{}}()]*\)\s*(?:\{{\s*(?:{_FAILS}\s*\([^;{{}}]*\)\s*;\s*)*"
    rf"(?:return\b[^;()]*;\s*)?\}}|{_FAILS}\s*\([^;{{}}]*\)\s*;|return\b[^;()]*;))"
)


def unwrapped(body: str) -> str:
    """Without `do { } while (0)`, `(void)`, braces, brackets and semicolons around it."""
    while True:
        body = body.strip().rstrip("; \t")
        match = re.fullmatch(r"do\s*\{(.*)\}\s*while\s*\(\s*(?:0|false)\s*\)", body, re.S)
        match = match or re.fullmatch(r"\(\s*void\s*\)\s*(.*)", body, re.S)
        if not match and body[:1] in ("(", "{"):
            whole = CText("", body).closing(0) == len(body) - 1
            match = re.fullmatch(r"[({](.*)[)}]", body, re.S) if whole else None
        if not match:
            return body
        body = match.group(1)


def is_tried(body: str) -> bool:
    """Whether a function's body returns what a try says, or whether it succeeded."""
    return bool(_TRIES.fullmatch(body))


def operation_of(body: str, path: str, names: Names) -> Template | None:
    """The one operation that is all that a function's body does."""
    checked = checked_operation(re.sub(r"\breturn\b[^;()]*;\s*$", "", body), path, names)
    if checked:
        return checked if checked.function in PTHREAD else None
    call = CALL
    spins = [
        rf"while\s*\(\s*{call}\s*{BUSY}\)\s*(?:;|{_POLITE}|\{{\s*{_POLITE}?\}})",
        rf"do\s*(?:;|{_POLITE}|\{{\s*{_POLITE}?\}})\s*while\s*\(\s*{call}\s*{BUSY}\)\s*;",
    ]
    for pattern in spins:
        match = re.fullmatch(pattern + _RETURN, body, re.S)
        known = names.operation(path, match.group(1)) if match else None
        if known and known.function == TRYLOCK:
            return Template(LOCK, (), known.over(_arguments(match.group(2))))
    tried = _TRIES.fullmatch(body)
    known = names.operation(path, tried[2]) if tried else None
    if known and known.function == TRYLOCK and not (tried[1] and tried[4]):
        negated = known.negated != bool(tried[1] or tried[4])
        return Template(TRYLOCK, (), known.over(_arguments(tried[3])), negated)
    match = re.match(rf"(?:return\s+|(?:const\s+)?int\s+\w+\s*=\s*)?{call}\s*;", body, re.S)
    known = names.operation(path, match.group(1)) if match else None
    if not known:
        return None
    at = match.end()
    while at < len(body.rstrip()):
        check = _CHECK.match(body, at)
        if not check:
            return None
        at = check.end()
    return Template(known.function, (), known.over(_arguments(match.group(2))))


def checked_operation(body: str, path: str, names: Names) -> Template | None:
    """The operation in `if (CALL) complain();`, in `int x = CALL; if (x) complain();`, or in an
    expression, such as `CALL && (complain(), 0)`: what is done where a mutex could not be taken is
    left out, if it does not lock itself."""
    call, unequal, otherwise = CALL, r"\s*(?:!=\s*0\s*)?", r"(\{[^{}]*\}|[^;{}]*;)\s*;*\s*"
    direct = re.fullmatch(
        rf"if\s*\((?:\s*(?:un)?likely\s*\()?\s*(!?)\s*\(?\s*{call}{unequal}[)\s]*\)\s*{otherwise}",
        body,
        re.S,
    )
    if direct:
        negated, name, arguments, complaint = direct.groups()
    else:
        variable = rf"(?:int\s+)?(?P<status>\w+)\s*=\s*{call}\s*;\s*"
        tested = rf"if\s*\(\s*(?P=status){unequal}\)\s*{otherwise}"
        within = rf"(?:int\s+\w+\s*;\s*)?if\s*\(\s*\((?P<status>\w+)\s*=\s*\(*{call}"
        within += rf"[\s)]*{unequal}\)"
        stored = re.fullmatch(variable + tested, body, re.S)
        stored = stored or re.fullmatch(rf"{within}\s*{otherwise}", body, re.S)
        within_one = _checked_expression(unwrapped(body))
        if stored:
            _, name, arguments, complaint = stored.groups()
            negated = ""
        elif within_one:
            name, arguments, complaint, negated = within_one
        else:
            return None
    known = names.operation(path, name) or _condition(names.get(path, name))
    locks = any(names.get(path, word) for word in re.findall(r"\w+", complaint))
    if not known or known.function == TRYLOCK or known.negated != bool(negated) or locks:
        return None
    return Template(known.function, (), known.over(_arguments(arguments)))


def _condition(known: Template | None) -> Template | None:
    return known if known and known.function.startswith("pthread_cond_") else None


def _checked_expression(body: str) -> tuple[str, str, str, bool] | None:
    """Of `CALL && complaint`, `CALL == 0 || complaint` and `CALL ? complaint : 0` the call's name
    and arguments, the complaint, and whether the call is to be true where it succeeds."""
    parts = re.split(r"(&&|\|\||[?:;,])", CText("", body).level(0, len(body)))
    between, at, starts = parts[1::2], 0, []
    for part in parts:
        starts.append(at)
        at += len(part)
    if between == ["?", ":"]:
        fails, succeeds = body[starts[2] : starts[3]], body[starts[4] :]
        if re.fullmatch(r"[\s()]*(?:void\s*\))?[\s()\d]*", fails):
            fails, succeeds, between = succeeds, fails, ["||"]
        if not re.fullmatch(r"[\s()]*(?:void\s*\))?[\s()\d]*", succeeds):
            return None
    elif between and set(between) in ({"&&"}, {"||"}):
        fails = body[starts[2] :]
    else:
        return None
    tested = re.fullmatch(
        rf"\s*(!?)\s*{CALL}\s*(?:([!=])=\s*0\s*)?", _unwrapped_test(body[: starts[1]]), re.S
    )
    if not tested:
        return None
    negated = (tested[1] == "!") != (tested[4] == "=")
    return tested[2], tested[3], fails, negated != (between[0] == "||")


def _unwrapped_test(test: str) -> str:
    """A condition without brackets and likely() around it."""
    test = re.sub(r"^\s*(?:un)?likely\s*(?=\()", "", test)
    return bare(re.sub(r"^\s*__builtin_expect\s*\((.*),\s*[01]\s*\)\s*$", r"\1", test).strip())


def _arguments(brackets: str) -> list[str]:
    return [bare(argument) for argument in CText("", brackets).arguments(0)]
