"""Options that would do nothing beside others: refused in one line, so that none is dropped."""

from collections.abc import Collection

from syncopate.base.errors import BAD_USE, Failure

# Any of the first options does nothing beside any of the second ones, and why.
Clash = tuple[tuple[str, ...], tuple[str, ...], str]


def refuse(command: str, given: Collection[str], clashes: Collection[Clash]) -> None:
    """Raises a Failure for the first of the options in `given` that does nothing."""
    for idle, beside, why in clashes:
        one = next((option for option in idle if option in given), None)
        other = next((option for option in beside if option in given), None)
        if one and other:
            raise Failure(f"{command}: {one} with {other}: {why}", BAD_USE)
