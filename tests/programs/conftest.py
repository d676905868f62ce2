"""Makes bench/servers.py importable, and ends the programs under test when we are ended."""

import signal
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(Path(__file__).resolve().parent), str(ROOT / "bench")]


def pytest_configure(config):
    config.addinivalue_line("markers", "long: slow; `make check` leaves it out, `check-all` not")
    # Servers and programs run in sessions of their own; unwinding is what stops them.
    signal.signal(signal.SIGTERM, lambda *_: pytest.exit("terminated", 143))
