"""The machine files of the simulator: where they are, what they say in short."""

from __future__ import annotations

import os

from syncopate.base import boundedfile, paths
from syncopate.base.errors import BAD_USE, FAILED, Failure, near

NO_MACHINES = "this installation has no modeled machines"
WHO_HAS_THEM = "on x86-64 `make machines`, the wheel and the package syncopate have them"


def folders() -> list[str]:
    """Where machine files are looked for, as the runtime does (find_machine in description.h)."""
    found = [path for path in os.environ.get("SYNCOPATE_MACHINES", "").split(":") if path]
    config = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    found.append(os.path.join(config, "syncopate", "machines"))  # `syncopate calibrate` writes here
    found += [os.path.join(prefix, "share", "syncopate", "machines") for prefix in paths.prefixes()]
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    found.append(os.path.join(root, "machines"))
    return [path for path in found if os.path.isdir(path)]


def files() -> dict[str, str]:
    """Every machine's name and file; of two with one name, the first found."""
    found: dict[str, str] = {}
    for folder in folders():
        for entry in sorted(os.listdir(folder)):
            if entry.endswith(".toml"):
                found.setdefault(entry[:-5], os.path.join(folder, entry))
    return dict(sorted(found.items()))


def find(name: str) -> str:
    """The file of a machine: NAME as it is when it is a path, else by its name."""
    if "/" in name or name.endswith(".toml"):
        if not os.path.isfile(name):
            raise Failure(f"{name}: no such machine file", BAD_USE)
        return os.path.abspath(name)
    known = files()
    if name not in known:
        if not known or paths.find("lib/libsyncopate-simulated.so") is None:
            raise Failure(f"{NO_MACHINES}; {WHO_HAS_THEM}", FAILED)
        if name == "this":
            raise Failure(
                "this machine has not been measured yet; run `syncopate calibrate`", BAD_USE
            )
        raise Failure(
            f"no machine is named '{name}'{near(name, list(known))};"
            " `syncopate simulate --machines` lists them",
            BAD_USE,
        )
    return known[name]


def read(path: str) -> dict:
    return boundedfile.read_toml(path)


def has_transactions(machine: dict) -> bool:
    htm = machine.get("htm")
    return isinstance(htm, dict) and bool(htm.get("present"))


def summary(machine: dict) -> dict[str, str]:
    """The figures that a list of machines shows. A missing one is "?": the runtime says more."""
    topology = machine.get("topology", {})
    cores, smt = topology.get("cores", 0), topology.get("smt", 1)
    caches, htm, monitor = (machine.get(part, {}) for part in ("cache", "htm", "monitor"))
    transactions = "yes" if htm.get("present") else "-"
    if htm.get("present") and htm.get("always_abort"):
        transactions = "yes, always-abort"
    return {
        "sockets": str(topology.get("sockets", "?")),
        "nodes": str(topology.get("nodes", "?")),
        "cores": str(cores or "?"),
        "threads": str(cores * smt or "?"),
        "GHz": _gigahertz(topology.get("frequency_hz")),
        "caches": " / ".join(_size(caches.get(level, {})) for level in ("l1", "l2", "llc")),
        "transactions": transactions,
        "monitor": "yes" if monitor.get("present") else "-",
    }


def _gigahertz(hertz: float | None) -> str:
    return f"{hertz / 1e9:.2f}" if hertz else "?"


def _size(cache: dict) -> str:
    size = cache.get("size")
    if not isinstance(size, int):
        return "?"
    for unit, bytes_of in (("M", 1 << 20), ("K", 1 << 10)):
        if size >= bytes_of:
            return f"{size / bytes_of:.3g}{unit}"
    return str(size)
