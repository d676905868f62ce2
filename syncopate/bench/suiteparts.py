"""What the tables of suites share: metrics, variables, and variants made of an option."""

from syncopate.bench.suites import Metric, Variant

RATE = Metric("throughput", "operations/s", True, "operations", per="seconds")
SECONDS = Metric("time", "s", False, "seconds")
JOULES = Metric("energy", "J", False, "joules")
THREADS = ("--threads", "{threads}")
PRELOAD = {"LD_PRELOAD": "{products}/lib/libsyncopate-pthread.so.0"}
OPENMP = {"LD_PRELOAD": "{products}/lib/libsyncopate-openmp.so.0"}
OUR_TM = {"LD_LIBRARY_PATH": "{products}/lib/tm"}


def chosen(option: str, *names: str) -> dict[str, Variant]:
    """Variants that one option of the program chooses."""
    return {name: Variant((option, name)) for name in names}


def presets(*names: str) -> dict[str, tuple[str, ...]]:
    """Sizes by name: what each means, the program itself knows."""
    return {name: ("--preset", name) for name in names}


def preloaded(lock: str) -> Variant:
    return Variant(variables={**PRELOAD, "SYNCOPATE_LOCK": lock})


PRELOADED = {
    "glibc": Variant(),
    "pass": preloaded("glibc"),
    "auto": preloaded("auto"),
    "tatas": preloaded("tatas"),
}
