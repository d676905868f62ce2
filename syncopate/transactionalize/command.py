"""`syncopate transactionalize`: rewrites lock-based C code to transactions, and lists the rest."""

from __future__ import annotations

import dataclasses
import difflib
import json
import os
import re
import sys

from syncopate.base import paths, scratch, wholefile
from syncopate.base.arguments import Parser
from syncopate.base.errors import BAD_USE, FAILED, Failure
from syncopate.transactionalize import (
    alone,
    hiddenmacros,
    locks,
    plan,
    semantic,
    spoken,
    stages,
    together,
    wrappers,
)
from syncopate.transactionalize.callgraph import CallGraph
from syncopate.transactionalize.ctext import CText
from syncopate.transactionalize.lockcalls import LOCK
from syncopate.transactionalize.program import Program
from syncopate.transactionalize.rewrite import How, Output, Rewriter, Spoiled
from syncopate.transactionalize.serialization import AT_START, IN_FLIGHT
from syncopate.transactionalize.together import Together

SOMETHING_NOT_DONE = 3
EPILOG = """\
Give all files of the program that use the locks, headers with declarations among them. Options for
the compiler follow after --. Locks whose sections cannot all be blocks stay locks. Build the result
with gcc -fgnu-tm, and -lsyncopate-tm -litm; what is to run on GCC's own libitm, with
-fno-caller-saves, too (a defect of GCC 12: the result of memcpy in transactions). Where GCC 12 then
refuses always_inline functions, add -fno-ipa-pure-const.

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
    kind.add_argument(
        "--stage",
        action="append",
        choices=stages.names(),
        metavar="STAGE",
        help="one of the paper's stages: ip, it, callable, max, lib, oncommit, or it-callable and"
        " so on; with -o, several may be given",
    )
    made.add_argument(
        "--pure",
        metavar="REGEX",
        help="functions of other libraries that touch nothing that transactions write (oncommit)",
    )
    made.add_argument("--lock", metavar="REGEX", default="", help="only locks whose name it finds")
    made.add_argument(
        "--words",
        metavar="REGEX",
        help="locks that are to become words, which small transactions take and give back",
    )
    to = made.add_mutually_exclusive_group()
    to.add_argument(
        "-o",
        "--output",
        metavar="FOLDER",
        help="write the files there; of several stages, to FOLDER/STAGE, with FOLDER/STAGE.patch"
        " over the one before",
    )
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
    options.pure = _pattern("--pure", options.pure) if options.pure else None
    if options.json == "-" and not (options.output or options.in_place):
        options.diff = None  # standard output is one thing only
    if options.json not in (None, "-"):
        wholefile.check_place(options.json, "transactionalize: --json")
    semantic.require_spatch()
    asked = [stages.parse(name) for name in options.stage or ()]
    if len(asked) > 1 and not options.output:
        raise Failure("transactionalize: several stages need -o FOLDER", BAD_USE)
    with scratch.folder() as folder:
        program = Program(options.files, flags, os.path.realpath(folder), _headers())
        work = _Work(program, program.read(), wanted, options)
        summaries = work.run(asked)
        offered = work.words_to_offer(summaries[-1]) if options.words is None else set()
    summary = summaries[-1] if len(summaries) < 2 else {"stages": summaries}
    _print_summary(summaries, summary, options.json)
    if options.words is None:
        _offer_words(offered)
    return SOMETHING_NOT_DONE if summaries[-1]["not_done"] else 0


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


@dataclasses.dataclass
class _Planned:
    """A plan, and what it is made with."""

    made: plan.Plan
    graph: CallGraph | None
    written: wrappers.Written
    texts: dict[str, str]  # the sources that it is for
    one: Together | None = None
    operations: list = dataclasses.field(default_factory=list)
    refused: list[plan.NotDone] = dataclasses.field(default_factory=list)


class _Work:
    """What is asked for, on one program."""

    def __init__(self, program: Program, before: dict[str, str], wanted: plan.Wanted, options):
        self.program, self.before, self.wanted, self.options = program, before, wanted, options

    def run(self, asked: list[stages.Stage]) -> list[dict]:
        """One summary for each stage, or one."""
        if not asked:
            how = How(self.options.atomic)
            return [self._rewritten(self._planned(self.before), how, self.options.output)]
        found, former, planned = [], self.before, {}
        for stage in asked:
            if stage.branch not in planned:
                planned = {stage.branch: self._of_branch(stage.branch)}
                former = self.before
            folder = self.options.output
            if folder and len(asked) > 1:
                folder = os.path.join(folder, stage.name)
            how = How(stage.is_maximal, stage, self.options.pure)
            found.append(self._rewritten(planned[stage.branch], how, folder))
            if len(asked) > 1:
                _put(f"{folder}.patch", _diff(former, self.last))
                former = self.last
        return found

    def _of_branch(self, branch: str) -> _Planned:
        if branch == "ip":
            return self._planned(self.before)
        ip = self._planned(self.before, with_operations=True)
        keys = {op.key for op in ip.operations if self.wanted.as_word(op.key)}
        families = together.find(ip.operations, self.program.texts, keys)
        one = together.rewrite(self.before, families) if families else None
        why = "no functions that do nothing else take them, give them back and try them"
        if one:
            tried = self._planned(one.texts, one)
            why = self._refusal(tried, families)
            if not why:
                return tried
        ip = self._planned(self.before)
        for key in sorted(keys):
            ip.refused.append(plan.NotDone(self.program.names[0], 1, "branch", key,
                                           f"stays a word in the branch it: {why}"))  # fmt: skip
        return ip

    def _refusal(self, tried: _Planned, families: list) -> str | None:
        """Why these locks cannot be sections, or None."""
        for family in families:
            kept = tried.made.kept.get(family.name)
            if kept:
                return f"{kept[0].file}:{kept[0].line}: {kept[0].why}"
        outside = together.tries_outside(tried.made, self.program.texts, families)
        return f"{outside} tries it outside of transactions" if outside else None

    def _planned(
        self, texts: dict[str, str], one: Together | None = None, with_operations=False, wanted=None
    ):
        """The plan for sources, in which the locks of `one` are one, and what it is made with."""
        program, wanted = self.program, wanted or self.wanted
        program.put(texts)
        written = wrappers.write_out(texts, program.active_macros)
        sources = {name: CText(name, text) for name, text in texts.items()}
        hidden = hiddenmacros.find(sources, written, written.names, program.active_macros)
        program.put(written.texts)
        if one:
            wanted = wanted.with_one(*(f.name for f in one.families))
        names = locks.names_of(written)
        found = program.facts("sections", **names)
        words = [
            op for op in locks.operations(found, program.texts, written) if wanted.as_word(op.key)
        ]
        everywhere = locks.operations(found, program.texts, written) if with_operations else []
        if with_operations:
            return _Planned(plan.Plan(), None, written, texts, one, everywhere)
        changes = {
            name: [
                change
                for change in locks.normalize_trylocks(text, [f for f in found if f.file == name])
                if not any(op.text is text and change[0] <= op.at < change[1] for op in words)
            ]
            for name, text in program.texts.items()
        }
        if any(changes.values()):
            program.put(_replace(written.texts, changes))
            found = program.facts("sections", **names)
        graph = program.call_graph()
        tried = {
            (name, at) for name, all_of in changes.items() for start, end, by in all_of
            for at in [start + by.index(LOCK)]
        }  # fmt: skip
        made = plan.make(program, wanted, graph, found, written, hidden, tried)
        _restore_trylocks(program, made, written.texts, changes)
        return _Planned(made, graph, written, texts, one)

    def words_to_offer(self, summary: dict) -> set[str]:
        """Of the locks that stay, those that can all be words at once: it is tried."""
        offered = {
            name
            for name, lock in summary["locks"].items()
            if not lock["rewritten"] and "?" not in name and name not in summary["not_asked"]
        }
        while offered:
            which = re.compile(f"^({'|'.join(re.escape(name) for name in offered)})$")
            wanted = dataclasses.replace(self.wanted, words=which)
            words = self._planned(self.before, wanted=wanted).made.words
            if words == offered:
                break
            offered &= words
        return offered

    def _rewritten(self, planned: _Planned, how: How, folder: str | None) -> dict:
        planned, rewriter, output = self._compiled(planned, how)
        made = planned.made
        output.not_done += planned.refused
        if planned.one:
            output.texts = planned.one.cleaned(output.texts)
        transactions = alone.transactions(rewriter) if self.options.stage else []
        for name, error in self.program.broken.items():
            output.texts[name] = self.before[name]
            why = f"{error.message} (the compiler's options are given after --)"
            output.not_done.append(plan.NotDone(error.file, error.line, "file", name, why))
        self.last = output.texts
        self._write(output.texts, folder)
        of_stage = {}
        if self.options.stage:
            made_of = [dataclasses.asdict(one) for one in transactions]
            of_stage = {"stage": how.stage.name, "transactions": made_of}
        summary, names = of_stage | _summary(made, output), spoken.spoken(planned.written)
        listed = [why for one in summary.get("transactions", ()) for why in one["why"]]
        for entry in [*summary["not_done"], *listed]:
            spoken.speak(entry, names)
        return summary

    def _compiled(self, planned: _Planned, how: How) -> tuple[_Planned, Rewriter, Output]:
        """What is written out and compiles. Where the compiler fails on a section, its lock stays,
        and what follows from that is planned again."""
        while True:
            rewriter = Rewriter(self.program, planned.made, planned.graph, planned.written, how)
            try:
                return planned, rewriter, rewriter.run()
            except Spoiled as failed:
                spoiled = (*self.wanted.spoiled, *failed.entries)
                self.wanted = dataclasses.replace(self.wanted, spoiled=spoiled)
                again = self._planned(planned.texts, planned.one)
                planned = dataclasses.replace(again, refused=planned.refused)

    def _write(self, after: dict[str, str], folder: str | None) -> None:
        if folder or self.options.in_place:
            for name, text in after.items():
                path = os.path.join(folder or self.program.base, name)
                # What is to be changed in its place was named, whatever it is a link to.
                _put(path if folder else os.path.realpath(path), text)
        elif self.options.diff is not None:
            sys.stdout.buffer.write(_diff(self.before, after).encode("latin-1"))


def _put(path: str, text: str) -> None:
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    except OSError as error:
        raise Failure(f"cannot write {path}: {error.strerror}", FAILED) from None
    wholefile.write_bytes(path, text.encode("latin-1"))


def _diff(before: dict[str, str], after: dict[str, str]) -> str:
    return "".join(
        line
        for name, text in after.items()
        for line in difflib.unified_diff(
            before[name].splitlines(True),
            text.splitlines(True),
            _in_header("a/" + name),
            _in_header("b/" + name),
        )
    )


def _in_header(name: str) -> str:
    """A file's name as a patch has it: byte for byte, one character each, as its lines are; in
    quotes, as git and patch(1) read them, where it would break the line."""
    quoted = re.sub(r'[\x00-\x1f\x7f"\\]', lambda found: f"\\{ord(found[0]):03o}", name)
    end = "\t" if " " in name else ""  # of the name, which a blank is not
    return os.fsencode(f'"{quoted}"' if quoted != name else name + end).decode("latin-1")


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


def _summary(made, output) -> dict:
    chosen = made.sections()
    entries = [entry for all_of in made.kept.values() for entry in all_of] + output.not_done
    locks_ = {}
    for op in made.operations:
        lock = locks_.setdefault(
            op.key, {"sections": 0, "rewritten": 0, "atomic": 0, "word": made.is_word(op)}
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


def _offer_words(names: set[str]) -> None:
    if names:
        which = "|".join(re.escape(name) for name in sorted(names))
        print(f"These can be words: --words '^({which})$'", file=sys.stderr)


def _print_summary(summaries: list[dict], summary: dict, json_file: str | None) -> None:
    if json_file == "-":
        json.dump(summary, sys.stdout, indent=2)
        print()
    elif json_file:
        _put(json_file, json.dumps(summary, indent=2))
    for one in summaries:
        _print_one(one, with_calls="stage" not in one)


def _print_one(summary: dict, with_calls: bool) -> None:
    out = sys.stderr
    if "stage" in summary:
        _print_stage(summary)
    for entry in summary["not_done"]:
        if with_calls or entry["kind"] != "call":
            _print_entry(entry)
    for name, lock in sorted(summary["locks"].items()):
        if lock["word"]:
            print(f"{name}: {lock['sections']} sections, a word", file=out)
            continue
        state = "stays a lock" if not lock["rewritten"] else f"{lock['atomic']} atomic"
        print(f"{name}: {lock['rewritten']} of {lock['sections']} sections, {state}", file=out)


def _print_entry(entry: dict) -> None:
    print(f"{entry['file']}:{entry['line']}: {entry['what']}: {entry['why']}", file=sys.stderr)
    for step in entry["chain"]:
        print(f"    {step}", file=sys.stderr)


def _print_stage(summary: dict) -> None:
    """What runs alone at a stage, and why."""
    made = summary["transactions"]
    count = {kind: sum(t["alone"] == kind for t in made) for kind in (AT_START, IN_FLIGHT)}
    atomic = sum(t["kind"] == "atomic" for t in made)
    print(
        f"{summary['stage']}: {len(made)} transactions, {atomic} atomic;"
        f" {count[AT_START]} begin alone, {count[IN_FLIGHT]} may have to go on alone",
        file=sys.stderr,
    )
    for transaction in made:
        if transaction["why"]:
            print(
                f"{transaction['file']}:{transaction['line']}: {transaction['lock']}: alone"
                f" {transaction['alone']}",
                file=sys.stderr,
            )
        for entry in transaction["why"]:
            print(f"    {entry['file']}:{entry['line']}: {entry['why']}", file=sys.stderr)
            for step in entry["chain"]:
                print(f"        {step}", file=sys.stderr)
