"""`syncopate report`: what a record says.

Each form's modules are imported where it is asked for: half of the time that a small report takes
would go into the others.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import sys

from syncopate.base import boundedfile, wholefile
from syncopate.base.arguments import Parser
from syncopate.base.errors import BAD_USE, Failure
from syncopate.base.progress import Progress
from syncopate.base.shown import shown
from syncopate.records import openwaits, processes, recordfile, recordformat
from syncopate.records.analysis import Analysis
from syncopate.records.results import Results
from syncopate.records.selection import SORTS, matcher, select
from syncopate.show import gilreport
from syncopate.symbols.names import Names

MOST_BLOCKS = 10_000
SCHEMA, SCHEMA_VERSION = "syncopate-report", 1
DEFAULT_TOP = 10
RECORD = "syncopate.rec"  # what `syncopate record` writes unless told otherwise
FORMS = ("html", "perfetto", "firefox", "bundle", "json", "folded", "advice")
TEXT = "text"  # printed where no form is asked for
# What acts on some forms only.
ACTS_ON = {
    "top": ("html", "json", "folded", TEXT),
    "sort": ("html", "json", "folded", TEXT),
    "lock": ("html", "json", "folded", "advice", "perfetto", "firefox", TEXT),
    "predict": ("html", "json", "advice", TEXT),
    "whatif": ("html", "json", "advice", TEXT),
    "policy": ("html",),
    "holders": ("folded",),
}
OF_LOCKS = ("perfetto", "firefox", "folded", "advice", "top", "sort", "lock", "predict", "whatif")


def _parser() -> Parser:
    parser = Parser(
        "report",
        description="Shows what records say: which locks a program waited for, who waited, and\n"
        "who held them meanwhile. Prints text unless another form is asked for.",
    )
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help=f"a record; one per process (default: {RECORD})"
    )
    forms = parser.add_argument_group("forms")
    everything = "everything, as docs/reference/report-schema.md"
    forms.add_argument("--json", action="store_true", help=everything)
    forms.add_argument("--html", metavar="FILE", help="write one self-contained page")
    forms.add_argument("--folded", action="store_true", help="stacks of waiters, for a flame graph")
    forms.add_argument("--holders", action="store_true", help="with --folded: the holders' stacks")
    forms.add_argument("--perfetto", metavar="FILE", help="write a trace for ui.perfetto.dev")
    forms.add_argument("--firefox", metavar="FILE", help="write a profile for profiler.firefox.com")
    forms.add_argument(
        "--bundle", metavar="FILE", help="write the records with what their names need, to be moved"
    )
    forms.add_argument("--advice", choices=["json"], help="the advice alone, for other tools")
    page = parser.add_argument_group("what is shown beside")
    page.add_argument(
        "--predict",
        metavar="MACHINE",
        help="replay the worst locks with changes on a model (`syncopate simulate --machines`)",
    )
    page.add_argument(
        "--whatif",
        action="append",
        default=[],
        metavar="FILE",
        help="predictions that `syncopate simulate --from RECORD --json FILE` wrote; repeatable",
    )
    page.add_argument(
        "--policy", metavar="FILE", help="with --html: a policy, as of `syncopate tune`"
    )
    choice = parser.add_argument_group("what to show")
    choice.add_argument("--top", type=int, metavar="N", help="locks of each kind (default: 10)")
    choice.add_argument("--sort", choices=SORTS, help="by what (default: lost)")
    choice.add_argument("--lock", metavar="REGEX", help="only locks whose name matches")
    choice.add_argument("--redact", action="store_true", help="leave out the program's arguments")
    return parser


def main(arguments: list[str]) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    if not options.files and not os.path.exists(RECORD):
        parser.error(f"name a FILE: {RECORD}, which is read unless one is named, is not here")
    options.files = options.files or [RECORD]
    if twice := _named_twice(options.files):
        parser.error(f"{shown(twice)} is named twice, and would count twice")
    if options.top is not None and options.top < 1:
        parser.error(f"--top {options.top}: at least one lock must be shown")
    if bool(options.json) + bool(options.folded) + bool(options.advice) > 1:
        parser.error("--json, --advice and --folded all write to standard output; choose one")
    matcher(options.lock)  # which says now what is wrong with it
    _refuse_idle(parser, options)
    if any(gilreport.is_statistics(path) for path in options.files):
        return _interpreter_locks(parser, options)
    with _without_collector():
        _report(options)
    return 0


def _named_twice(files: list[str]) -> str | None:
    """The first of the files that stands there again, under whatever name."""
    seen = set()
    for path in files:
        with contextlib.suppress(OSError):  # which is told where it is read
            found = os.stat(path)
            if (found.st_dev, found.st_ino) in seen:
                return path
            seen.add((found.st_dev, found.st_ino))
    return None


def _refuse_copy(record: recordfile.Record, others: list[recordfile.Record]) -> None:
    """A Failure where it is of the same recording as another one: a copy, or one in a bundle."""
    for other in others:
        if other.is_same_recording(record):
            raise Failure(
                f"{shown(record.path)} and {shown(other.path)} are of one recording, which would"
                " count twice; leave one out",
                BAD_USE,
            )


def _refuse_idle(parser: Parser, options) -> None:
    """A Failure for an option that acts on none of the forms that are asked for."""
    forms = [name for name in FORMS if getattr(options, name)] or [TEXT]
    for name, acts_on in ACTS_ON.items():
        if getattr(options, name) and not set(acts_on) & set(forms):
            wanted = ", ".join(each if each == TEXT else f"--{each}" for each in acts_on)
            given = ", ".join(each if each == TEXT else f"--{each}" for each in forms)
            parser.error(f"--{name} changes {wanted}, and this is {given}")


@contextlib.contextmanager
def _without_collector():
    """What is read stays until the end: looking for garbage in it takes a fifth of the time."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _report(options) -> None:
    progress, names = Progress(), Names()
    analyses = []
    for path in options.files:
        with contextlib.suppress(Failure, OSError):  # which is told below, or only looked at
            openwaits.look(path)
        for record in _records(path):
            _refuse_copy(record, [each.record for each in analyses])
            if options.redact:
                record.redact()
            analyses.append(Analysis(record, progress, names=names))
    progress("adding up")
    whole = [Results(analysis).as_data() for analysis in analyses]
    _refuse_of_transactions(options, whole)
    predicted = _predicted(options, analyses, whole, progress)
    progress.done()
    _write(options, analyses, whole, predicted)


