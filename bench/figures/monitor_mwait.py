"""What the figures of the monitor-mwait paper share: its locks, and the machines they run on."""

from dataclasses import dataclass

from common import Figure, Results

PAPER = "H. Akkan, M. Lang, L. Ionkov, LA-UR-13-26575"

LIBGOMP = "OpenMP (libgomp's mutex)"
MCS, ONE_SPINNER = "MCS, monitor", "1spinner, monitor"
MONITOR = {MCS: "mcs:monitor", ONE_SPINNER: "one_spinner:monitor"}
PLAIN = {"MCS, polling": "mcs:spin", "1spinner, polling": "one_spinner:spin"}


@dataclass(frozen=True)
class Cores:
    """A machine file, and how many of its cores the figures use."""

    suffix: str  # of the figure's name
    title: str  # what the figure's title says of it; nothing for the paper's own
    machine: str
    all: tuple[int, ...]
    quick: tuple[int, ...]

    def used(self, quick: bool) -> tuple[int, ...]:
        return self.quick if quick else self.all


OPTERON = Cores("", "", "opteron-6272", (1, 2, 4, 8, 16, 24, 32, 48, 64), (1, 4, 16, 64))
XEON = Cores(
    "_xeon", ", Xeon Platinum 8480+", "sapphire-rapids-2s",
    (1, 2, 4, 8, 16, 28, 56, 84, 112), (1, 8, 56, 112),
)  # fmt: skip

ON_XEON = (
    " The paper's statements are about the Opteron; here they are held against a machine of today,"
    " whose monitor wait is UMWAIT."
)


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
        notes=notes + (ON_XEON if cores.suffix else ""),
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


def gains(results: Results, over: str, most: int, value=None, panel: str = "") -> dict[str, float]:
    """How many times faster (by `value`) each of the paper's two locks is than the other one."""
    return {name: results.ratio(panel, over, name, most, value) for name in MONITOR}


def gain_text(found: dict[str, float]) -> str:
    return ", ".join(f"{name}: {ratio:.2f} times as fast" for name, ratio in found.items())
