"""`syncopate report` of an interpreter lock's statistics, and what it says to other files."""

import copy
import functools
import json

import pytest

from syncopate.base.errors import Failure
from syncopate.commands import report
from syncopate.show import gilreport

STATISTICS = {
    "elided": True,
    "overhead": 70,
    "transactions": 110,
    "aborts": 30,
    "fallbacks": 10,
    "cycles": {"useful": 600, "aborted": 200, "waiting": 150, "overhead": 50},
    "points": [
        {
            "pc": "0x10",
            "length": 24,
            "transactions": 10,
            "fallbacks": 0,
            "aborts": {"capacity": 5},
            "lengths": [],
        },
        {
            "pc": "0x20",
            "length": 8,
            "transactions": 100,
            "fallbacks": 10,
            "aborts": {"conflict": 20, "lock_held": 5},
            "lengths": [[n, 100 - n] for n in range(9)],
        },
    ],
}


def shown(tmp_path, capsys, *options: str) -> list[str]:
    file = tmp_path / "gil.json"
    file.write_text(json.dumps(STATISTICS))
    assert report.main([str(file), *options]) == 0
    return capsys.readouterr().out.splitlines()


def test_time_causes_and_yield_points(tmp_path, capsys):
    lines = shown(tmp_path, capsys)
    assert lines[0] == (
        "interpreter lock: 110 transactions, 23.1 % of all attempts aborted,"
        " 9.1 % fell back to the lock"
    )
    assert lines[1] == "time: useful 60.0 %, aborted 20.0 %, waiting 15.0 %, overhead 5.0 %"
    assert lines[2] == "aborts: conflict 66.7 %, capacity 16.7 %, lock_held 16.7 %"
    assert " ".join(lines[5].split()) == (
        "0x20 100 21.7 % 10 100 99 98 ... 94 93 92 conflict 80.0 %, lock_held 20.0 %"
    )
    assert " ".join(lines[6].split()) == "0x10 10 33.3 % 0 24 capacity 100.0 %"


def test_yield_points_have_the_names_that_the_runtime_gave(tmp_path, capsys, monkeypatch):
    name = "a_program_with_a_long_name.lua:1234 CALL"
    monkeypatch.setitem(STATISTICS["points"][1], "name", name)
    *_, header, named, other = shown(tmp_path, capsys)
    assert named.startswith(f"{name}          100")
    assert other.startswith(f"{'0x10':{len(name)}}           10")
    assert header.index("transactions") == len(name) + 1


def test_fewer_yield_points_are_told(tmp_path, capsys):
    assert shown(tmp_path, capsys, "--top", "1")[-1] == "1 more; --top shows them"


def test_nothing_was_elided():
    empty = {"transactions": 0, "aborts": 0, "fallbacks": 0, "points": []}
    empty["cycles"] = {"useful": 0, "waiting": 0}
    assert gilreport.text(empty, 10).splitlines()[0] == "interpreter lock: no transactions"


@pytest.mark.parametrize("wrong", [-5, None, True, 1.5, "many", [3]])
@pytest.mark.parametrize(
    "path",
    [
        ("transactions",),
        ("aborts",),
        ("fallbacks",),
        ("cycles", "useful"),
        ("points", 0, "transactions"),
        ("points", 0, "length"),
        ("points", 0, "aborts", "capacity"),
        ("points", 1, "fallbacks"),
        ("points", 1, "lengths", 3, 1),
    ],
)
def test_what_is_no_count_is_told_and_not_shown(tmp_path, capsys, path, wrong):
    damaged = copy.deepcopy(STATISTICS)
    *way, last = path
    functools.reduce(lambda of, step: of[step], way, damaged)[last] = wrong
    file = tmp_path / "gil.json"
    file.write_text(json.dumps(damaged))
    with pytest.raises(Failure, match=r"gil\.json is damaged \(ValueError: .* is not a count"):
        report.main([str(file)])
    assert capsys.readouterr().out == ""


def test_other_files_and_forms_are_told(tmp_path):
    other = tmp_path / "other.json"
    other.write_text('{"some": 1}')
    with pytest.raises(Failure, match="neither a record nor the statistics of an interpreter lock"):
        report.main([str(other)])
    other.write_text("{broken")
    with pytest.raises(Failure, match=r"cannot read .*: no JSON"):
        report.main([str(other)])
    with pytest.raises(Failure, match="have one form, text") as refused:
        report.main([str(other), "--json"])
    assert refused.value.status == 2
    for idle in (["--sort", "max"], ["--lock", "x"], ["--redact"], ["--whatif", "none.json"]):
        with pytest.raises(Failure, match=f"{idle[0]} is for records") as refused:
            report.main([str(other), *idle])
        assert refused.value.status == 2
    record = tmp_path / "syncopate.rec"
    record.write_bytes(b"SYNCREC1")
    with pytest.raises(Failure, match="need a report of their own each") as refused:
        report.main([str(other), str(record)])
    assert refused.value.status == 2
