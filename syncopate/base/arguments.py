"""argparse with our way of failing: one line on standard error that says what to do."""

import argparse

from syncopate.base.errors import BAD_USE, Failure


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
        raise Failure(f"{self.prog.partition(' ')[2]}: {message}; see --help", BAD_USE)
