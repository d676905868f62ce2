"""Failures that end the command with one line on standard error and an exit status."""

BAD_USE = 2  # wrong options or operands, or something that cannot be done to this program
FAILED = 1  # the request was understood; files or the machine stood in the way
NOT_EXECUTABLE = 126  # as env(1) and the shells have it
NOT_FOUND = 127


class Failure(Exception):
    """What went wrong and what to do about it, in one line; and the exit status to leave with."""

    def __init__(self, message: str, status: int = FAILED):
        super().__init__(message)
        self.status = status


def near(word: str, known: list[str]) -> str:
    """Returns " (did you mean A or B?)", or "" when nothing known is like `word`."""
    import difflib  # only on the way to an error

    close = difflib.get_close_matches(word, known, n=3, cutoff=0.5)
    return f" (did you mean {' or '.join(close)}?)" if close else ""
