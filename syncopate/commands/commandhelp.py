"""What the commands' own `--help` pages say, as data: for completion files and manual pages."""

import contextlib
import dataclasses
import io
import re

# "  -l, --lock NAME[:WAIT]  which lock", "  -o FILE": names, what they take, text after two spaces.
_OPTION_LINE = re.compile(r"\s{1,8}(-[^\s,]+(?:,? [^\s]+)*?)(?:\s{2,}(\S.*))?")
_NAME = re.compile(r"--?[A-Za-z0-9][\w-]*")


@dataclasses.dataclass
class Option:
    """One option: its names, what it takes ("" for a flag) and the first line of its text."""

    names: list[str]
    takes: str
    text: str


def page(command: list[str]) -> str:
    """What `syncopate COMMAND... --help` prints."""
    from syncopate.__main__ import dispatch

    caught = io.StringIO()
    with contextlib.redirect_stdout(caught), contextlib.suppress(SystemExit):
        dispatch([*command, "--help"])
    return caught.getvalue()


def options(text: str) -> list[Option]:
    """The options that a help page lists."""
    found = []
    lines = text.splitlines()
    for number, line in enumerate(lines):
        match = _OPTION_LINE.fullmatch(line)
        if match is None:
            continue
        names = _NAME.findall(re.sub(r"[=\[{ ][^-,]*", " ", match[1]))
        following = lines[number + 1].strip() if number + 1 < len(lines) else ""
        text = match[2] or ("" if following.startswith("-") else following)
        found.append(Option(names, _takes(match[1]), text))
    return found


def _takes(words: str) -> str:
    """The metavariable or choices of the line's last name."""
    last = re.split(r",\s*(?=-)", words)[-1]
    parts = re.split(r"[= ]", last.replace("[=", " "), maxsplit=1)
    return parts[1] if len(parts) > 1 else ""


def actions(text: str) -> list[str]:
    """The words that a page with `ACTION` in its usage lists with two spaces in front."""
    if "ACTION" not in text.splitlines()[0]:
        return []
    return re.findall(r"^  ([a-z]+) {2,}\S", text, re.MULTILINE)
