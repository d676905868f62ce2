"""ranges.py and uncertain.py: which numbers are uncertain, how far they go, what a headline rests
on, and the page."""

import math
import tomllib
from pathlib import Path

import pytest
import ranges
import rules
import uncertain
from claims import Part, claim
from common import Figure, claims_of
from conftest import ROOT
from differences import changed_machine
from sweep import Point

from syncopate.base import compactjson

OF_PAPERS = ("broadwell-2x18", "haswell-4c8t", "opteron-6272", "zec12-12c")


@pytest.mark.parametrize("name", OF_PAPERS)
def test_each_number_that_a_machine_file_calls_an_estimate_is_searched(name):
    marked = uncertain.estimates(name)
    assert len(marked) > 25
    searched = {key for changes in uncertain.ranges(name).values() for key in changes}
    left = {key for key, value in marked.items() if value and key not in searched}
    assert not left


def test_what_the_file_gives_a_source_for_stays():
    marked = uncertain.estimates("broadwell-2x18")
    assert "cache.llc.latency" not in marked  # AnandTech
    assert "coherence.transfer_remote" not in marked  # Chips and Cheese
    assert marked["coherence.migratory"] is False  # not known


@pytest.mark.parametrize("name", OF_PAPERS)
def test_what_is_searched_are_machines(name, tmp_path):
    """A line's way to another node is not the shorter one, as the parser of the files wants it."""
    ways = [f"transfer_{where}" for where in ("cluster", "node", "socket", "remote")]
    for changes in uncertain.ranges(name).values():
        machine = tomllib.loads(changed_machine(name, changes, tmp_path).read_text())
        for table, keys in (("coherence", ways), ("dram", ["local", "remote"])):
            times = [machine[table][key] for key in keys]
            assert times == sorted(times), changes
        times = [machine["cache"][level]["latency"] for level in ("l1", "l2", "llc")]
        assert times == sorted(times), changes


def test_a_number_in_no_group_is_told():
    with pytest.raises(KeyError, match=r"dram.color is uncertain, and in no group"):
        uncertain.group_of("dram.color")


@pytest.mark.parametrize(
    ("key", "value", "ends"),
    [
        ("dram.local", 211, (105, 422)),
        ("energy.base", 3.0, (1.5, 6.0)),
        ("htm.learning", True, ("false", "false")),
        ("core.smt_share", 0.6, (0.5, 0.75)),
    ],
)
def test_ends(key, value, ends):
    assert uncertain.ends(key, value) == ends


# ---- how far from agreeing ----


@pytest.mark.parametrize(
    ("rule", "value", "far"),
    [
        (rules.number(2.0), 1.8, 0.0),
        (rules.number(2.0), 1.4, 0.35 / 1.75),
        (rules.number(2.0), 2.5, 0.25 / 2.5),
        (rules.more(clearly=True), 0.55, 0.5),
        (rules.number(15.0, neutral=0.0), -5.0, 16.25 / 21.25),
        (rules.less(), math.nan, 1.0),
    ],
)
def test_how_far_a_value_is_from_agreeing(rule, value, far):
    assert ranges.away(rule, "a", value) == pytest.approx(far, abs=0.03)


def test_the_farthest_case_that_has_to_agree_counts():
    values = {"a": 2.0, "b": 1.2, "c": 0.55}
    assert ranges.part_away(Part(rules.more(clearly=True), values)) == pytest.approx(0.5, abs=0.03)
    assert ranges.part_away(Part(rules.most(rules.more(clearly=True)), values)) == 0
    few = {"a": 2.0, "b": 1.0, "c": 0.55}
    assert 0 < ranges.part_away(Part(rules.most(rules.more(clearly=True)), few)) < 0.2
    together = Part(rules.order(), {"a": 1.0, "b": 2.0})
    assert 0 < ranges.part_away(together) < 0.01, "no case misses, and it does not hold"


# ---- what a row rests on ----


@pytest.fixture
def row(figure: Figure, tmp_path, monkeypatch) -> ranges.Row:
    """A headline that two of the four points decide."""
    runs = [
        {"panel": "", "series": series, "x": x, "operations": value, "watts": 5.0, "seed": 1}
        for series, x, value in (("fast", 1, 3), ("fast", 2, 5), ("slow", 1, 2), ("slow", 2, 2))
    ]
    second = [run | {"seed": 2, "operations": 100} for run in runs]
    document = {"machine": "test-4c", "quick": False, "runs": [*runs, *second]}
    data = tmp_path / "made_up_fig1.json"
    data.write_text(compactjson.tables(document))
    figure.claims = lambda results: [
        claim("fast is faster", rules.number(2.5), results.ratios("fast", "slow", [""], [2]),
              headline="known"),
        claim("not a headline", rules.more(), results.ratios("fast", "slow", [""], [1])),
    ]  # fmt: skip
    monkeypatch.setattr(ranges, "shipped", lambda _: data)
    (found,) = ranges.rows_of(figure)
    return found


def test_a_headline_rests_on_the_points_that_move_it(row):
    assert row.needs == {("", "fast", 2), ("", "slow", 2)}
    assert [point.text() for point in row.points()] == ["fast 2", "slow 2"]
    assert row.claim.verdict is rules.Verdict.REPRODUCED, "of the first seed alone"


def test_it_is_judged_with_the_new_runs_in_the_place_of_the_old(row):
    runs = [{"panel": "", "series": "slow", "x": 2, "operations": 4}]
    assert row.judged(runs).parts[0].values == {"made_up": 1.25}
    assert row.claim.parts[0].values == {"made_up": 2.5}


