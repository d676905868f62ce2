"""What the figures of the monitor-mwait paper share: its locks, and the machines they run on."""

from collections.abc import Iterable
from dataclasses import dataclass

from common import Figure, Results
from rules import Value

PAPER = "H. Akkan, M. Lang, L. Ionkov, LA-UR-13-26575"

LIBGOMP = "OpenMP (libgomp's mutex)"
MCS, ONE_SPINNER = "MCS, monitor", "1spinner, monitor"
MONITOR = {MCS: "mcs:monitor", ONE_SPINNER: "one_spinner:monitor"}
PLAIN = {"MCS, polling": "mcs:spin", "1spinner, polling": "one_spinner:spin"}


@dataclass(frozen=True)
class Cores:
    """A machine file, and how many of its cores the figures use; node: cores of one NUMA node."""

    suffix: str  # of the figure's name
    title: str  # what the figure's title says of it; nothing for the paper's own
    machine: str
    all: tuple[int, ...]
    quick: tuple[int, ...]
    tasks: int  # that each thread of the taskbench makes
    node: int
    beyond: str = ""  # why no row is about the paper's machine

    def rests_on_seeds(self, quick: bool) -> bool:
        """Whether what rows rest on is simulated with several seeds."""
        return not (quick or self.beyond)

    def used(self, quick: bool) -> tuple[int, ...]:
        return self.quick if quick else self.all


# The paper's taskbench makes 100,000 tasks of 0.1 us; on the machine that it has not, a tenth.
OPTERON = Cores(
    "", "", "opteron-6272", (1, 2, 4, 8, 16, 24, 32, 48, 64), (1, 2, 4, 16, 64), 100_000, 8
)
XEON = Cores(
    "_xeon", ", Xeon Platinum 8480+", "sapphire-rapids-2s",
    (1, 2, 4, 8, 16, 28, 56, 84, 112), (1, 2, 4, 56, 112),
    10_000, 56, "the paper's machine is the Opteron; this one waits by UMWAIT",
)  # fmt: skip
FIELDS = ("operations", "seconds", "threads", "watts")
LOW = (2, 4)  # cores: what counts as few


def figure_on(
    cores: Cores, file: str, number: str, title: str, notes: str, x_label: str = "cores", **others
) -> Figure:
    """One of the paper's figures on one of the two machines; `others` are Figure's own."""
    return Figure(
        name=f"monitor_mwait_{file}{cores.suffix}",
        title=f"{title} (monitor-mwait, figure {number}{cores.title})",
        paper=f"{PAPER}, figure {number}",
        machine=cores.machine,
        x_label=x_label,
        notes=notes,
        beyond=cores.beyond,
        **others,
    )


def per_operation(run: dict) -> float:
    """Seconds of the whole team for one of its operations."""
    return run["seconds"] / run["operations"]


def nanoseconds(run: dict) -> float:
    return per_operation(run) * 1e9


def microjoules(run: dict) -> float:
    """Of the whole machine; the watts are the machine file's."""
    return run["watts"] * per_operation(run) * 1e6


def gains(results: Results, over: str, xs: Iterable[int], value=None) -> dict[str, Value]:
    """How many times faster (by `value`) each of the paper's two locks is than the other one."""
    return {
        f"{results.program('')}: {name}, {x} cores": results.spread("", over, name, x, value)
        for name in MONITOR
        for x in xs
    }
