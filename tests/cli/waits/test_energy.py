"""Energy meters, on made-up trees of /sys: what is found, what stands still, what wraps."""

import re
import time
from pathlib import Path

import pytest

from syncopate.machines import energy

STOOD_STILL = r"stood still for [\d.]+ [nmu]?s"


class Counter:
    """Of perf, in a file."""

    def __init__(self, file: Path):
        self._file = file

    def read(self) -> int:
        return int.from_bytes(self._file.read_bytes(), "little")

    def close(self) -> None:
        """Nothing is held open."""


class Tree:
    """A /sys of our own. busy() is the machine computing: every working counter advances."""

    def __init__(self, root: Path):
        self.root = root
        self.powercap = root / "class" / "powercap"
        self.unit = root / "bus" / "event_source" / "devices" / "power"
        self.steps: dict[Path, int] = {}  # by counter: microjoules, or perf's units, at each busy()

    def zone(self, folder: str, name: str, at: int = 5_000, step: int = 1_000, most=10**9) -> Path:
        path = self.powercap / folder
        path.mkdir(parents=True)
        (path / "name").write_text(name + "\n")
        (path / "max_energy_range_uj").write_text(f"{most}\n")
        (path / "energy_uj").write_text(f"{at}\n")
        self.steps[path / "energy_uj"] = step
        return path / "energy_uj"

    def event(self, name: str, config: int, step: int) -> None:
        events = self.unit / "events"
        events.mkdir(parents=True, exist_ok=True)
        (self.unit / "type").write_text("9\n")
        (self.unit / "cpumask").write_text("0,18\n")
        (events / name).write_text(f"event={config:#04x}\n")
        (events / f"{name}.scale").write_text("0.5\n")
        (events / f"{name}.unit").write_text("Joules\n")
        for processor in (0, 18):  # one of each package
            self._counter(config, processor).write_bytes((1000).to_bytes(8, "little"))
            self.steps[self._counter(config, processor)] = step

    def _counter(self, config: int, processor: int) -> Path:
        return self.root / f"counter-{config}-{processor}"

    def opened(self, kind: int, config: int, processor: int) -> "Counter":
        assert kind == 9
        if not self._counter(config, processor).exists():
            raise PermissionError(13, "Permission denied")
        return Counter(self._counter(config, processor))

    def busy(self, seconds: float) -> None:
        for counter, step in self.steps.items():
            if not counter.exists():
                continue
            if counter.name == "energy_uj":
                most = int(counter.with_name("max_energy_range_uj").read_text())
                counter.write_text(f"{(int(counter.read_text()) + step) % most}\n")
            else:
                value = int.from_bytes(counter.read_bytes(), "little") + step
                counter.write_bytes(value.to_bytes(8, "little"))


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


def session(tree: Tree) -> energy.Session:
    return energy.Session(tree.root, tree.opened)


def test_no_meter_at_all(tree):
    assert session(tree).finish() == {"meters": [], "rejected": []}


def test_zones_and_their_parts(tree):
    tree.zone("intel-rapl:0", "package-0", step=2_000_000)
    tree.zone("intel-rapl:0:0", "core", step=500_000)
    tree.zone("intel-rapl-mmio:0", "package-0")
    (tree.powercap / "intel-rapl").mkdir()  # the control type is no zone
    running = session(tree)
    tree.busy(1)
    assert running.finish() == {
        "meters": [
            {"name": "package-0", "source": "powercap", "joules": 2.0},
            {"name": "package-0/core", "source": "powercap", "joules": 0.5},
        ],
        "rejected": [],
    }


def test_a_counter_that_wraps_around(tree):
    tree.zone("intel-rapl:0", "package-0", at=900, step=700, most=1000)
    running = session(tree)
    for _ in range(5):
        tree.busy(1)
        running.sample()
    assert running.finish()["meters"][0]["joules"] == pytest.approx(5 * 700e-6)


def test_a_meter_that_stands_still_is_rejected(tree):
    tree.zone("intel-rapl:0", "package-0")
    tree.zone("intel-rapl:1", "psys", step=0)
    running = session(tree)
    tree.busy(1)
    result = running.finish()
    assert [meter["name"] for meter in result["meters"]] == ["package-0"]
    (rejected,) = result["rejected"]
    assert rejected["name"] == "powercap psys"
    assert re.fullmatch(STOOD_STILL, rejected["why"])


def test_an_unreadable_zone_is_told(tree):
    tree.zone("intel-rapl:0", "package-0").write_text("none of your business")
    result = session(tree).finish()
    assert result["meters"] == []
    (rejected,) = result["rejected"]
    assert rejected["name"] == "powercap package-0"
    assert rejected["why"].startswith("cannot be read: ")


def test_events_of_perf(tree):
    tree.event("energy-pkg", 2, step=6)
    tree.event("energy-psys", 5, step=0)
    tree.event("energy-ram", 3, step=1)
    (tree.root / "counter-3-18").unlink()
    running = session(tree)
    tree.busy(1)
    result = running.finish()
    assert result["meters"] == [{"name": "energy-pkg", "source": "perf", "joules": 6.0}]  # of both
    unreadable, still = result["rejected"]
    assert unreadable == {"name": "perf energy-ram", "why": "cannot be read: Permission denied"}
    assert still["name"] == "perf energy-psys" and re.fullmatch(STOOD_STILL, still["why"])


def test_perf_is_left_alone_where_powercap_works(tree):
    tree.zone("intel-rapl:0", "package-0")
    tree.event("energy-pkg", 2, step=6)
    running = session(tree)
    tree.busy(1)
    (meter,) = running.finish()["meters"]
    assert meter["source"] == "powercap"


def test_a_meter_that_vanishes(tree):
    counter = tree.zone("intel-rapl:0", "package-0")
    running = session(tree)
    counter.unlink()
    result = running.finish()
    assert result["meters"] == []
    assert result["rejected"][0]["why"] == "could not be read at the end"


def test_the_place_is_an_environment_variable(tree, monkeypatch):
    monkeypatch.setenv(energy.ROOT_VARIABLE, str(tree.root))
    assert energy.sysfs() == tree.root
    monkeypatch.delenv(energy.ROOT_VARIABLE)
    assert energy.sysfs() == Path("/sys")


def test_this_machine_tells_joules_only_with_a_working_meter():
    """Whatever this machine has: a reading is of a meter that has advanced."""
    running = energy.Session()
    time.sleep(0.05)
    told = running.finish()
    assert all(meter["joules"] > 0 for meter in told["meters"])
    known = sorted((energy.sysfs() / "class/powercap").glob("*:*/energy_uj"))
    assert told["meters"] or told["rejected"] or not known
