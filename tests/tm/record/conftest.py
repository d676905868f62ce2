"""Makes transaction_runs.py and the command line importable; builds the programs to record."""

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent.parent)]


@pytest.fixture(scope="session")
def build(tmp_path_factory):
    """Compiles a program of this folder, linked with our library; returns its path."""
    from transaction_runs import ROOT

    from syncopate.base import paths
    from syncopate.launch import transactions

    folder = tmp_path_factory.mktemp("programs")
    library = paths.require(transactions.LIBRARY)

    def compiled(name, *options):
        target = folder / name
        command = ["g++", "-std=c++20", "-O2", "-g", "-Wall", f"-I{ROOT}/include", *options]
        subprocess.run(
            [*command, "-o", target, HERE / f"{name}.cpp", library, "-pthread"], check=True
        )
        return target

    return compiled
