"""argparse with our way of failing: one line on standard error that says what to do."""

import argparse

from syncopate.base.errors import BAD_USE, Failure, near

MOST_SECONDS = 1e8  # three years; what waits for a time takes no more than a hundred times that


def seconds(text: str) -> float:
    """The type of an argument: a time in seconds."""
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found < MOST_SECONDS:
        raise argparse.ArgumentTypeError(f"'{text}': a number of seconds above 0 is wanted")
    return found


class Parser(argparse.ArgumentParser):
    """A parser whose mistakes are Failures."""

    def __init__(self, command: str, **others):
        super().__init__(
            prog=f"syncopate {command}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
            **others,
        )

    def error(self, message: str):
        """With what was meant, if that is an option."""
        begin, _, words = message.partition("unrecognized arguments: ")
        if not begin and words.startswith("-"):
            message += near(words.split()[0].partition("=")[0], list(self._option_string_actions))
        raise Failure(f"{self.prog.partition(' ')[2]}: {message}; see --help", BAD_USE)

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is not None and value not in action.choices:
            names = [str(choice) for choice in action.choices]
            meant = f"{value!r}{near(str(value), names)} (choose from {', '.join(names)})"
            raise argparse.ArgumentError(action, f"invalid choice: {meant}")

    def _get_values(self, action: argparse.Action, arg_strings: list[str]):
        """An option that is given without its value is no option that is not given."""
        if action.option_strings and "" in arg_strings:
            self.error(f"argument {'/'.join(action.option_strings)}: expected a value")
        return super()._get_values(action, arg_strings)
