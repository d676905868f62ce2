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


def loops(option: str, tiny: int) -> dict[str, tuple[str, ...]]:
    """Sizes of a program whose length is one number."""
    factors = {"tiny": 1, "small": 50, "paper": 1000, "large": 5000}
    return {size: (option, str(tiny * factor)) for size, factor in factors.items()}


def preloaded(lock: str) -> Variant:
    return Variant(variables={**PRELOAD, "SYNCOPATE_LOCK": lock})


PRELOADED = {
    "glibc": Variant(),
    "pass": preloaded("glibc"),
    "auto": preloaded("auto"),
    "tatas": preloaded("tatas"),
}