def _refuse_of_transactions(options, whole: list[dict]) -> None:
    """A Failure for what tells of locks alone, of records in which there are none."""
    if not all(results["transactions"] for results in whole):
        return
    if given := next((name for name in OF_LOCKS if getattr(options, name)), None):
        raise Failure(
            f"report: --{given} is of locks, and {shown(options.files[0])} records transactions",
            BAD_USE,
        )


def _records(path: str) -> list:
    """The records of a bundle, or the one that the file is."""
    if not boundedfile.starts_with(path, recordformat.BUNDLE_MAGIC):
        return [recordfile.Record(path)]
    from syncopate.records import bundle

    return bundle.read(path)


def _predicted(options, analyses: list[Analysis], whole: list[dict], progress) -> list[dict]:
    """What predictions say, also put into `whole`."""
    if not options.predict and not options.whatif:
        for results in whole:
            for finding in results["findings"]:
                finding["predictions"] = []
        return []
    from syncopate.show.reportextras import add_predictions, prediction

    predicted = [prediction(path, whole) for path in options.whatif]
    if options.predict:
        from syncopate.commands import reportpredict

        predicted += reportpredict.predictions(analyses, whole, options.predict, progress)
    add_predictions(whole, predicted)
    return predicted


def _interpreter_locks(parser: Parser, options) -> int:
    """Files that SYNCOPATE_GIL_STATS named, as text."""
    if not all(gilreport.is_statistics(path) for path in options.files):
        parser.error("records and statistics of interpreter locks need a report of their own each")
    if options.json or options.folded or options.advice or any(_files(options)):
        parser.error("the statistics of an interpreter lock have one form, text")
    idle = ("sort", "lock", "predict", "whatif", "redact")
    if given := next((name for name in idle if getattr(options, name)), None):
        parser.error(f"--{given} is for records, and these are statistics of an interpreter lock")
    for path in options.files:
        statistics = gilreport.read(path)
        with boundedfile.damaged_where_wrong(path, "let the runtime write it again"):
            gilreport.check(statistics)
            text = gilreport.text(statistics, options.top or DEFAULT_TOP)
        print(text, end="")
    return 0


def _files(options) -> tuple[str | None, ...]:
    """The files that are to be written."""
    return (options.html, options.perfetto, options.firefox, options.bundle)


def _write(options, analyses: list[Analysis], whole: list[dict], predicted: list[dict]) -> None:
    def chosen(top: int | None) -> list[dict]:
        return [select(each, options.sort or "lost", options.lock, top) for each in whole]

    view = processes.of(whole, matcher(options.lock))
    if options.html:
        from syncopate.show import htmlpage
        from syncopate.show.reportextras import extras

        told = chosen(options.top)
        added = extras(told, predicted, options.policy)
        _to_file(options.html, htmlpage.pieces(analyses, document(told, view), added))
    if options.bundle:
        from syncopate.records import bundle

        bundle.write(options.bundle, ((each.record, each.symbolizer) for each in analyses))
        print(f"syncopate: wrote {shown(options.bundle)}", file=sys.stderr)
    if options.perfetto:
        from syncopate.show import perfetto

        _to_file(options.perfetto, perfetto.pieces(analyses, options.lock))
    if options.firefox:
        from syncopate.show import firefox

        _to_file(options.firefox, firefox.pieces(analyses, options.lock))
    if options.json:
        json.dump(document(chosen(options.top), view), sys.stdout, indent=1)
        print()
    elif options.advice:
        from syncopate.show import advicejson

        json.dump(advicejson.document(chosen(None)), sys.stdout, indent=1)
        print()
    elif options.folded:
        from syncopate.show import folded

        folded.show(chosen(options.top), "holders" if options.holders else "waiters")
    elif not any(_files(options)):
        from syncopate.show import textreport

        textreport.show(chosen(options.top or DEFAULT_TOP), options.lock, view)


def document(records: list[dict], view: dict) -> dict:
    """The whole of --json. `view`: of all records together."""
    return {
        "schema": SCHEMA,
        "version": SCHEMA_VERSION,
        "processes": view,
        "records": [_with_few_blocks(results) for results in records],
    }


def _with_few_blocks(results: dict) -> dict:
    """The results with the pairs of threads that cost most alone: of thousands of threads there
    are millions."""
    kept, others = results["blocks"][:MOST_BLOCKS], results["blocks"][MOST_BLOCKS:]
    left_out = {"pairs": len(others), "ns": sum(block["ns"] for block in others)}
    return {**results, "blocks": kept, "blocks_left_out": left_out}


def _to_file(path: str, pieces) -> None:
    wholefile.write(path, pieces, for_owner=True)  # as the record is, which it shows
    print(f"syncopate: wrote {shown(path)}", file=sys.stderr)
