"""What pages show to be typed: each `syncopate` command is one that the command itself reads, each
target is one of the Makefile, and scripts have the options that they are called with."""

import ast
import re
import shlex
import shutil
from argparse import SUPPRESS
from pathlib import Path

import pytest
from conftest import ROOT, run_cli
from make_record import RecordBuilder

from syncopate import __main__
from syncopate.base import arguments, options
from syncopate.base.errors import Failure
from syncopate.bench.command import ACTIONS
from syncopate.commands import advise, calibrate, check, record, run, simulate, top

READ_BY_HAND = {
    "run": run, "record": record, "top": top, "simulate": simulate, "advise": advise,
    "check": check, "calibrate": calibrate,
}  # fmt: skip
# What stands in an operand's place.
NO_OPERAND = {"--pid", "--machines", "--from"}
PAGES = [
    path
    for pattern in ("*.md", "docs/**/*.md", "integrations/*/*.md", "papers/workloads/**/*.md")
    for path in sorted(ROOT.glob(pattern))
]
SCRIPTS = [  # whose heads show how they are called
    path
    for pattern in ("bench/*.py", "scripts/*.py", "integrations/*/*.py", "syncopate/**/*.py")
    for path in sorted(ROOT.glob(pattern))
]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$|((?:^    .*\n)+)", re.M | re.S)
INLINE = re.compile(r"`([^`]+)`")
SHELL = re.compile(r"(?:\$ )?(?:[A-Z_]+=\S+ )*")
SCRIPT = re.compile(r"(?:\./)?((?:bench|scripts|integrations)/[\w/.]+\.(?:py|sh))")


def shown(text: str):
    """The command lines of a page: whether it is a block's, and the line."""
    for language, fenced, indented in BLOCK.findall(text):
        if language in ("", "sh", "text"):
            for line in (fenced or indented).replace("\\\n", " ").splitlines():
                yield True, SHELL.sub("", line.strip(), count=1)
    for inline in INLINE.findall(BLOCK.sub("", text)):
        yield False, SHELL.sub("", " ".join(inline.split()), count=1)


def words_of(line: str) -> list[str]:
    """A line's words up to what belongs to the shell."""
    try:
        words = shlex.split(line, comments=True)
    except ValueError:  # a sentence with an apostrophe
        return []
    for number, word in enumerate(words):
        if word in ("&", "|", "&&", ";", ">") or word.startswith(">"):
            return words[:number]
    return words


def filled(word: str) -> str:
    """A word with something in the place of what stands for others."""
    return re.sub(r"\bPID\b", "1", word.strip("[]").partition("|")[0])


class Read(Exception):
    """A command line was understood."""


@pytest.fixture
def nothing_runs(monkeypatch):
    parse = arguments.Parser.parse_args

    def only_read(parser, words):
        parse(parser, words)
        raise Read

    monkeypatch.setattr(arguments.Parser, "parse_args", only_read)


def wrong_with(words: list[str], whole: bool) -> str:
    """Why the command does not take them; a name of a command alone, in a sentence, is none."""
    name, rest = words[0], words[1:]
    if name not in __main__.COMMANDS and name not in __main__.ALSO:
        return f"no command {name}"
    try:
        if name in READ_BY_HAND:
            module = READ_BY_HAND[name]
            found, operands = options.read_options(rest, module.OPTIONS, module.ALIASES)
            stands_in = NO_OPERAND & found.keys() or name == "calibrate"
            return "no operand" if whole and not operands and not stands_in else ""
        if name in ("c++", "cc"):
            return "" if any(word.startswith("--machine=") for word in rest) or not whole else "-"
        if rest or whole:
            __main__.dispatch(words)
    except Failure as failure:
        needs_more = re.search("required|name a FILE|needs a value|expected one", str(failure))
        return "" if not whole and needs_more else str(failure)
    except (Read, SystemExit):
        return ""
    return "" if not rest else f"{name} was run"


