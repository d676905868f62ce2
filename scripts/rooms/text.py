"""The text of C, C++ and assembly as the compiler takes it: without comments, lines joined."""

import re

# What may hide a comment or be hidden by one. A "'" between digits only separates them.
PARTS = re.compile(
    r"//(?:\\\n|[^\n])*|/\*.*?(?:\*/|\Z)"
    r'|R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])*'",
    re.S,
)


def _breaks(text: str) -> str:
    """As many line breaks as the text has."""
    return "\n" * text.count("\n")


def without_comments(text: str) -> str:
    """Comments are blanks, a string of several lines stands on one; all line breaks stay."""

    def keep(part: re.Match) -> str:
        if part[0][0] == "/":
            return " " + _breaks(part[0])
        return part[0].replace("\n", " ") + _breaks(part[0])

    return PARTS.sub(keep, text)


def logical_lines(text: str) -> list[tuple[int, str]]:
    """(number of its first line, line) of a text without comments, continued lines as one."""
    rows, number = [], 1
    for line in re.split(r"(?<!\\)\n", text):
        rows.append((number, line.replace("\\\n", "")))
        number += line.count("\n") + 1
    return rows
