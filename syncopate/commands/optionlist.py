"""`syncopate options`: the environment variables, and which of them are set."""

import json
import os

from syncopate.base import optiontable, terminal
from syncopate.base.arguments import Parser
from syncopate.base.errors import BAD_USE, Failure, near
from syncopate.base.shown import shown

PREFIX = optiontable.PREFIX


def main(arguments: list[str]) -> int:
    parser = Parser(
        "options",
        description="Shows the environment variables that Syncopate reads, which are set, and"
        " variables that are set but that nobody knows.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these, such as LOCK")
    parser.add_argument("--all", action="store_true", help="also those of this project's own tests")
    parser.add_argument("--json", action="store_true", help="the table as JSON")
    options = parser.parse_args(arguments)
    rows = optiontable.rows()
    if options.names:
        rows = {name: rows[name] for name in map(_full_name, options.names)}
    elif not options.all:
        rows = {name: row for name, row in rows.items() if row["readers"] != ["tests"]}
    if options.json:
        print(json.dumps(list(rows.values()), indent=2))
        return 0
    show(list(rows.values()))
    for line in optiontable.unknown(os.environ):
        print(shown(line))
    return 0


def _full_name(name: str) -> str:
    """LOCK or SYNCOPATE_LOCK; a Failure names those that are like it."""
    known = optiontable.rows()
    full = name.upper()
    full = full if full in known else f"{PREFIX}_{full}"
    if full not in known:
        short = [each.removeprefix(f"{PREFIX}_") for each in known]
        raise Failure(
            f"options: no variable is named '{name}'"
            f"{near(name.upper().removeprefix(f'{PREFIX}_'), short)}; see `syncopate options`",
            BAD_USE,
        )
    return full


def written(row: dict) -> str:
    """A variable and what may follow it: SYNCOPATE_LOCK=NAME[:WAIT]."""
    return f"{row['variable']}={row['form']}"


def explained(row: dict) -> str:
    """What it means, its names unless its form has them, and what holds unless it is set."""
    parts = [row["meaning"]]
    names = [
        f"{name}[:WAIT]" if name in row["choices_that_wait"] else name for name in row["choices"]
    ]
    if row["choices"] and not set(row["choices"]) <= set(row["form"].split("|")):
        parts.append(f"one of {', '.join(names)}")
    if row["unless_set"]:
        parts.append(f"unless set: {row['unless_set']}")
    return "; ".join(parts)


def show(rows: list[dict]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("variable", no_wrap=True)
    table.add_column("read by", overflow="fold")
    table.add_column("meaning", ratio=1, overflow="fold")
    for row in rows:
        meaning = Text(explained(row))
        value = os.environ.get(row["variable"])
        if value:
            meaning.append(f"\nset: {shown(value)}", style="yellow")
        table.add_row(Text(written(row), style="bold"), ", ".join(row["readers"]), meaning)
    terminal.console().print(table)
