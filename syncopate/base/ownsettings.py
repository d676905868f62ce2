"""Our own variables in a user's environment, which a comparison or a search chooses by itself."""

import re
from collections.abc import Mapping

# Where the command finds its parts, and how stacks of this program are walked.
KEPT = ("SYNCOPATE_NATIVE", "SYNCOPATE_STACKS")


def without(environ: Mapping[str, str]) -> dict[str, str]:
    """An environment without what tells Syncopate how to run; where it is may stay."""
    return {
        name: text
        for name, text in environ.items()
        if name in KEPT or not re.fullmatch(r"SYNCOPATE(_.*)?", name)
    }
