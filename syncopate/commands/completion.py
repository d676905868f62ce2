"""`syncopate completion`: what shells need to complete its commands, options and their values."""

import re
import sys

from syncopate.base import locktable, optiontable
from syncopate.base.arguments import Parser
from syncopate.commands import commandhelp
from syncopate.commands.commandhelp import Option
from syncopate.launch import openmp, preload, transactions
from syncopate.machines import instrumented, machinefiles

EPILOG = """\
bash:  syncopate completion bash > ~/.local/share/bash-completion/completions/syncopate
zsh:   syncopate completion zsh  > a folder of $fpath, named _syncopate
fish:  syncopate completion fish > ~/.config/fish/completions/syncopate.fish
"""

C_COMPILER = "compile a C program for a machine you do not have"
FILES = object()  # the shell's own completion of file names


def main(arguments: list[str]) -> int:
    parser = Parser(
        "completion",
        description="Prints the completion file of a shell.",
        epilog=EPILOG,
    )
    parser.add_argument("shell", choices=sorted(SHELLS))
    chosen = parser.parse_args(arguments)
    sys.stdout.write(SHELLS[chosen.shell](commands()))
    return 0


def commands() -> dict[str, tuple[list[str], list[Option]]]:
    """For each command: its actions, and its options (of a command with actions, all of theirs)."""
    from syncopate.__main__ import COMMANDS

    result = {}
    for name in [*COMMANDS, "cc"]:
        text = commandhelp.page([name])
        actions = commandhelp.actions(text)
        pages = [text, *(commandhelp.page([name, action]) for action in actions)]
        listed = {}
        for option in (option for each in pages for option in commandhelp.options(each)):
            listed.setdefault(option.names[-1], option)
        result[name] = (actions, list(listed.values()))
    return result


def values(command: str, option: Option):
    """What can follow the option: a list of words, FILES, or None for anything."""
    choices = re.fullmatch(r"\{(.*)\}", option.takes)
    if choices:
        return choices[1].split(",")
    known = {
        "--elide": lambda: list(preload.elision_modes()),
        "--tm": lambda: list(transactions.algorithms()),
        "--omp-barrier": lambda: [*openmp.barriers(), openmp.RUNTIME],
        "--omp-lock": lambda: [openmp.OWN_LOCK, openmp.RUNTIME, *_locks("openmp")],
        "--omp-regions": lambda: list(optiontable.choices("SYNCOPATE_OMP_REGIONS")),
        "--omp-tasks": lambda: list(optiontable.choices("SYNCOPATE_OMP_TASKS")),
        "--wait": lambda: list(openmp.waits()),
        "--lock": _locks if command in ("run", "record", "top") else None,
        "--machine": _machines
        if command not in ("c++", "cc")
        else lambda: list(instrumented.MACHINES),
    }
    find = known.get(option.names[-1])
    if find is not None and option.takes:
        return find()
    return FILES if option.takes in ("FILE", "FOLDER", "RECORD") else None


def _locks(library: str = "preload") -> list[str]:
    """Those that programs can be run with, or that stand behind OpenMP's."""
    return [lock["name"] for lock in locktable.load() if lock.get(library, lock["preload"])]


def _machines() -> list[str]:
    return list(machinefiles.files())


def _bash(table) -> str:
    cases, options_of, actions_of = [], [], []
    for command, (actions, listed) in table.items():
        names = [name for option in listed for name in option.names]
        options_of.append(f"    {command}:-*) words='{' '.join(names)}' ;;")
        if actions:
            actions_of.append(f"    {command}:2) words='{' '.join(actions)}' ;;")
        for option in listed:
            taken = values(command, option) if option.takes else None
            words = "" if taken is FILES or taken is None else " ".join(taken)
            for name in option.names if option.takes else []:
                cases.append(f"    {command}:{name}) _syncopate_words '{words}'; return ;;")
    return BASH.format(
        commands=" ".join(table),
        values="\n".join(cases),
        options="\n".join(options_of),
        actions="\n".join(actions_of),
    )


BASH = """\
# Completion of syncopate for bash; made by `syncopate completion bash`.
_syncopate_words() {{
  local kind=-f
  [ -z "$1" ] || kind=
  mapfile -t COMPREPLY < <(compgen $kind -W "$1" -- "$current")
}}

_syncopate() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
  local command=${{COMP_WORDS[1]}} words= word
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    _syncopate_words '{commands} --help --version'
    return
  fi
  if [ "$before" = -- ]; then
    mapfile -t COMPREPLY < <(compgen -c -f -- "$current")
    return
  fi
  # After that it is the program's own line.
  for word in "${{COMP_WORDS[@]:2:COMP_CWORD-2}}"; do
    [ "$word" != -- ] || {{ _syncopate_words ''; return; }}
  done
  case $command:$before in
{values}
  esac
  case $command:$current in
{options}
  esac
  case $command:$COMP_CWORD in
{actions}
  esac
  _syncopate_words "$words"
}}
complete -o filenames -F _syncopate syncopate
"""


def _zsh(table) -> str:
    from syncopate.__main__ import COMMANDS

    described = [f"    {_zsh_quoted(f'{name}:{COMMANDS.get(name, C_COMPILER)}')}" for name in table]
    cases = []
    for command, (actions, listed) in table.items():
        specs = [spec for option in listed for spec in _zsh_specs(command, option)]
        specs.append(f"'1:action:({' '.join(actions)})'" if actions else "'*::program:_normal'")
        cases.append(f"    {command})\n      _arguments {' '.join(specs)}\n      ;;")
    return ZSH.format(commands="\n".join(described), cases="\n".join(cases))


def _zsh_specs(command: str, option: Option) -> list[str]:
    taken = values(command, option) if option.takes else None
    action = "_files" if taken is FILES else f"({' '.join(taken)})" if taken else " "
    text = re.sub(r"([\[\]:])", r"\\\1", option.text)
    value = f":value:{action}" if option.takes else ""
    return [_zsh_quoted(f"{name}[{text}]{value}") for name in option.names]


def _zsh_quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


ZSH = """\
#compdef syncopate
# Completion of syncopate for zsh; made by `syncopate completion zsh`.
_syncopate() {{
  local -a commands
  commands=(
{commands}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  shift words
  (( CURRENT-- ))
  case $words[1] in
{cases}
  esac
}}
_syncopate "$@"
"""


def _fish(table) -> str:
    lines = ["# Completion of syncopate for fish; made by `syncopate completion fish`."]
    from syncopate.__main__ import COMMANDS

    for command, (actions, listed) in table.items():
        text = _quoted(COMMANDS.get(command, C_COMPILER))
        lines.append(
            f"complete -c syncopate -f -n __fish_use_subcommand -a '{command}' -d '{text}'"
        )
        here = f"complete -c syncopate -n '__fish_seen_subcommand_from {command}'"
        if actions:
            lines.append(f"{here} -f -a '{' '.join(actions)}'")
        for option in listed:
            names = [
                f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
                for name in option.names
            ]
            taken = values(command, option) if option.takes else None
            value = f" -x -a '{' '.join(taken)}'" if isinstance(taken, list) else ""
            if option.takes and not value:
                value = " -r"
            lines.append(f"{here} {' '.join(names)}{value} -d '{_quoted(option.text)}'")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")


SHELLS = {"bash": _bash, "fish": _fish, "zsh": _zsh}
