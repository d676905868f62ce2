"""What the figures of the STAMP-like programs share: their panels, and how a run is made."""

from common import Results
from sweep import Point

# By the papers' names: the program, and the prefix of its preset. kmeans and vacation run with high
# contention, as tsx-hpc section 4.2 does.
PROGRAMS = {
    "bayes": ("bayes", ""),
    "genome": ("genome", ""),
    "intruder": ("intruder", ""),
    "kmeans": ("kmeans", "high-"),
    "labyrinth": ("labyrinth", ""),
    "ssca2": ("ssca2", ""),
    "vacation": ("vacation", "high-"),
    "yada": ("yada", ""),
}
SMALL_INPUTS = (
    "The programs are those of `papers/workloads/stamp/`, written from the published descriptions,"
    " with the suite's sizes for simulators (preset `sim`, docs/internals/workloads.md): its"
    " native ones, which the paper uses, take hours on a modeled machine. Tables and meshes are"
    " smaller, fit into caches that the paper's do not, and transactions meet more often in them."
)

FIELDS = ("seconds", "transactions", "attempts", "commits")  # that their rows and plots are of
REWRITTEN = "a program of our own, where the original runs, too"


def point(panel: str, series: str, threads: int, options: dict, build: str = "") -> Point:
    program, prefix = PROGRAMS[panel]
    words = {"preset": f"{prefix}sim", "format": "json", "threads": threads, "pin": "compact"}
    return Point(panel, series, threads, f"stamp/{program}{build}", words | options)


def aborted(run: dict) -> float:
    """Share of the attempts at transactions that did not commit, in percent."""
    if "attempts" in run:  # of the software's
        begins, commits = run["attempts"], run["commits"]
    else:
        begins, commits = run["transactions"]["begins"], run["transactions"]["commits"]
    return 0.0 if begins == 0 else 100 - 100 * commits / begins


def each(values: dict[str, float], unit: str = "x") -> str:
    return ", ".join(f"{name} {value:.3g}{unit}" for name, value in values.items())


def ratios(results: Results, above: str, below: str, x: int, panels) -> dict[str, float]:
    return {panel: results.ratio(panel, above, below, x) for panel in panels}
