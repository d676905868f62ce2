"""Files that pictures are drawn into."""

import importlib.util
import os

from syncopate.base.errors import BAD_USE, Failure

KINDS = (".svg", ".png", ".pdf")


def check(path: str) -> None:
    """Complains about a picture that cannot be drawn; before the runs, which may take long."""
    if not path.endswith(KINDS):
        raise Failure(f"--figure {path}: give the file a name in {', '.join(KINDS)}", BAD_USE)
    if not os.path.isdir(os.path.dirname(os.path.abspath(path))):
        raise Failure(f"--figure {path}: there is no such folder", BAD_USE)
    if importlib.util.find_spec("matplotlib") is None:
        raise Failure("--figure needs matplotlib: pip install matplotlib", BAD_USE)
