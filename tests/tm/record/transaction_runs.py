"""Runs the command line, and finds lines in the programs of this folder."""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent


def run_cli(*arguments, **variables):
    """Runs `syncopate ARGUMENTS`; what it says is text."""
    environ = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    command = [sys.executable, "-m", "syncopate", *map(str, arguments)]
    return subprocess.run(
        command, env=environ, capture_output=True, text=True, timeout=60, check=False
    )


def line_of(source, mark):
    """The number of the line of a program in this folder that ends in `// mark`."""
    lines = (HERE / source).read_text().splitlines()
    (number,) = [n for n, line in enumerate(lines, 1) if line.endswith(f"// {mark}")]
    return number
