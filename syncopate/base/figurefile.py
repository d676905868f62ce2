"""Files that pictures are drawn into."""

from __future__ import annotations

import importlib.util
import io
import os

from syncopate.base import wholefile
from syncopate.base.errors import BAD_USE, Failure

KINDS = (".svg", ".png", ".pdf")


def check(path: str) -> None:
    """Complains about a picture that cannot be drawn; before the runs, which may take long."""
    if not path.endswith(KINDS):
        raise Failure(f"--figure {path}: give the file a name in {', '.join(KINDS)}", BAD_USE)
    wholefile.check_place(path, "--figure")
    if importlib.util.find_spec("matplotlib") is None:
        raise Failure(
            "--figure needs matplotlib; install python3-matplotlib, or `pip install matplotlib`",
            BAD_USE,
        )


def save(figure, path: str | os.PathLike, **how) -> None:
    """Writes matplotlib's figure as the kind that the name says, with what savefig() may be told.

    It is drawn in memory: what savefig() does where a disk is full, or into a pipe, depends on the
    kind.
    """
    drawn = io.BytesIO()
    figure.savefig(drawn, format=os.path.splitext(path)[1][1:], **how)
    wholefile.write_bytes(path, drawn.getvalue())