def test_power_is_changed_where_it_is_shown_alone(row):
    assert not ranges.with_energy(row)
    assert not any(name.startswith("power") for name in ranges.alone(row))
    row.figure.value = lambda run: run["watts"] ** 2 * run["operations"]
    row.figure.claims = lambda results: [
        claim("fast is faster", rules.more(), {"a": results.value("", "slow", 2)})
    ]
    assert ranges.with_energy(ranges.Row(row.figure, row.document,
                                         row.judged([]), row.needs))  # fmt: skip


def test_what_brings_nearer_is_put_together():
    def of(changed, away):
        return {"changed": changed, "away": away}

    settings = {"a: half": {"k.a": 1}, "a: twice": {"k.a": 4}, "b: half": {"k.b": 1},
                "c: half": {"k.c": 1}, "all: half": {"k.a": 1, "k.b": 1}}  # fmt: skip
    found = [of(ranges.AS_IT_IS, 0.5), of("a: half", 0.4), of("a: twice", 0.2),
             of("b: half", 0.3), of("c: half", 0.6), of("all: half", 0.1)]  # fmt: skip
    assert ranges.together(settings, found) == {"a: twice; b: half": {"k.a": 4, "k.b": 1}}
    assert ranges.together(settings, found[:2]) == {}


def test_an_end_that_leads_past_the_number_is_gone_to_in_steps(row, monkeypatch):
    """The row states 2.5."""
    monkeypatch.setattr(ranges.uncertain, "estimates", lambda _: {"k.a": 16, "k.b": False})
    settings = {"a: twice": {"k.a": 256, "k.b": "true"}, "b: half": {"k.a": 8}}

    def of(changed, value):
        return {"changed": changed, "values": {"made_up": value}}

    found = [of(ranges.AS_IT_IS, 1.2), of("a: twice", 5.0), of("b: half", 2.0)]
    steps = ranges.between(row, settings, found)
    assert [each["k.a"] for each in steps.values()] == [32, 64, 128]
    assert all(each["k.b"] == "true" and "a: twice" in name for name, each in steps.items())
    assert ranges.between(row, settings, [found[0], of("a: twice", 1.0)]) == {}


def test_the_search_runs_each_setting_and_says_where_it_holds(row, monkeypatch, tmp_path):
    """On a made-up machine, where the slow one takes as long as memory does."""

    local = 200

    def run(point: Point, setting, kept) -> dict:
        now = int(Path(setting.machine_file()).read_text().partition("\nlocal = ")[2].split()[0])
        speed = 5 if point.series == "fast" else 2 * now / local
        return point.place() | {"operations": speed, "seed": 1}

    monkeypatch.setattr(ranges, "finished", run)
    monkeypatch.setattr(ranges.Setting, "check", lambda self, points: None)
    monkeypatch.setattr(ranges.uncertain, "ranges", lambda _: {
        ("memory's time", "half"): {"dram.local": local // 2},
        ("memory's time", "twice"): {"dram.local": local * 2},
    })  # fmt: skip
    file = (ROOT / "machines/test-4c.toml").read_text()
    assert f"\nlocal = {local}" in file
    options = type("Options", (), {"jobs": 1, "programs": tmp_path, "limit": 1, "kept": False})()
    found = ranges.search(row, options, None, tmp_path)
    verdicts = {each["changed"]: each["verdict"] for each in found["settings"]}
    assert verdicts == {
        ranges.AS_IT_IS: "reproduced", "memory's time: half": "direction only",
        "memory's time: twice": "direction only", "all: half": "direction only",
        "all: twice": "direction only",
    }  # fmt: skip
    assert ranges.where(found) == ranges.PARTLY
    assert ranges.extent(found) == "made_up 1.25 to 5"


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        (["reproduced", "reproduced"], "everywhere"),
        (["reproduced", "not reproduced"], "in a part"),
        (["direction only", "not reproduced"], "nowhere"),
    ],
)
def test_where_it_holds(verdicts, said):
    row = {"settings": [{"verdict": each} for each in verdicts]}
    assert ranges.where(row | {"whole": False}) == f"{said}, so far"
    assert ranges.where(row | {"passed": True}) == said.replace("nowhere", "between two")
    assert ranges.where({"settings": [{"verdict": each} for each in verdicts]}) == said


# ---- what is committed ----


def test_the_page_is_of_the_committed_data():
    document = compactjson.read(ranges.DATA.read_text())
    assert ranges.PAGE.read_text() == ranges.page(document), "run with --redraw"
    for name in ranges.pictures(document):
        assert (ranges.DATA.parent / f"{name}.svg").is_file()


def test_each_row_is_of_a_headline_and_begins_as_its_figure():
    """With the first seed; the programs may be of another build."""
    document = compactjson.read(ranges.DATA.read_text())
    for row in document["rows"]:
        figure = next(each for each in ranges.simulated() if each.name == row["figure"])
        claims = claims_of(figure, ranges.first_seed(figure))
        of = next(each for each in claims if each.paper == row["statement"])
        first = next(each for each in row["settings"] if each["changed"] == ranges.AS_IT_IS)
        values = {name: value for part in of.parts for name, value in part.values.items()}
        again = f"run papers/figures/ranges.py --figure {row['figure']}"
        assert first["values"].keys() == values.keys(), again
        for name, value in values.items():
            near = pytest.approx(rules.middle(value), rel=0.15, abs=0.02)
            assert first["values"][name] == near, again
