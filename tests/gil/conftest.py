"""What several files of tests need: lua-mt, built once."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def lua() -> Path:
    """The folder of the built programs: Lua's source is fetched by the package manager."""
    folder = Path(os.environ["SYNCOPATE_BUILD_DIR"]) / "lua"
    build = ROOT / "integrations" / "lua" / "build.sh"
    products = os.environ["SYNCOPATE_NATIVE"]
    machines = ["plain", "native", "emulated", "simulated"]
    command = ["sh", str(build), str(folder), products, *machines]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1500)
    assert done.returncode == 0, done.stderr
    return folder / "bin"
