"""What waiting cost: shared out from sampled waits, and what was measured beside the program."""

import json
import sys
import threading

import pytest
from conftest import run_cli
from make_record import RecordBuilder

from syncopate.base import paths
from syncopate.commands import recordkept
from syncopate.machines import energy
from syncopate.records import waiting
from syncopate.records.analysis import Analysis
from syncopate.records.recordfile import Record
from syncopate.records.recordformat import MEASURED
from syncopate.records.recordstamps import write_measured
from syncopate.records.results import Results

MEASUREMENT = {
    "seconds": 2.5,
    "user_seconds": 1.25,
    "system_seconds": 0.5,
    "meters": [{"name": "package-0", "source": "powercap", "joules": 12.5}],
    "rejected": [],
}


def results(builder: RecordBuilder, tmp_path) -> dict:
    return Results(Analysis(Record(str(builder.write(tmp_path / "r"))))).as_data()


def two_locks() -> RecordBuilder:
    """1 us on one lock (a quarter awake, else asleep), 4 us on another (asleep for a third of it),
    8 us not known."""
    builder = RecordBuilder()
    thread = builder.thread(100)
    locks = [builder.lock(0x9000 + 64 * n) for n in range(3)]
    builder.row(thread, locks[0], 1, [400, 600])
    builder.wait(thread, locks[0], 1_100_000, 1_100_400, weight=2, used=(100, 1, 0))
    builder.wait(thread, locks[0], 1_200_000, 1_200_600)
    builder.row(thread, locks[1], 6, [1000] * 4)
    builder.wait(thread, locks[1], 1_300_000, 1_301_000, kind=6, used=(1, 1, 2))
    builder.row(thread, locks[2], 1, [8000])
    return builder


def test_waits_are_shared_out_as_those_that_were_sampled(tmp_path):
    found = results(two_locks(), tmp_path)["waiting"]
    assert found["states"] == {
        "spinning": {"ns": 254, "ticks": 254},
        "parked": {"ns": 2082, "ticks": 2082},
        "preempted": {"ns": 2664, "ticks": 2664},
        "unknown": {"ns": 8000, "ticks": 8000},
    }
    assert found["wake_ups"] == 2 * 1 + 4 * 1
    assert found["preemptions"] == 4 * 2
    assert found["sampled"] == 2


def test_long_waits_are_shared_out_as_long_ones(tmp_path):
    """Of 2 long waits one was asked of, of 8 short ones one, which stands for 2: the long ones
    slept all the time, the short ones never."""
    long, short = 2_000_000, 100_000
    builder = RecordBuilder()
    thread, lock = builder.thread(100), builder.lock(0x9000)
    builder.row(thread, lock, 1, [long] * 2 + [short] * 8)
    for start, length, weight, used in (
        (0, short, 2, (short, 0, 0)),
        (1_000_000, long, 1, (1, 1, 0)),
        (4_000_000, long, 1, (0, 0, 0)),
        (7_000_000, short, 6, (0, 0, 0)),
    ):
        builder.wait(thread, lock, start, start + length, weight=weight, used=used)
    found = results(builder, tmp_path)["waiting"]
    states = {name: state["ns"] for name, state in found["states"].items()}
    assert states == {"spinning": 800_002, "parked": 3_999_998, "preempted": 0, "unknown": 0}
    assert (found["wake_ups"], found["sampled"]) == (2, 2)


def test_a_thread_is_not_without_a_processor_for_longer_than_the_kernel_counts(tmp_path):
    """It was taken off its processor once, and slept once, for nearly all of the time."""
    builder = RecordBuilder()
    thread = builder.thread(100, cpu=1000, delay=500)
    lock = builder.lock(0x9000)
    builder.row(thread, lock, 14, [900_000])
    builder.wait(thread, lock, 1_000, 901_000, kind=14, used=(1000, 1, 1))
    found = results(builder, tmp_path)["waiting"]["states"]
    assert {name: state["ns"] for name, state in found.items()} == {
        "spinning": 1000,
        "parked": 898_500,
        "preempted": 500,
        "unknown": 0,
    }


def test_the_monitor_strategy_has_a_state_of_its_own(tmp_path):
    builder = two_locks()
    builder.wait_name = "monitor"
    assert list(results(builder, tmp_path)["waiting"]["states"]) == [
        "monitor",
        "parked",
        "preempted",
        "unknown",
    ]


