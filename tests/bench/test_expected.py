"""What is left of a sweep is told from what its runs are known to take."""

import json

import pytest

from syncopate.bench import expected, paper, progress
from syncopate.bench.jobs import Job, Place
from syncopate.bench.suites import Program, Suite, Variant
from syncopate.bench.suitetable import SUITES

RUNS = [("locks", "short", "a", 1.0), ("locks", "long", "a", 7.0), ("locks", "long", "b", 9.0)]


@pytest.fixture
def known(tmp_path, monkeypatch):
    """Two programs whose times are known."""
    names = ("suite", "program", "variant", "seconds")
    runs = [dict(zip(names, run, strict=True)) for run in RUNS]
    document = tmp_path / "every_program.json"
    document.write_text(json.dumps({"runs": runs}))
    monkeypatch.setattr(expected, "DOCUMENT", document)
    expected.known.cache_clear()
    yield document
    expected.known.cache_clear()


def job(program: str, variant: str) -> Job:
    place = Place(program, variant, "small", 1, 0)
    return Job(f"{program} {variant}", place, "locks", (), {}, None, None, 600)


def test_another_variant_takes_what_the_programs_others_do(known):
    assert expected.seconds(job("long", "a")) == 7
    assert expected.seconds(job("long", "new")) == 8
    assert expected.seconds(job("new", "a")) is None
    jobs = [job("short", "a"), job("long", "a"), job("new", "a")]
    assert expected.weights(jobs) == [1, 7, 4]


@pytest.mark.parametrize("text", ["", "{}", '{"runs": [{"suite": 1}]}', None])
def test_without_a_document_all_are_alike(known, text):
    known.write_text(text) if text is not None else known.unlink()
    assert expected.weights([job("short", "a"), job("long", "a")]) == [1, 1]


def test_what_is_left_is_told_by_weight(monkeypatch, capsys):
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with progress.Progress([1.0, 1.0, 18.0]) as shown:
        now[0] += 11
        shown.advance("the first", 1.0)
        now[0] += 11
        shown.advance("the second", 1.0)
        now[0] += 200
        shown.advance("the long one", 18.0)
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "[1/3] the first; about 3 min 29 s left"
    assert said[1] == "[2/3] the second; about 3 min 18 s left"
    assert said[2] == "[3/3] the long one"


def test_a_papers_native_part_is_told_before_it_begins(known, tmp_path, monkeypatch):
    program = tmp_path / "build" / "papers/workloads" / "short"
    program.parent.mkdir(parents=True)
    program.touch(mode=0o755)
    programs = {"short": Program("papers/workloads/short")}
    made_up = Suite("made up", programs, {"a": Variant()}, (), papers=("made-up",))
    monkeypatch.setitem(SUITES, "locks", made_up)
    papers = {"made-up": {"name": "made-up", "scripts": "made_up", "figures": {}}}
    words = ["made-up", "--native", "--build", str(tmp_path / "build"), "--out", str(tmp_path)]
    options = paper.parse(words, papers)
    # One and two threads, five times each.
    assert paper.native_outlook(options) == "natively locks: 10 runs, about 10 s"
    monkeypatch.setitem(SUITES, "unknown", made_up)
    said = "natively locks, unknown: 20 runs, about 10 s; of unknown it is not known"
    assert paper.native_outlook(options) == said
