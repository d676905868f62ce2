"""Builds a program for a machine as a user does, by `syncopate c++`."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = os.environ.get("SYNCOPATE_NATIVE", str(ROOT / "build"))


def build(
    folder: Path, name: str, text: str, machine: str = "simulated", options: tuple[str, ...] = ()
) -> Path:
    """The program of this text, for the machine."""
    (folder / f"{name}.cpp").write_text(text, encoding="utf-8")
    command = ["c++", f"--machine={machine}", "-O1", *options, f"{name}.cpp", "-o", name]
    subprocess.run(
        [sys.executable, "-m", "syncopate", *command],
        cwd=folder,
        env={**os.environ, "SYNCOPATE_NATIVE": BUILD, "PYTHONPATH": str(ROOT)},
        check=True,
        timeout=120,
    )
    return folder / name
