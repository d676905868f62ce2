"""A machine file's uncertain numbers, and from where to where each may lie.

Uncertain is what the file itself calls an estimate, or not known. Half and twice of it are its
ends; NARROWER has what cannot be so. Numbers of one cause are a group: they are changed together.
"""

import re
import tomllib
from collections.abc import Mapping

from sweep import ROOT

Changes = dict[str, int | float | str]  # "table.key" -> the new value, as a machine file has it

WORDS = re.compile(r"\b(estimate|not known|not reported|never)")
LEAST, MOST = "half", "twice"
# "a group": the keys that begin so.
GROUPS = {
    "what lies between accesses": ("core.access_cycles", "core.relax_cycles", "core.store_"),
    "a thread whose core runs two": ("core.smt_share",),
    "the caches' times": ("cache.",),
    "the way of a line": ("coherence.transfer_", "coherence.extra_hop"),
    "how long a line is busy": ("coherence.occupancy", "coherence.invalidate_per_sharer"),
    "what a reader takes along": ("coherence.migratory",),
    "locked instructions and fences": ("atomic.",),
    "memory's time": ("dram.local", "dram.remote"),
    "memory's bytes a second": ("dram.bytes_per_second",),
    "a transaction's costs": ("htm.begin_", "htm.commit_", "htm.abort_"),
    "interrupts": ("htm.interrupts_per_second",),
    "what the processor learns of aborts": ("htm.learning",),
    "MONITOR's costs": ("monitor.",),
    "calls of the kernel": ("os.syscall_", "os.tcp_", "os.futex_"),
    "changes of threads": ("os.context_", "os.ipi_", "os.wakeup_", "os.migration_"),
    "the time slice": ("os.time_slice_",),
    "power of a core that runs": ("energy.running", "energy.spinning"),
    "power of a core that waits": ("energy.monitor_", "energy.idle", "energy.off"),
    "power of the rest": ("energy.base",),
    "energy of transfers": ("energy.transfer_", "energy.remote_", "energy.dram_"),
}
# Half or twice of these is no machine: two threads of a core do as much as one, at least; an
# instruction takes a cycle.
NARROWER = {
    "core.smt_share": (0.5, 0.75),
    "core.access_cycles": (1, 2),
    "core.store_cycles": (1, 2),
}
# What the machine consists of is not searched: another number of nodes, ways or entries is another
# machine, whose other numbers would differ, too.
SHAPE = re.compile(
    r"topology\.|cache\.\w+\.(size|ways|line|shared_by)$|core\.store_buffer$|htm\.\w+_lines$"
)


def estimates(name: str) -> dict[str, int | float | bool]:
    """ "table.key" -> value, of those that the file calls uncertain."""
    text = (ROOT / "machines" / f"{name}.toml").read_text(encoding="utf-8")
    table, marked = "", []
    for line in text.splitlines():
        if line.startswith("["):
            table = line.partition("#")[0].strip().strip("[]")
        words, _, comment = line.partition("#")
        if "=" in words and WORDS.search(comment):
            marked.append(f"{table}.{words.partition('=')[0].strip()}")
    known = tomllib.loads(text)
    return {key: value_at(known, key) for key in marked if not SHAPE.match(key)}


def value_at(document: Mapping, key: str) -> int | float | bool:
    for word in key.split("."):
        document = document[word]
    return document


def group_of(key: str) -> str:
    """Throws KeyError where no group has it: each uncertain number is searched."""
    for name, beginnings in GROUPS.items():
        if key.startswith(beginnings):
            return name
    raise KeyError(f"{key} is uncertain, and in no group of uncertain.py")


def ends(key: str, value: int | float | bool) -> tuple[int | float | str, int | float | str]:
    """The least and the most that it may be; of a yes or no, both are the other one."""
    if isinstance(value, bool):
        other = str(not value).lower()
        return other, other
    if key in NARROWER:
        return NARROWER[key]
    if isinstance(value, int):
        return value // 2, value * 2
    return value / 2, value * 2


def ranges(name: str) -> dict[tuple[str, str], Changes]:
    """(group, "half" or "twice") -> what is changed, for the machine's uncertain numbers."""
    found: dict[tuple[str, str], Changes] = {}
    for key, value in estimates(name).items():
        least, most = ends(key, value)
        pairs = [(LEAST, least), (MOST, most)]
        if isinstance(value, bool):
            pairs = [("other", most)]
        for where, new in pairs:
            if str(new) != str(value):
                found.setdefault((group_of(key), where), {})[key] = new
    return found
