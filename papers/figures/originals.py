"""The papers' original programs, as `syncopate bench originals` has built them, in figures."""

from dataclasses import dataclass
from pathlib import Path

from sweep import ROOT, Point

from syncopate.bench.originaltable import ORIGINALS

BUILT = ROOT / "build" / "originals"
INPUTS = "{inputs}"  # in a program's words: the folder with what it reads


@dataclass(frozen=True)
class Stamp:
    """A program of STAMP: what it is told, besides threads; how it is told those; and what it
    prints once it has checked its own result (empty: it exits with an error, or has no check)."""

    words: str
    threads: str = "-t"
    says: str = ""


# With the sizes that the suite's README files recommend for simulators.
STAMP = {
    "bayes": Stamp("-v32 -r1024 -n2 -p20 -s0 -i2 -e2", says="Learn score"),
    "genome": Stamp("-g256 -s16 -n16384", says="Sequence matches gene: yes"),
    "intruder": Stamp("-a10 -l4 -n2038 -s1", says="Num attack"),
    "kmeans": Stamp(f"-m15 -n15 -t0.05 -i {INPUTS}/random-n2048-d16-c16.txt", "-p", "Time:"),
    "labyrinth": Stamp(f"-i {INPUTS}/random-x32-y32-z3-n96.txt", says="Verification passed."),
    "ssca2": Stamp("-s13 -i1.0 -u1.0 -l3 -p3", says="Time taken for all"),
    "vacation": Stamp("-n4 -q60 -u90 -r16384 -t4096", "-c", "done."),
    "yada": Stamp(f"-a20 -i {INPUTS}/633.2", says="Final mesh is valid."),
}


def stamp(name: str, series: str, threads: int, form: str) -> Point:
    each = STAMP[name]
    words = (*each.words.split(), f"{each.threads}{threads}")
    return Point(name, series, threads, f"stamp/{name}.{form}", {"seed": 1}, words, each.says)


def pinned(name: str) -> str:
    """Of a page: which source the original has."""
    each = ORIGINALS[name]
    return f"{each.what}, {each.url} at {each.commit[:12]}"


def are_built(points: list[Point], folder: Path = BUILT) -> bool:
    return all((folder / f"{point.program}.simulated").is_file() for point in points)
