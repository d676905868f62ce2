"""What a statement's row is sensitive to: the committed results with some runs made slower or
faster, and the verdict that has to follow."""

import importlib

import pytest
from common import claims_of, shipped
from headlines import headlines
from rules import Verdict as V

from syncopate.base import compactjson

# In figure 7, what is ahead of the ticket lock, or as fast.
SLOWER = [
    ("low contention, large", "htm-10", range(4, 11), 2),
    ("low contention, large", "tatas-aahtm", [18], 1.2),
]
# A figure, the beginning of a statement, and pairs of where runs take how many times as long (a
# panel's beginning, series, numbers of threads) and the verdict.
PLANTED = [
    ("always_abort_fig7", "an AAHTM primitive is the best option in three",
     [([], V.NOT), ([("low contention, large", "htm-10", range(4, 11), 2)], V.REPRODUCED)]),
    ("always_abort_fig7", "the AAHTM ticket lock is the best option for large",
     [(SLOWER, V.REPRODUCED),
      ([*SLOWER, ("high contention, large", "tatas-aahtm-opt", [8], 0.1)], V.NOT)]),
    ("always_abort_fig7", "small: the unfair test-and-test-and-set locks",
     [([], V.NOT), ([("", "ticket-aahtm", [18], 10)], V.REPRODUCED)]),
    ("always_abort_fig9", "50 % writes: the AAHTM TATAS lock is the best lock",
     [([("50 % sets", "ticket-aahtm", [18], 10), ("50 % sets", "ticket", [18], 10)],
       V.REPRODUCED)]),
    ("always_abort_fig10", "htm-1 and htm-10 fail to deliver speed-up",
     [([], V.NOT), ([("", "default", [1], 0.1)], V.REPRODUCED),
      ([("", "default", [1], 0.1), ("small", "htm-1", [2], 0.01)], V.NOT)]),
    ("always_abort_fig11", "AAHTM generally gives the best",
     [([], V.REPRODUCED), ([("", "tatas", [4, 8], 0.1)], V.NOT)]),
    ("always_abort_fig12", "ssca2 sees no performance collapse",
     [([], V.REPRODUCED),
      ([("ssca2", "htm-10", [16], 10), ("ssca2", "htm-10-fb-aahtm", [16], 10)], V.NOT)]),
    ("ruby_gil_fig5_xeon", "figure 5: HTM-dynamic does not scale better",
     [([], V.REPRODUCED), ([("bt", "HTM-dynamic", [4], 0.1)], V.NOT)]),
    ("ruby_gil_fig5_xeon", "figure 5: HTM-16 shows the best throughput",
     [([], V.REPRODUCED), ([("bt", "HTM-1", [4], 0.1)], V.NOT)]),
    ("ruby_gil_fig7", "HTM-1 and HTM-dynamic do not show better throughput",
     [([("", "HTM-16", range(7), 0.1)], V.NOT),
      ([("", "HTM-16", range(7), 0.1), ("", "HTM-256", range(7), 0.1)], V.REPRODUCED)]),
    ("tsx_hpc_fig1", "Large Critical suffers",
     [([], V.REPRODUCED), ([("", "Small Atomic", [3], 100)], V.NOT)]),
    ("tsx_hpc_fig3", "in these, the single global lock fails to scale",
     [([], V.REPRODUCED), ([("fluidanimate", "sgl", [1], 10)], V.NOT)]),
    ("tsx_hpc_fig5", "privatization and barriers provide good",
     [([("histogram", "privatize", [1], 0.1)], V.NOT),
      ([("histogram", "privatize", [1], 0.1), ("physicsSolver", "barrier", [2], 0.1)],
       V.REPRODUCED)]),
]  # fmt: skip


def judged(name: str, statement: str, changes: list) -> V:
    figure = importlib.import_module(name).FIGURE
    document = compactjson.read(shipped(figure).read_text())
    for panel, series, xs, times in changes:
        found = [
            run
            for run in document["runs"]
            if run["panel"].startswith(panel) and run["series"] == series and run["x"] in xs
        ]
        assert found, (panel, series, xs)
        for run in found:
            run["microseconds" if "microseconds" in run else "seconds"] *= times
    (row,) = [each for each in claims_of(figure, document) if each.paper.startswith(statement)]
    return row.verdict


@pytest.mark.parametrize(
    ("name", "statement", "planted"), PLANTED, ids=[f"{n}-{s[:30]}" for n, s, _ in PLANTED]
)
def test_a_statement_rests_on_what_it_names(name, statement, planted):
    for changes, verdict in planted:
        assert judged(name, statement, changes) is verdict, changes


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_a_table_of_serialization_is_judged_by_all_of_its_columns(number):
    """One that is not tested here keeps the headline from being reproduced."""
    name = {1: "gcc_tm_fig4", 2: "gcc_tm_fig6", 3: "gcc_tm_fig8", 4: "gcc_tm_fig9"}[number]
    figure = importlib.import_module(name).FIGURE
    rows = claims_of(figure, compactjson.read(shipped(figure).read_text()))
    of_table = [row for row in rows if row.headline.startswith(f"table {number}:")]
    columns = {
        case.partition(": ")[2] for row in of_table for part in row.parts for case in part.values
    }
    assert columns == {"in flight", "at start", "after aborts"}
    assert [row.beyond for row in of_table if "after aborts" in row.paper] != [""]
    (known,) = headlines([(figure, of_table)])
    assert known.verdict is V.NOT
