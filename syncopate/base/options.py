"""A small option reader for the commands that start a program.

argparse costs more than the rest of `syncopate run` together, and it has no clean way to stop at
the first operand, which is where the program's own arguments begin.
"""

from __future__ import annotations

from syncopate.base.errors import BAD_USE, Failure, near

VALUE, FLAG = "value", "flag"


def read_options(
    arguments: list[str], known: dict[str, str], aliases: dict[str, str]
) -> tuple[dict[str, str], list[str]]:
    """Splits `arguments` into options and the rest.

    `known` maps long options ("--lock") to VALUE or FLAG, `aliases` short ones ("-o") to long ones.
    Reading stops after `--` or at the first word that is no option.
    Returns: the options found (flags map to "1"), and the words that follow them.
    """
    found: dict[str, str] = {}
    position = 0
    while position < len(arguments):
        word = arguments[position]
        position += 1
        if word == "--":
            break
        if not word.startswith("-") or word == "-":
            position -= 1
            break
        name, value = _split(word, aliases)
        kind = known.get(name)
        if kind is None:
            raise Failure(f"unknown option {name}{near(name, list(known))}; see --help", BAD_USE)
        if kind == FLAG:
            if value is not None and not word.startswith("--"):
                arguments = [*arguments[:position], f"-{value}", *arguments[position:]]
            elif value is not None:
                raise Failure(f"option {name} takes no value", BAD_USE)
            found[name] = "1"
            continue
        if value is None:
            if position == len(arguments):
                raise Failure(f"option {name} needs a value; see --help", BAD_USE)
            value = arguments[position]
            position += 1
        if not value:
            raise Failure(f"option {name} needs a value; see --help", BAD_USE)
        found[name] = value
    return found, arguments[position:]


def _split(word: str, aliases: dict[str, str]) -> tuple[str, str | None]:
    """Takes `--name=value`, `--name`, `-ovalue` or `-o` apart; the name comes back in long form.

    What follows a short flag is not its value but more short options: `-qo FILE`.
    """
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        return name, value if equals else None
    short = word[:2]
    return aliases.get(short, short), word[2:] or None
