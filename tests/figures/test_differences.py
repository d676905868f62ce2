"""differences.py: a changed machine, how much a change explains, and the page."""

import math
from dataclasses import replace

import differences
import pytest
from common import results_of, shipped
from sweep import Checkpoint, Point, Refusal
from trials import TRIALS, Trial, explained

from syncopate.base import compactjson

DOCUMENT = compactjson.read(differences.DATA.read_text())
ROWS = {differences.key_of(row): row for row in DOCUMENT["rows"]}
# What the figures' pages say of trials: the figure, words of its page, and for the trials that they
# rest on (the beginning of the number's name, words of the change) from and to how many percent of
# the difference went with it. All trials of that number that have the words count.
LITTLE, NEARER, MOST, ALL = (-10, 25), (5, 95), (60, 100), (90, math.inf)
SAID = [
    ("tsx_hpc_fig4", "with dearer ones, two fifths of the average's difference are gone",
     "tsx.coarsen over the baseline, average", "rmw_cycles = 40`", (35, 50)),
    ("tsx_hpc_fig2", "where they do not wait the two are equal",
     "our genome", "drains_stores", (90, 110)),
    ("tsx_hpc_fig2_original", "in one of twice the size the two are equal",
     "yada: tsx over sgl with 1 thread", "cache.l1.size", (90, 110)),
    ("tsx_hpc_fig2_original", "labyrinth's difference is gone",
     "labyrinth: tsx over sgl with 8", "topology.cores", (90, math.inf)),
    ("tsx_hpc_fig2_original", "and most of yada's",
     "yada: tsx over sgl with 8", "topology.cores", (50, 100)),
    ("tsx_hpc_fig5", "with four times the items privatizing is the faster one with one thread",
     "histogram: time of privatize", "pixels", (100, math.inf)),
    ("ruby_gil_fig5", "in a larger FT most of the difference is gone", "ft:", "size = 64", MOST),
    ("tsx_hpc_fig6", "on eight cores netstreamcluster gains",
     "netstreamcluster", "topology.cores", (100, math.inf)),
    ("always_abort_fig9", "Slower memory, cheaper transfers and a dearer futex each bring us",
     "50 % writes: tatas-aahtm", "", NEARER),
    ("always_abort_fig10", "where it begins with one PAUSE, not four, each lock that is taken",
     "small database", "1 PAUSE,", ALL),
    ("always_abort_fig7", "the lead over ticket-aahtm with 8 threads is nearly gone",
     "low contention, large: htm-10", "1 PAUSE,", (80, 100)),
    ("always_abort_fig11", "With both changed they gain a tenth and more",
     "genome: tatas-aahtm", "llc.latency = 210`, `between", ALL),
    ("always_abort_fig11", "With both changed they gain a tenth and more",
     "intruder: tatas-aahtm", "llc.latency = 210`, `between", ALL),
    ("always_abort_fig11", "genome falls with 16 threads where back-off begins with one PAUSE",
     "genome: htm-10 with 16", "1 PAUSE,", ALL),
    ("always_abort_fig11", "vacation does not, also where the L1 is halved as well",
     "vacation: htm-10 with 16", "l1.ways = 4`, back-off begins with 1 PAUSE,", LITTLE),
    ("always_abort_fig12", "vacation does not collapse with a back-off of 1 and an L1 of half",
     "vacation: htm-10 with 16", "l1.ways = 4`, back-off begins with 1 PAUSE,", LITTLE),
    ("always_abort_fig12", "with 1 it collapses with both locks",
     "genome: htm-10 with 16", "1 PAUSE,", ALL),
    ("always_abort_fig13", "instead of 90, nothing is lost",
     "with the test", "transfer_cluster = 60", ALL),
    ("always_abort_fig14", "where more of it misses the last-level cache, the gain is larger",
     "offshore: throughput", "llc.size", (10, 100)),
    ("always_abort_fig14", "half of offshore's difference is gone",
     "offshore: 16 threads", "dram.remote = 31`", (45, 60)),
    ("always_abort_fig14", "and a third of thermal2's, most of the latter with slower memory, too",
     "thermal2: 16 threads", "dram.remote = 31`, `dram.bytes", (70, 100)),
    ("monitor_mwait_fig2", "dearer calls", "1spinner over", "syscall_cycles", NEARER),
    ("monitor_mwait_fig2", "dearer transfers", "1spinner over", "transfer_remote", NEARER),
    ("monitor_mwait_fig2", "a line that is busy longer with each read",
     "1spinner over", "occupancy", NEARER),
    ("monitor_mwait_fig3", "With between 400 and 800 tasks a thread", "tasks: 1spinner",
     "400 tasks", (0, 100)),
    ("monitor_mwait_fig3", "With between 400 and 800 tasks a thread", "tasks: 1spinner",
     "800 tasks", (100, math.inf)),
    ("monitor_mwait_fig3", "dearer calls of the kernel", "tasks: 1spinner", "syscall", LITTLE),
    ("monitor_mwait_fig3", "lines that take twice as long to another node, bring us little nearer",
     "tasks: 1spinner", "transfer_remote", LITTLE),
    ("monitor_mwait_fig5", "400 cycles for each read, where we estimate 30",
     "two-level over central", "occupancy = 400`", (90, 110)),
]  # fmt: skip

ROW = {"figure": "made_up_fig1", "number": "gain", "paper": 4.0, "changed": "`a.b = 1`"}


