"""`syncopate transactionalize`: rewrites lock-based C code to transactions, and lists the rest."""

import dataclasses
import difflib
import json
import os
import re
import sys
import tempfile

from syncopate.base import paths
from syncopate.base.arguments import Parser
from syncopate.base.errors import BAD_USE, FAILED, Failure
from syncopate.transactionalize import locks, plan, semantic, wrappers
from syncopate.transactionalize.program import Program
from syncopate.transactionalize.rewrite import Rewriter

SOMETHING_NOT_DONE = 3
EPILOG = """\
Give all files of the program that use the locks, headers with declarations among them. Options for
the compiler follow after --. Locks whose sections cannot all be blocks stay locks. Build the result
with gcc -fgnu-tm, and -lsyncopate-tm -litm.

Exit status: 0 when everything was rewritten (and is atomic, with --atomic); 3 when something was
not, which is listed by file and line; 1 when files, compiler or spatch stood in the way; 2 for a
wrong call; 127 without spatch (Debian package coccinelle) or gcc."""


def parser() -> Parser:
    made = Parser(
        "transactionalize",
        description="Rewrites lock-based C code to transactions (gcc -fgnu-tm).",
        epilog=EPILOG,
    )
    kind = made.add_mutually_exclusive_group()
    kind.add_argument(
        "--atomic",
        action="store_true",
        help="__transaction_atomic where nothing is unsafe, relaxed elsewhere",
    )
    kind.add_argument(
        "--relaxed", action="store_true", help="__transaction_relaxed everywhere (default)"
    )
    made.add_argument("--lock", metavar="REGEX", default="", help="only locks whose name it finds")
    made.add_argument(
        "--words",
        metavar="REGEX",
        help="locks that are to become words, which small transactions take and give back",
    )
    to = made.add_mutually_exclusive_group()
    to.add_argument("-o", "--output", metavar="FOLDER", help="write the files there")
    to.add_argument("--diff", action="store_true", help="print a diff (default)")
    to.add_argument("--in-place", action="store_true", help="overwrite the files")
    made.add_argument(
        "--json", metavar="FILE", help="write what was done and what was not; - for standard output"
    )
    made.add_argument("files", nargs="+", metavar="FILE", help="C sources and headers")
    return made


def main(arguments: list[str]) -> int:
    flags: list[str] = []
    if "--" in arguments:
        at = arguments.index("--")
        arguments, flags = arguments[:at], arguments[at + 1 :]
    options = parser().parse_args(arguments)
    words = _pattern("--words", options.words) if options.words is not None else None
    wanted = plan.Wanted(_pattern("--lock", options.lock), words)
    if options.json == "-" and not (options.output or options.in_place):
        options.diff = None  # standard output is one thing only
    semantic.require_spatch()
    with tempfile.TemporaryDirectory(prefix="syncopate-") as folder:
        program = Program(options.files, flags, os.path.realpath(folder), _headers())
        before = program.read()
        summary = _rewrite(program, before, wanted, options)
    _print_summary(summary, options.json)
    if options.words is None:
        _offer_words(summary)
    return SOMETHING_NOT_DONE if summary["not_done"] else 0


def _pattern(option: str, text: str) -> re.Pattern:
    try:
        return re.compile(text)
    except re.error as error:
        raise Failure(f"transactionalize: {option}: {error}", BAD_USE) from None


