#!/usr/bin/env python3
"""Runs a program of this folder in lua-mt as the other workloads are run, for the figures: options
in, one line of JSON out.

The build puts it beside them as lua.simulated. lua-mt.simulated is that of `make lua`, or what
LUA_MT_PROGRAM names.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
BUILT = FOLDER.parents[2] / "build" / "lua" / "bin" / "lua-mt.simulated"


def launch(options) -> dict:
    """The program's time and result, and what the interpreter lock counted."""
    with tempfile.TemporaryDirectory() as folder:
        statistics = Path(folder) / "gil.json"
        environment = os.environ | {
            "SYNCOPATE_GIL": options.gil,
            "SYNCOPATE_GIL_STATS": str(statistics),
            "LUA_MT_LINE": str(options.line),
            "LUA_MT_REMOVE": options.remove,
        }
        program = Path(os.environ.get("LUA_MT_PROGRAM", BUILT))
        if not program.is_file():
            sys.exit(f"there is no {program}: build it with `make lua`")
        command = [str(program), f"{options.script}.lua", str(options.threads), str(options.size)]
        done = subprocess.run(
            command, cwd=FOLDER, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            sys.exit(done.stderr.strip() or f"lua-mt ended with {done.returncode}")
        lock = json.loads(statistics.read_text(encoding="utf-8"))
    took, result = done.stdout.split()[:2]
    kept = ("transactions", "aborts", "fallbacks", "cycles")
    return {"microseconds": float(took), "result": result} | {"gil": {k: lock[k] for k in kept}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--script", required=True, help="a program's name, without .lua")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--gil", default="dynamic", help="SYNCOPATE_GIL")
    parser.add_argument("--line", type=int, default=64, help="LUA_MT_LINE")
    parser.add_argument("--remove", default="all", help="LUA_MT_REMOVE")
    parser.add_argument("--build", default="", help="tells builds apart; nothing else")
    print(json.dumps(launch(parser.parse_args())))


if __name__ == "__main__":
    main()
