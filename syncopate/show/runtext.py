"""How a program was run and recorded, in words: of one record, or of one side of a comparison."""

from __future__ import annotations

from syncopate.base.units import duration


def ran(process: dict) -> str:
    """For how long."""
    how = "recorded for" if process["cut_short"] else "ran"
    return f"{how} {duration(process['duration_ns'])}"


def ran_with(process: dict) -> str:
    """With which locks, or who saw those that it has."""
    if process["recorder"] == "kernel":
        return "its own locks, seen from the kernel"
    if process["recorder"] == "jvm":
        return "Java's locks, told by its VM"
    return f"lock {process['lock']}" + (f":{process['wait']}" if process["wait"] else "")