def _headers() -> str | None:
    """The folder that holds syncopate/tm/wrap_libc.h."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    for prefix in [*paths.prefixes(), root]:
        folder = os.path.join(prefix, "include")
        if os.path.exists(os.path.join(folder, "syncopate/tm/wrap_libc.h")):
            return folder
    return None


def _rewrite(program: Program, before: dict[str, str], wanted: plan.Wanted, options) -> dict:
    program.put(before)
    written = wrappers.write_out(before, program.active_macros)
    expanded = written.texts
    program.put(expanded)
    names = locks.names_of(written)
    found = program.facts("sections", **names)
    words = [op for op in locks.operations(found, program.texts, written) if wanted.as_word(op.key)]
    changes = {
        name: [
            change
            for change in locks.normalize_trylocks(text, [f for f in found if f.file == name])
            if not any(op.text is text and change[0] <= op.at < change[1] for op in words)
        ]
        for name, text in program.texts.items()
    }
    if any(changes.values()):
        program.put(_replace(expanded, changes))
        found = program.facts("sections", **names)
    graph = program.call_graph()
    made = plan.make(program, wanted, graph, found, written)
    _restore_trylocks(program, made, expanded, changes)
    output = Rewriter(program, made, graph, written, options.atomic).run()
    for name, error in program.broken.items():
        output.texts[name] = before[name]
        why = f"{error.message} (the compiler's options are given after --)"
        output.not_done.append(plan.NotDone(error.file, error.line, "file", name, why))
    _write(program, before, output.texts, options)
    return _summary(made, output, before)


def _replace(texts: dict[str, str], changes: dict[str, list]) -> dict[str, str]:
    """Replacements of equal length."""
    out = dict(texts)
    for name, all_of in changes.items():
        for start, end, by in all_of:
            out[name] = out[name][:start] + by + out[name][end:]
    return out


def _restore_trylocks(program: Program, made, expanded: dict, changes: dict) -> None:
    """Where the lock stays a lock, its trylock stays a trylock."""
    rewritten = {(s.text.path, s.lock.at) for s in made.sections()}
    used = {
        name: [c for c in all_of if any((name, at) in rewritten for at in range(c[0], c[1]))]
        for name, all_of in changes.items()
    }
    if used != changes:
        texts = _replace(expanded, used)
        program.write_copy(texts)
        for name, text in program.texts.items():
            text.text = texts[name]


def _write(program: Program, before: dict, after: dict, options) -> None:
    if options.output or options.in_place:
        for name, text in after.items():
            path = os.path.join(options.output or program.base, name)
            try:
                os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
                with open(path, "w", encoding="latin-1", newline="") as file:
                    file.write(text)
            except OSError as error:
                raise Failure(f"cannot write {path}: {error.strerror}", FAILED) from None
    elif options.diff is not None:
        for name, text in after.items():
            old, new = before[name].splitlines(True), text.splitlines(True)
            diff = difflib.unified_diff(old, new, f"a/{name}", f"b/{name}")
            sys.stdout.buffer.write("".join(diff).encode("latin-1"))


def _summary(made, output, before: dict[str, str]) -> dict:
    chosen = made.sections()
    entries = [entry for all_of in made.kept.values() for entry in all_of] + output.not_done
    locks_ = {}
    for op in made.operations:
        lock = locks_.setdefault(
            op.key, {"sections": 0, "rewritten": 0, "atomic": 0, "word": op.key in made.words}
        )
        lock["sections"] += op.kind in ("lock", "trylock")
    for section in chosen:
        locks_[section.lock.key]["rewritten"] += 1
        locks_[section.lock.key]["atomic"] += section.atomic
    unique = {json.dumps(dataclasses.asdict(e)): dataclasses.asdict(e) for e in entries}
    return {
        "locks": locks_,
        "not_asked": sorted(made.not_asked),
        "not_done": sorted(unique.values(), key=lambda e: (e["file"], e["line"], e["why"])),
    }


def _offer_words(summary: dict) -> None:
    """Locks whose sections cannot all be blocks may still be words."""
    stay = [
        re.escape(name)
        for name, lock in sorted(summary["locks"].items())
        if not lock["rewritten"] and "?" not in name and name not in summary["not_asked"]
    ]
    if stay:
        print(f"These may be words: --words '^({'|'.join(stay)})$'", file=sys.stderr)


def _print_summary(summary: dict, json_file: str | None) -> None:
    if json_file == "-":
        json.dump(summary, sys.stdout, indent=2)
        print()
    elif json_file:
        try:
            with open(json_file, "w", encoding="utf-8") as file:
                json.dump(summary, file, indent=2)
        except OSError as error:
            raise Failure(f"cannot write {json_file}: {error.strerror}", FAILED) from None
    out = sys.stderr
    for entry in summary["not_done"]:
        print(f"{entry['file']}:{entry['line']}: {entry['what']}: {entry['why']}", file=out)
        for step in entry["chain"]:
            print(f"    {step}", file=out)
    for name, lock in sorted(summary["locks"].items()):
        if lock["word"]:
            print(f"{name}: {lock['sections']} sections, a word", file=out)
            continue
        state = "stays a lock" if not lock["rewritten"] else f"{lock['atomic']} atomic"
        print(f"{name}: {lock['rewritten']} of {lock['sections']} sections, {state}", file=out)
