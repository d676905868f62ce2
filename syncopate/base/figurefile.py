"""Files that pictures are drawn into."""

import importlib.util

from syncopate.base import wholefile
from syncopate.base.errors import BAD_USE, Failure

KINDS = (".svg", ".png", ".pdf")


def check(path: str) -> None:
    """Complains about a picture that cannot be drawn; before the runs, which may take long."""
    if not path.endswith(KINDS):
        raise Failure(f"--figure {path}: give the file a name in {', '.join(KINDS)}", BAD_USE)
    wholefile.check_place(path, "--figure")
    if importlib.util.find_spec("matplotlib") is None:
        raise Failure("--figure needs matplotlib: pip install matplotlib", BAD_USE)
