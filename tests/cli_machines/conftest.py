"""Modules that the tests of this folder share with those of the command line, and bench's."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "cli"), str(HERE.parent.parent / "bench")]
