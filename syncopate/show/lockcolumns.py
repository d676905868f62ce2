"""The columns of the report's tables of locks: one row each, for the text and for the page.

A new number of a lock is a field of results.py and a row here; report --json has the field anyway.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from syncopate.base.units import count, duration, percent

UNITS = {"duration": duration, "percent": percent, "count": count}  # page/locks.js has the same


@dataclass(frozen=True)
class Column:
    """`field` is one of report --json's fields of a lock, "hold.p99_ns" one within another. Those
    of "waits" are told of each kind of wait by the text, and of the worst kind by the page."""

    field: str
    unit: str  # of UNITS
    text: str = ""  # its title in the text; "": it is not there
    page: str = ""  # its title on the page, likewise
    goes: int = 0  # narrow terminals do without it, the largest number first; 0: it stays
    needs: str = ""  # a field without which it says nothing
    bar: bool = False  # on the page a bar stands behind it

    @property
    def of_waits(self) -> bool:
        return self.field.startswith("waits.")

    def value(self, lock: dict, waits: dict | None = None) -> float | None:
        """The number itself; None where it is not known. `waits` are those of one kind."""
        found = lock if waits is None else lock | {"waits": waits}
        for name in self.field.split("."):
            if found is None:
                return None
            found = found[name]
        return found

    def shown(self, lock: dict, waits: dict | None = None) -> str:
        value = self.value(lock, waits)
        if value is None:
            return "-"
        at_least = self.field == "acquisitions" and lock.get("counted_in_part", False)
        return UNITS[self.unit](value) + "+" * at_least


COLUMNS = (
    Column("waits.total_ns", "duration", text="lost"),
    Column("waited_ns", "duration", page="Waited"),
    Column("waits.share", "percent", text="of all"),
    Column("lost_share", "percent", page="Lost of all time", needs="lost_ns", bar=True),
    Column("acquisitions", "count", text="taken", page="Taken", goes=5, needs="counted"),
    Column("contended_share", "percent", text="contended", page="Contended", needs="counted"),
    Column("mean_wait_ns", "duration", page="Mean wait"),
    Column("waits.mean_ns", "duration", text="mean", goes=6),
    Column("waits.p50_ns", "duration", text="p50", goes=7),
    Column("waits.p99_ns", "duration", text="p99", page="p99", goes=1),
    Column("waits.max_ns", "duration", text="max", page="Max", goes=2),
    Column("hold.mean_ns", "duration", text="hold", page="Mean hold", goes=3),
    Column("hold.p99_ns", "duration", text="hold p99", goes=8),
    Column("hold.max_ns", "duration", text="hold max", goes=9),
    Column("waits.threads", "count", text="threads", goes=4),
    Column("threads_waited", "count", page="Threads"),
)  # fmt: skip


def name_of(lock: dict) -> str:
    name = lock["called"]
    return name + (f" x{lock['members']}" if lock["members"] > 1 else "")


def in_text() -> list[Column]:
    return [each for each in COLUMNS if each.text]


def optional() -> tuple[str, ...]:
    """The titles of what narrow terminals do without, what goes last first."""
    can_go = [each for each in COLUMNS if each.text and each.goes]
    return tuple(each.text for each in sorted(can_go, key=lambda each: each.goes))


def on_page() -> list[dict]:
    return [asdict(each) for each in COLUMNS if each.page]
