"""`report --advice json`, and predictions beside the advice: in every form of a report."""

import json
import os
from pathlib import Path

import pytest
from conftest import ROOT, one_line, run_cli
from planted_record import MS, US, Planted, sleeps

REPLAY = Path(os.environ.get("SYNCOPATE_NATIVE") or ROOT / "build")
REPLAY /= "libexec/syncopate/replay.simulated"
FIELDS = {
    "lock", "called", "member", "declared", "named_by", "place", "site", "object", "members",
    "acquisitions", "lost_ns", "lost_share", "waits", "hold_mean_ns", "gain_at_most", "reasons",
    "predictions",
}  # fmt: skip


def whatif(lock: str, label: str = "half as long") -> str:
    answer = {"what": "halve", "label": label, "threads": 8, "before": 1e6, "after": 1.5e6,
              "gain": 1.5, "low": 1.2, "high": 1.8}  # fmt: skip
    document = {"schema": "syncopate-whatif", "version": 1, "machine": "/m/big.toml",
                "lock": {"name": lock}, "assumptions": [], "answers": [answer]}  # fmt: skip
    return json.dumps(document)


@pytest.fixture
def record(tmp_path):
    of = Planted(cpu=MS)  # they hardly run
    sleeps(of)
    return of.builder.write(tmp_path / "rec")


def test_advice_for_tools(record):
    done = run_cli("report", "--advice", "json", record)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert (document["schema"], document["version"]) == ("syncopate-advice", 1)
    (of_record,) = document["records"]
    (advice,) = of_record["advice"]
    assert set(advice) == FIELDS
    assert (advice["lost_ns"], advice["waits"], advice["hold_mean_ns"]) == (400 * MS, 80, 5 * MS)
    (reason,) = advice["reasons"]
    assert set(reason) == {"cause", "why", "do", "sure"}
    assert (reason["cause"], reason["sure"]) == ("sleeps", "certain")
    assert advice["predictions"] == []
    finding = json.loads(run_cli("report", "--json", record).stdout)["records"][0]["findings"][0]
    called = ("called", "member", "declared")  # a tool calls a lock as the text does
    assert [advice[key] for key in called] == [finding[key] for key in called]
    page = (ROOT / "docs/reference/report-schema.md").read_text()
    assert all(f"`{field}`" in page for field in FIELDS | set(of_record))


def test_predictions_stand_beside_the_advice(record, tmp_path):
    file = tmp_path / "w.json"
    file.write_text(whatif("0xa000"))
    text = " ".join(run_cli("report", record, "--whatif", file).stdout.split())
    said = "if: half as long: 1.50x as many sections a second (1.20 to 1.80) with 8 threads"
    assert f"{said}, simulated on big" in text
    done = run_cli("report", record, "--whatif", file, "--advice", "json")
    ((advice,),) = [each["advice"] for each in json.loads(done.stdout)["records"]]
    assert advice["lock"] == "0xa000"
    assert advice["predictions"] == [
        {"what": "halve", "label": "half as long", "threads": 8, "gain": 1.5, "low": 1.2,
         "high": 1.8, "machine": "big", "assumes": ""}
    ]  # fmt: skip


def test_what_a_prediction_says_is_shown_and_not_sent(record, tmp_path):
    file = tmp_path / "w.json"
    file.write_text(whatif("0xa000", "\x1b[31mred"))
    assert "\x1b" not in run_cli("report", record, "--whatif", file).stdout


def test_one_thing_on_standard_output(record):
    for other in ("--json", "--folded"):
        assert "choose one" in one_line(run_cli("report", "--advice", "json", other, record))
    assert run_cli("report", "--advice", "text", record).returncode == 2


@pytest.mark.long
@pytest.mark.skipif(not REPLAY.exists(), reason="papers/workloads/replay.cpp is not built")
def test_the_worst_lock_replayed_on_a_model(record):
    done = run_cli("report", record, "--predict", "small-2c", "--advice", "json")
    assert done.returncode == 0, done.stderr
    (advice,) = json.loads(done.stdout)["records"][0]["advice"]
    assert [each["what"] for each in advice["predictions"]] == ["halve", "shard=8"]
    # Eight threads that do nothing but hold one lock for 5 ms: half as long is twice as many.
    assert 1.8 < advice["predictions"][0]["gain"] < 2.2
    assert "no machine is named" in one_line(run_cli("report", record, "--predict", "nowhere"))
    assert "can be split" in advice["predictions"][1]["assumes"]
    text = " ".join(run_cli("report", record, "--predict", "small-2c").stdout.split())
    assert "simulated on small-2c, if what it guards can be split, and each section needs" in text


def kept(of: Planted) -> None:
    """Of its thousands of holds three last for a second, and none of these is timed."""
    of.builder.end = 4000 * MS
    lock = of.lock([US] * 300, acquisitions=15_000)
    of.builder.row(of.threads[0], lock, 1, [1000 * MS] * 3)
    of.builder.releases(of.threads[1], lock, 4)


def starved(of: Planted) -> None:
    """Three readers hold it all the time, one beside the other."""
    lock = of.builder.lock(0x9000, 2, 1000, 0, of.stack, [3 * MS] * 60)
    of.builder.row(of.threads[0], lock, 4, [400 * MS] * 2)
    for thread in of.threads[1:4]:
        of.builder.row(thread, lock, 3, [100 * US])


@pytest.mark.skipif(not REPLAY.exists(), reason="papers/workloads/replay.cpp is not built")
@pytest.mark.parametrize("cause", [kept, starved])
def test_waits_that_holds_do_not_make_are_not_replayed(tmp_path, cause):
    """A replay of the holds that were timed would say that no change of them gains anything."""
    of = Planted()
    cause(of)
    record = of.builder.write(tmp_path / "rec")
    done = run_cli("report", record, "--predict", "small-2c", "--advice", "json")
    assert done.returncode == 0, done.stderr
    (advice,) = json.loads(done.stdout)["records"][0]["advice"]
    assert cause.__name__ in [reason["cause"] for reason in advice["reasons"]]
    assert advice["predictions"] == []


@pytest.mark.long
@pytest.mark.skipif(not REPLAY.exists(), reason="papers/workloads/replay.cpp is not built")
def test_of_a_lock_within_another_no_parts_are_predicted(tmp_path):
    """Who holds the outer one keeps the others from them."""
    of = Planted(cpu=200 * MS)
    inner, outer = (of.lock([5 * MS] * 66, create=of.builder.stack(at)) for at in (0xB000, 0xC000))
    for lock in (inner, outer):
        of.waits(lock, 5 * MS)
    for number, thread in enumerate(of.threads):
        for at in range(number * 10 * MS, 900 * MS, 100 * MS):
            of.builder.hold(thread, outer, at, at + 9 * MS)
            of.builder.wait(thread, inner, at + MS, at + 4 * MS)
    record = of.builder.write(tmp_path / "rec")
    done = run_cli("report", record, "--predict", "small-2c", "--advice", "json")
    assert done.returncode == 0, done.stderr
    advice = json.loads(done.stdout)["records"][0]["advice"]
    asked = {each["lock"]: [x["what"] for x in each["predictions"]] for each in advice}
    assert asked == {"0xb000": ["halve"], "0xc000": ["halve", "shard=8"]}