def test_what_was_measured_is_read_back(tmp_path):
    path = two_locks().write(tmp_path / "r")
    write_measured(str(path), json.dumps(MEASUREMENT))
    found = Results(Analysis(Record(str(path)))).as_data()
    assert found["measured"] == MEASUREMENT
    spoken = waiting.sentences(found)
    assert spoken == [
        "Waiting: about 254 ns spinning, 2.08 us parked, 2.66 us preempted, 8.00 us unknown;"
        " 254 ticks of the clock on a processor, 6 wake-ups (from 2 waits)",
        "Processor time: 1.25 s user, 0.50 s system, within 2.50 s",
        "Energy of the whole machine meanwhile: package-0 12.50 J (powercap)",
    ]


def test_without_a_meter_nothing_is_called_joules(tmp_path):
    builder = two_locks()
    rejected = [{"name": "perf energy-psys", "why": "stands still while a processor is busy"}]
    builder.measured = json.dumps(MEASUREMENT | {"meters": [], "rejected": rejected})
    spoken = waiting.sentences(results(builder, tmp_path))
    assert spoken[-1] == (
        "Energy: no meter works here (perf energy-psys stands still while a processor is busy)"
    )
    assert not any(" J" in sentence for sentence in spoken)


@pytest.mark.parametrize(
    "damaged", ["", "{", "[]", "17", '{"seconds": 1}', json.dumps(MEASUREMENT | {"meters": [1]})]
)
def test_a_damaged_measurement_is_none(tmp_path, damaged):
    builder = two_locks()
    builder.measured = damaged
    found = results(builder, tmp_path)
    assert found["measured"] is None
    assert len(waiting.sentences(found)) == 1


def test_only_records_are_written_into(tmp_path):
    other = tmp_path / "other"
    other.write_text("something else")
    write_measured(str(other), "{}")
    assert other.read_text() == "something else"


@pytest.mark.skipif(paths.find(paths.PRELOAD) is None, reason="the preload library is not built")
def test_a_recording_measures_its_program(tmp_path):
    """Processor time is the program's; energy only where a made-up meter advances."""
    zone = tmp_path / "sys" / "class" / "powercap" / "intel-rapl:0"
    zone.mkdir(parents=True)
    (zone / "name").write_text("package-0\n")
    (zone / "max_energy_range_uj").write_text("1000000000\n")
    (zone / "energy_uj").write_text("0\n")
    stop = threading.Event()

    def advance() -> None:
        new = zone / "new"
        for value in range(1, 10**9):
            new.write_text(f"{value * 1000}\n")
            new.replace(zone / "energy_uj")  # at once: never half of it
            if stop.wait(0.001):
                return

    meter = threading.Thread(target=advance)
    meter.start()
    try:
        # Until the meter has advanced, too: its thread may have to wait for a processor.
        busy = (
            "import sys, time\n"
            "read = lambda: open(sys.argv[1]).read()\n"
            "first = read()\n"
            "while time.process_time() < 0.2 or read() == first: pass"
        )
        environ = {energy.ROOT_VARIABLE: str(tmp_path / "sys")}
        done = run_cli(
            "record",
            "-o",
            "r",
            sys.executable,
            "-c",
            busy,
            str(zone / "energy_uj"),
            cwd=tmp_path,
            environ=environ,
        )
    finally:
        stop.set()
        meter.join()
    assert done.returncode == 0
    found = waiting.measured(Record(str(tmp_path / "r")).header.measured)
    assert found["user_seconds"] + found["system_seconds"] >= 0.19
    assert found["seconds"] >= 0.19
    assert [each["name"] for each in found["meters"]] == ["package-0"]
    assert found["meters"][0]["joules"] > 0


def test_many_meters_fit_in(monkeypatch, tmp_path):
    class Many:
        def finish(self) -> dict:
            meter = {"name": "package-0/core", "source": "powercap", "joules": 123456.123456}
            return {"meters": [meter] * 64, "rejected": [{"name": "n" * 99, "why": "w" * 99}] * 9}

    path = two_locks().write(tmp_path / "r")
    recordkept.keep_measured(str(path), Many(), 1.0)
    text = Record(str(path)).header.measured
    assert len(text) <= MEASURED.size
    assert len(waiting.measured(text)["meters"]) > 10


def test_the_page_tells_it(cli, tmp_path):
    builder = two_locks()
    builder.measured = json.dumps(MEASUREMENT)
    builder.write(tmp_path / "r")
    done = cli("report", "--html", "page.html", "r", cwd=tmp_path)
    assert done.returncode == 0
    assert "package-0 12.50 J (powercap)" in (tmp_path / "page.html").read_text()
