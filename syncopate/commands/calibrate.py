"""`syncopate calibrate`: writes the description of this machine for the simulator.

What can be measured without privileges is measured (src/tools/calibrate.cpp); the rest is
estimated, and the file says which is which, line by line.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
import sys

from syncopate.base import paths, wholefile
from syncopate.base.errors import BAD_USE, FAILED, Failure
from syncopate.base.options import FLAG, VALUE, read_options
from syncopate.base.shown import shown, typed

HELP = """usage: syncopate calibrate [-o FILE] [--seconds S]

Measures this machine's caches, coherence, atomics and kernel, and writes them as a machine file
for simulated programs: SYNCOPATE_MACHINE=this, or `syncopate simulate --machine this`.

  -o, --output FILE   where to write; default: ~/.config/syncopate/machines/this.toml, or there in
                      the folder that XDG_CONFIG_HOME names in place of ~/.config
      --print         write to standard output instead
      --seconds S     how long to measure (default 5)
  -h, --help          this page

Keep the machine quiet meanwhile. Exit status: 0; 1 when it cannot be measured or written;
2 for a wrong call.
"""
OPTIONS = {"--output": VALUE, "--seconds": VALUE, "--print": FLAG, "--help": FLAG}
ALIASES = {"-o": "--output", "-h": "--help"}

# What cannot be measured from a user's program, with the reason for the number.
ESTIMATES = {
    "core.access_cycles": (1, "about four instructions a cycle"),
    "core.store_cycles": (1, "stores retire in the background"),
    "core.store_buffer": (56, "order of recent x86 cores"),
    "core.smt_share": (0.6, "order of two busy hardware threads"),
    "coherence.invalidate_per_sharer": (10, "acknowledgments are gathered in parallel"),
    "os.migration_cycles": (2000, "run queue of another processor"),
    "os.time_slice_microseconds": (3000, "the kernel's base slice"),
}


def default_output() -> str:
    """Where SYNCOPATE_MACHINE=this looks: the user's configuration folder."""
    config = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return os.path.join(config, "syncopate", "machines", "this.toml")


def measure(seconds: float) -> dict:
    """The JSON of `syncopate-native calibrate`, parsed."""
    tool = paths.require(paths.NATIVE_TOOL)
    run = subprocess.run(
        [tool, "calibrate", str(seconds)], stdout=subprocess.PIPE, text=True, check=False
    )
    if run.returncode != 0:
        raise Failure("measuring failed; see above", FAILED)
    return json.loads(run.stdout)


ONE_PROCESSOR = "estimate: needs a second processor to measure"


class Writer:
    """Collects the lines of the file; every number comes with its origin."""

    def __init__(self, measured: dict):
        self.by_name = {m["name"]: m for m in measured["measured"]}
        self.lines: list[str] = []

    def section(self, name: str) -> None:
        self.lines += ["", f"[{name}]"]
        self.name = name

    def put(self, key: str, value, origin: str) -> None:
        text = {True: "true", False: "false"}.get(value) if isinstance(value, bool) else str(value)
        self.lines.append(f"{key} = {text}  # {origin}")

    def estimate(self, key: str) -> None:
        value, reason = ESTIMATES[f"{self.name}.{key}"]
        self.put(key, value, f"estimate: {reason}")

    def cycles(self, name: str) -> float | None:
        one = self.by_name.get(name)
        return one["value"] / 10 if one else None

    def measured(self, key: str, name: str, less: float = 0, otherwise: int | None = None) -> int:
        """A measured number of cycles, minus what is accounted for elsewhere."""
        one = self.by_name.get(name)
        if one is None:
            self.put(key, otherwise, ONE_PROCESSOR)
            return otherwise
        value = max(1, round(one["value"] / 10 - less))
        spread = f"{one['low'] / 10:.0f}..{one['high'] / 10:.0f}"
        minus = f", less {less:.0f} counted elsewhere" if less else ""
        self.put(key, value, f"measured: {name}, {spread} over {one['runs']} runs{minus}")
        return value


UNTOLD = "estimate: hwloc does not say"