def test_how_much_a_change_explains():
    for then, percent in ((4, 100), (2, 50), (1, 0), (0.5, -50)):
        assert explained(ROW | {"ours": 1.0, "then": then}) == pytest.approx(percent)
    for ours in (4.0, 4.05, 3.95):
        assert explained(ROW | {"ours": ours, "then": 1.0}) == 0, "there is nothing to explain"


def test_fields_of_a_machine_are_changed_and_no_others(tmp_path):
    original = (differences.ROOT / "machines" / "test-4c.toml").read_text()
    fields = {"cache.l1.latency": 77, "dram.local": 999}
    file = differences.changed_machine("test-4c", fields, tmp_path)
    pairs = zip(original.splitlines(), file.read_text().splitlines(), strict=True)
    changed = {new for old, new in pairs if old != new}
    assert changed == {"latency = 77", "local = 999"}
    with pytest.raises(Refusal, match=r"test-4c.toml has no dram.color"):
        differences.changed_machine("test-4c", {"dram.color": 1}, tmp_path)


def test_every_trial_has_points_and_changes_something():
    for trial in TRIALS:
        assert len(differences.points_of(trial.number)) >= 2, trial.number.name
        assert trial.fields or trial.options or trial.locks, trial.number.name


def test_a_point_without_a_result_is_told():
    number = TRIALS[0].number
    runs = [point.place() | {"error": "ended"} for point in differences.points_of(number)]
    with pytest.raises(Refusal, match=f"{number.figure} .*: ended"):
        differences.value(number, runs)


def test_a_number_without_a_value_is_told():
    """As when the run is missing that speed-ups are taken over."""
    number = replace(TRIALS[0].number, of=lambda _: math.nan)
    with pytest.raises(Refusal, match=f"{number.figure}.*: no value"):
        differences.value(number, [])


def test_a_lock_is_changed_in_its_series_alone():
    trial = Trial(TRIALS[0].number, options={"seed": 2}, locks={"a": "mcs"})
    for series, lock in (("a", "mcs"), ("b", "tatas")):
        point = Point("", series, 4, "program", {"lock": "tatas", "seed": 1})
        changed = differences.changed_point(point, trial)
        assert changed.options == {"lock": lock, "seed": 2}
    assert trial.text() == "`seed = 2`, a is `mcs`"


def test_rows_of_other_figures_are_kept():
    trials = TRIALS[:2]
    before = [
        {"figure": t.number.figure, "number": t.number.name, "changed": t.text(), "then": 1}
        for t in trials
    ]
    now = [before[1] | {"then": 2}]
    assert differences.merged([*before, ROW], now, trials) == [before[0], now[0]]


def test_a_finished_run_is_kept(tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(differences, "identity", lambda point, setting: point.series)
    monkeypatch.setattr(
        differences, "run_point", lambda point, _: calls.append(point) or point.place() | {"t": 1}
    )
    point = Point("", "a", 4, "program", {})
    for _ in range(2):  # again from the file
        kept = Checkpoint(tmp_path / "kept.jsonl")
        run = differences.finished(point, None, kept)
        assert run == {"panel": "", "series": "a", "x": 4, "t": 1}
    assert len(calls) == 1


def test_the_page_is_of_the_committed_data():
    document = compactjson.read(differences.DATA.read_text())
    assert differences.PAGE.read_text() == differences.page(document), "run with --redraw"


def test_each_trial_has_its_row():
    keys = {(each.number.figure, each.number.name, each.text()) for each in TRIALS}
    assert ROWS.keys() == keys, "run papers/figures/differences.py --figure NAME"


@pytest.mark.parametrize(
    "number",
    {each.number.name: each.number for each in TRIALS}.values(),
    ids=lambda number: number.name[:40],
)
def test_a_row_begins_at_what_the_figures_document_has(number):
    """The change is of the figure that is shown, not of another build's."""
    figure = differences.figure_of(number)
    document = compactjson.read(shipped(figure).read_text())
    runs = [run for run in document["runs"] if run.get("seed", 1) == 1]
    results_of(figure, document)  # on the document's machine
    shown = differences.value(number, runs)
    near = 0.05 if figure.name.startswith("ruby_gil") else 1e-3  # lua-mt is built apart
    for row in ROWS.values():
        if (row["figure"], row["number"]) == (number.figure, number.name):
            again = f"run papers/figures/differences.py --figure {number.figure}"
            assert row["ours"] == pytest.approx(shown, rel=near), again


@pytest.mark.parametrize(
    ("figure", "words", "number", "change", "percent"),
    SAID,
    ids=[f"{figure}-{change[:20]}" for figure, _, _, change, _ in SAID],
)
def test_what_a_page_says_of_trials_is_what_they_gave(figure, words, number, change, percent):
    page = (differences.PLACES / "simulated" / f"{figure}.md").read_text()
    assert words in page, "the sentence is another one: so is its row here"
    found = [
        row
        for (_, name, changed), row in ROWS.items()
        if name.startswith(number) and change in changed
    ]
    assert found
    for row in found:
        assert percent[0] <= explained(row) <= percent[1], f"{row}: {explained(row):.0f} %"


def test_each_page_that_names_the_trials_has_its_sentence_tested():
    pages = (differences.PLACES / "simulated").glob("*_*.md")
    naming = {page.stem for page in pages if "differences.md" in page.read_text()}
    tested = {figure for figure, *_ in SAID}
    assert {name for name in naming if not name.endswith(ELSEWHERE)} <= tested | SHARED


# Pages of other machines have the sentences of the paper's; these have the note on the back-off, or
# figure 5's sentence on polling.
ELSEWHERE = ("_xeon", "_sapphire_rapids")
SHARED = {"always_abort_fig8", "monitor_mwait_fig6"}
