"""What the emulated machine costs: bench/emulated/cost.cpp compiled plainly and for the machine.

usage: python bench/emulated_cost.py [ROUNDS]

Needs `syncopate` of a build or an installation (PATH). Runs the programs in turns, ROUNDS times
(5), and prints the best time of each piece, with its ratio to the plain one. Times on a busy
machine are noise.
"""

import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SOURCE = os.path.join(ROOT, "bench", "emulated", "cost.cpp")
OPTIONS = ["-std=c++20", "-O2", "-pthread", SOURCE]


def run(command: list[str], best: dict[str, float]) -> None:
    """Runs one program once; keeps the best time of each piece."""
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    for line in done.stdout.splitlines():
        name, time = line.split()
        best[name] = min(float(time), best.get(name, float("inf")))


def main() -> int:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory() as folder:
        plain = os.path.join(folder, "plain")
        emulated = os.path.join(folder, "emulated")
        compiler = os.environ.get("CXX", "g++")
        include = os.path.join(ROOT, "include")
        subprocess.run([compiler, "-I", include, *OPTIONS, "-o", plain], check=True)
        wrapper = ["syncopate", "c++", "--machine=emulated"]
        subprocess.run([*wrapper, *OPTIONS, "-o", emulated], check=True)
        commands = {"plain": [plain], "outside": [emulated], "inside": [emulated, "inside"]}
        best: dict[str, dict[str, float]] = {name: {} for name in commands}
        for _ in range(rounds):
            for name, command in commands.items():
                run(command, best[name])
    print(f"{'ns':16} {'plain':>9} {'outside':>17} {'in transactions':>17}")
    for piece, time in best["plain"].items():
        columns = [f"{time:9.1f}"]
        for name in ("outside", "inside"):
            columns.append(f"{best[name][piece]:9.1f} {best[name][piece] / time:6.1f}x")
        print(f"{piece:16} {' '.join(columns)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