def cache(writer: Writer, found: dict, level: int, key: str, latency: str, smt: int) -> None:
    """One [cache.*] section from hwloc's answer and a measured latency."""
    fallback = {1: (32 << 10, 8), 2: (1 << 20, 16), 3: (32 << 20, 16)}[level]
    one = next((c for c in found["caches"] if c["level"] == level and c["size"]), None)
    writer.section(f"cache.{key}")
    size, ways = (one["size"], one["ways"]) if one else fallback
    origin = "hwloc" if one else UNTOLD
    line = one["line"] if one and one["line"] else 64
    if ways <= 0 or size % (ways * line):
        ways, origin = 16, UNTOLD
    writer.put("size", size, f"bytes; {origin}")
    writer.put("ways", ways, origin)
    writer.put("line", line, f"bytes; {'hwloc' if one and one['line'] else UNTOLD}")
    writer.measured("latency", latency)
    shared = max(1, (one["shared_by"] if one else smt) // smt)
    writer.put("shared_by", 1 if level == 1 else shared, f"cores; {origin}")


def describe(found: dict) -> str:
    """The text of the machine file for what was measured."""
    shape, writer = found["topology"], Writer(found)
    smt = max(1, shape["processors"] // shape["cores"])
    today = datetime.date.today().isoformat()
    writer.lines = [
        f"# {found['processor']}, measured by `syncopate calibrate` on {today},",
        f"# Linux {platform.release()}. Times are cycles of the time stamp counter.",
        "",
        "[machine]",
        'name = "this"',
        f'source = "syncopate calibrate, {today}: {found["processor"]}"',
    ]
    writer.section("topology")
    writer.put("sockets", shape["sockets"], "hwloc")
    writer.put("nodes", shape["nodes"], "hwloc")
    writer.put("cores", shape["cores"], "hwloc")
    writer.put("cluster", shape["cores"] // shape["nodes"], "estimate: one cluster a node")
    writer.put("smt", smt, "hwloc")
    writer.put("frequency_hz", shape["frequency_hz"], "measured: the time stamp counter")
    writer.section("core")
    writer.estimate("access_cycles")
    writer.measured("relax_cycles", "relax")
    for key in ("store_cycles", "store_buffer", "smt_share"):
        writer.estimate(key)
    cache(writer, found, 1, "l1", "l1_latency", smt)
    cache(writer, found, 2, "l2", "l2_latency", smt)
    cache(writer, found, 3, "llc", "llc_latency", smt)
    l1 = writer.cycles("l1_latency") or 4
    writer.section("coherence")
    transfer = 0
    for key in ("transfer_cluster", "transfer_node", "transfer_socket"):
        transfer = writer.measured(key, "line_transfer", otherwise=100)
    writer.put("transfer_remote", 2 * transfer, "estimate: twice the nearest")
    writer.put("hops", "[]", "every other socket is one hop away")
    writer.put("extra_hop", transfer, "estimate: as the nearest")
    writer.estimate("invalidate_per_sharer")
    writer.put("occupancy", max(1, transfer // 4), "estimate: a quarter of a transfer")
    migratory(writer, transfer)
    lines_change_hands(writer, transfer)
    writer.section("atomic")
    writer.measured("rmw_cycles", "atomic_rmw", less=l1)
    writer.measured("fence_cycles", "fence", less=l1)
    writer.put("drains_stores", platform.machine() in ("x86_64", "i686"), "x86: yes")
    operating_system(writer, shape)
    hardware(writer)
    return "\n".join(writer.lines) + "\n"


def migratory(writer: Writer, transfer: int) -> None:
    """Whether a read of a modified line takes it away: a write after it then asks nobody."""
    after, alone = writer.cycles("write_after_read"), writer.cycles("atomic_rmw") or 0
    if after is None:
        writer.put("migratory", False, ONE_PROCESSOR)
        return
    origin = f"measured: write_after_read, {after:.0f}; of an own line {alone:.0f}"
    writer.put("migratory", after < alone + transfer / 2, origin)


def lines_change_hands(writer: Writer, transfer: int) -> None:
    """How long a core goes on with a line that another wants, from two that add to one word.

    Between two hand-overs lies the first addition, what the line's core does until it answers the
    request that waits, and the way of the data: a transfer without the request's part.
    """
    each, hand_over = writer.cycles("contended_add"), writer.cycles("contended_hand_over")
    alone = writer.cycles("atomic_rmw")
    if not each or not hand_over or not alone:
        writer.put("request", 0, ONE_PROCESSOR)
        writer.put("hold", 0, ONE_PROCESSOR)
        return
    in_a_row = hand_over / each
    hold = round(max(0.0, in_a_row - 1) * alone)
    request = min(transfer - 1, max(0, round(transfer + alone + hold - hand_over)))
    origin = f"measured: contended_hand_over {hand_over:.0f}, {in_a_row:.1f} additions in a row"
    writer.put("request", request, origin)
    writer.put("hold", hold, origin)


WAKING = 4000.0  # cycles from a wake-up to the sleeper's first step: order of recent x86 servers


def operating_system(writer: Writer, shape: dict) -> None:
    """[dram] and [os]: what the kernel and the memory cost."""
    writer.section("dram")
    local = writer.measured("local", "memory_latency")
    writer.put("remote", round(1.6 * local), "estimate: 1.6 times the own node's")
    per_line = writer.cycles("memory_cycles_per_line") or 10
    one = round(64 * shape["frequency_hz"] / per_line)
    scale = max(1, min(4, shape["cores"] // shape["nodes"]))
    writer.put("bytes_per_second", one * scale, f"measured with one core, times {scale} (estimate)")
    writer.section("os")
    call = writer.measured("syscall_cycles", "system_call")
    latency, wake_call = writer.cycles("futex_wake_latency"), writer.cycles("futex_wake_call")
    switch = writer.cycles("context_switch") or 0
    writer.put("futex_wait_cycles", call, "estimate: as much again as the call itself")
    writer.measured("futex_wake_cycles", "futex_wake_call", less=call, otherwise=1500)
    writer.measured("context_switch_cycles", "context_switch", less=call)
    if latency is None or wake_call is None:
        rest, origin = WAKING, ONE_PROCESSOR
    else:
        rest = max(2.0, latency - wake_call - switch)
        origin = "measured: half of (futex_wake_latency - wake call - context switch)"
    writer.put("ipi_cycles", round(rest / 2), origin)
    writer.put("wakeup_cycles", round(rest / 2), origin)
    writer.estimate("migration_cycles")
    writer.estimate("time_slice_microseconds")


def hardware(writer: Writer) -> None:
    """[htm], [monitor], [energy]: not measurable here; typical server numbers."""
    guess = "estimate: typical server core"
    writer.section("htm")
    writer.put("present", False, "not calibrated: `syncopate doctor` tells whether it commits here")
    writer.section("monitor")
    writer.put("present", False, "not calibrated")
    writer.section("energy")
    watts = {"running": 5.0, "spinning": 4.0, "monitor_light": 2.0, "monitor_deep": 1.0}
    for key, value in {**watts, "idle": 0.5, "off": 0.1, "base": 40.0}.items():
        writer.put(key, value, f"watts; {guess}")
    joules = {"transfer_joules": 5e-9, "remote_transfer_joules": 2e-8, "dram_joules": 3e-8}
    for key, value in joules.items():
        writer.put(key, value, guess)


def main(arguments: list[str]) -> int:
    """Returns the exit status."""
    options, rest = read_options(arguments, OPTIONS, ALIASES)
    if "--help" in options:
        sys.stdout.write(HELP)
        return 0
    if rest:
        raise Failure(f"calibrate takes no operand ('{rest[0]}'); see --help", BAD_USE)
    try:
        seconds = float(options.get("--seconds", "5"))
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 3600:
        raise Failure("--seconds needs a number between 0 and 3600", BAD_USE)
    if "--print" in options and "--output" in options:
        raise Failure("calibrate: --print writes no file; leave out -o", BAD_USE)
    if "--print" in options:
        sys.stdout.write(describe(measure(seconds)))
        return 0
    output = options.get("--output", default_output())
    try:
        os.makedirs(os.path.dirname(os.path.abspath(output)), exist_ok=True)
    except OSError as error:
        raise Failure(f"cannot write {output}: {error.strerror}", FAILED) from error
    wholefile.check_place(output, "calibrate: -o", FAILED)
    wholefile.write(output, [describe(measure(seconds))])
    is_default = os.path.abspath(output) == os.path.abspath(default_output())
    name = "this" if is_default else typed(os.path.abspath(output))
    print(f"wrote {shown(output)}; use it with SYNCOPATE_MACHINE={name} or --machine {name}")
    return 0
