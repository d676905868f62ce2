"""`syncopate diff`: what changed between two records."""

import json
import re
import sys

from syncopate.base import boundedfile, wholefile
from syncopate.base.arguments import Parser
from syncopate.base.errors import BAD_USE, FAILED, Failure
from syncopate.base.progress import Progress
from syncopate.base.shown import shown
from syncopate.commands.report import DEFAULT_TOP, SCHEMA, SCHEMA_VERSION
from syncopate.records import bundle
from syncopate.records.analysis import Analysis
from syncopate.records.comparison import Comparison
from syncopate.records.results import Results
from syncopate.show import difftext

REMEDY = "make it again with `syncopate report --json RECORD`"


def _parser() -> Parser:
    parser = Parser(
        "diff",
        description="Compares two records of a program, as of before and after a change: locks\n"
        "are matched by name and place, and what chance explains is called noise.",
        epilog="BEFORE and AFTER are records, or what `syncopate report --json` printed.\n"
        "Exit status: 0, whatever changed; 1 a file cannot be read or written, 2 bad use.",
    )
    parser.add_argument("before", metavar="BEFORE", help="the record to compare with")
    parser.add_argument("after", metavar="AFTER", help="the record to judge")
    parser.add_argument(
        "--json", action="store_true", help="everything, as docs/reference/json.md has it"
    )
    parser.add_argument("--html", metavar="FILE", help="write one self-contained page")
    parser.add_argument(
        "--per",
        choices=("run", "second"),
        default="run",
        help="compare sums of whole runs (default), or of a second: for servers",
    )
    parser.add_argument("--top", type=int, metavar="N", help="locks shown as text (default: 10)")
    parser.add_argument("--lock", metavar="REGEX", help="only locks whose name matches")
    return parser


def main(arguments: list[str]) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.top is not None and options.top < 1:
        parser.error(f"--top {options.top}: at least one lock must be shown")
    progress = Progress()
    sides = [_results(path, progress) for path in (options.before, options.after)]
    reports = [p for p in (options.before, options.after) if boundedfile.starts_with(p, b"{")]
    if not reports:
        _show(options, sides, progress)
    else:  # which anybody may have written
        with boundedfile.damaged_where_wrong(reports[0], REMEDY):
            _show(options, sides, progress)
    return 0


def _show(options, sides: list[dict], progress: Progress) -> None:
    progress("comparing")
    comparison = Comparison(*sides, options.per == "second")
    if options.lock is not None:
        _keep_matching(comparison, options.lock)
    progress.done()
    if options.html:
        from syncopate.show import htmlpage

        wholefile.write(options.html, htmlpage.comparison(comparison), for_owner=True)
        print(f"syncopate: wrote {shown(options.html)}", file=sys.stderr)
    if options.json:
        json.dump(comparison.as_data(), sys.stdout, indent=1)
        print()
    elif not options.html:
        difftext.show(comparison.as_data(), options.top or DEFAULT_TOP, options.lock)


def _keep_matching(comparison: Comparison, pattern: str) -> None:
    try:
        wanted = re.compile(pattern)
    except re.error as error:
        raise Failure(f"--lock: '{pattern}' is no regular expression: {error}", BAD_USE) from None
    kept = [
        number
        for number, row in enumerate(comparison.rows)
        if wanted.search(row["name"]) or wanted.search(row["name_before"] or "")
    ]
    comparison.rows = [comparison.rows[number] for number in kept]
    comparison.pairs = [comparison.pairs[number] for number in kept]


def _results(path: str, progress: Progress) -> dict:
    """A record's results; a report's, where the file is what --json printed."""
    results = _from_report(path) if boundedfile.starts_with(path, b"{") else None
    if results is None:
        results = Results(Analysis(bundle.read_one(path), progress)).as_data()
    if results["transactions"]:
        raise Failure(
            f"{path} records transactions, and diff compares locks; see `syncopate report`", FAILED
        )
    return results


def _from_report(path: str) -> dict:
    document = boundedfile.read_json(path)
    if not isinstance(document, dict):
        raise Failure(f"{path} is no report; make it with `syncopate report --json RECORD`", FAILED)
    schema, version = document.get("schema"), document.get("version")
    if schema != SCHEMA or version != SCHEMA_VERSION:
        raise Failure(
            f"{path} has schema {schema} {version}, and diff reads {SCHEMA} {SCHEMA_VERSION}:"
            " what `syncopate report --json RECORD` prints",
            FAILED,
        )
    records = document.get("records")
    if not isinstance(records, list) or len(records) != 1:
        raise Failure(f"{path} is no report of one record; make it with one", FAILED)
    return _sound(path, records[0])


def _sound(path: str, results: dict) -> dict:
    """The results, if a comparison finds in them all that it needs."""
    with boundedfile.damaged_where_wrong(path, REMEDY):
        Comparison(results, results, False).as_data()
    return {"transactions": None, **results}