def options_of(script: Path) -> tuple[set[str], set[str]]:
    """The options that a script has, those of its folder's modules with it, and that it needs."""
    said = script.read_text(encoding="utf-8")
    beside = [
        script.parent / f"{name}.py" for name in re.findall(r"^from (\w+) import", said, re.M)
    ]
    every = said + "".join(path.read_text(encoding="utf-8") for path in beside if path.exists())
    needed = re.findall(r'add_argument\(\s*"(--[\w-]+)"[^()]*required=True', said)
    return set(re.findall(r"""["'](--[\w-]+)["']""", every)), set(needed)


def findings(page: str, text: str) -> list[str]:
    targets = set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(), re.M))
    found = []
    for whole, line in shown(text):
        words = words_of(line)
        why = ""
        if words[:1] == ["syncopate"] and re.fullmatch(r"[a-z+]+", "".join(words[1:2])):
            why = wrong_with([*map(filled, words[1:])], whole)
        elif words[:1] == ["make"] and len(words) > 1:
            named = [word for word in words[1:] if re.fullmatch(r"[a-z][a-z-]*", word)]
            why = ", ".join(f"no target {word}" for word in named if word not in targets)
        elif words and (script := SCRIPT.fullmatch(words[0])) and (ROOT / script[1]).exists():
            own = words[1 : words.index("--") if "--" in words else None]
            given = {word.partition("=")[0] for word in own if word.startswith("--")}
            known, required = options_of(ROOT / script[1])
            why = ", ".join(
                [f"no option {name}" for name in sorted(given - known)]
                + [f"needs {name}" for name in sorted(required - given) if given or whole]
            )
        if why:
            found.append(f"{page}: {line}: {why}")
    return found


def test_commands_of_pages_are_read(nothing_runs, monkeypatch, tmp_path):
    (tmp_path / "syncopate.rec").touch()
    monkeypatch.chdir(tmp_path)
    assert len(PAGES) > 60
    found = []
    for path in PAGES:
        found += findings(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))
    assert len(SCRIPTS) > 200
    for path in SCRIPTS:
        head = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")), clean=False)
        found += findings(path.relative_to(ROOT).as_posix(), head or "")
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "```sh\nsyncopate repord a.rec\n```\n",
        "    syncopate run --lokc mcs -- ./program\n",
        "```\n$ SYNCOPATE_LOCK=mcs syncopate run --lock mcs\n```\n",
        "```text\n$ syncopate report --sort nothing a.rec\n```\n",
        "```sh\nsyncopate diff before.rec   # and after\n```\n",
        "`syncopate tune --for 10m`",
        "`make demonstration`",
        "    bench/programs.py --no-such\n",
    ],
)
def test_a_planted_command_is_found(nothing_runs, monkeypatch, tmp_path, text):
    monkeypatch.chdir(tmp_path)
    assert len(findings("page", text)) == 1


class Made(Exception):
    """A parser, which has read nothing yet."""


@pytest.mark.parametrize("command", [*__main__.COMMANDS, *(f"bench {each}" for each in ACTIONS)])
def test_help_says_what_holds_unless_told(monkeypatch, command):
    def only_made(parser, _words):
        raise Made(parser)

    monkeypatch.setattr(arguments.Parser, "parse_args", only_made)
    try:
        __main__.dispatch([*command.split(), "--help"])
    except Made as made:
        actions = made.args[0]._actions
    except SystemExit:
        return
    else:
        return  # a page that is written by hand
    unsaid = [
        action.option_strings[-1]
        for action in actions
        if action.option_strings and action.default not in (None, False, "", [], SUPPRESS)
        if "%(default)s" not in (action.help or "")
        if not re.search(rf"default|{re.escape(str(action.default))}", action.help or "")
    ]
    assert unsaid == []


def test_report_reads_what_record_writes_unless_told(tmp_path):
    made = RecordBuilder().write(tmp_path / "made")
    named = run_cli("report", made)
    shutil.copy(made, tmp_path / "syncopate.rec")
    done = run_cli("report", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, named.stdout)
