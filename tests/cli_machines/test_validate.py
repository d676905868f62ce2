"""bench/validate.py: docs/internals/model-measured.md has what the model misses of published
figures."""

import os
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))

import validate  # noqa: E402

BUILD = Path(os.environ["SYNCOPATE_BUILD_DIR"])


@pytest.fixture(scope="module")
def rows() -> list[dict]:
    return validate.counted(validate.results(BUILD))


@pytest.mark.long
def test_misses_stand_in_the_page(rows: list[dict]) -> None:
    missed = {
        row["what"]: (f"{row['published']:.1f}", f"{row['model']:.1f}", f"{row['error']:+.0%}")
        for row in rows
        if validate.missed(row)
    }
    text = (ROOT / "docs/internals/model-measured.md").read_text(encoding="utf-8")
    listed = {
        what.strip(): (published, model, f"{error}%")
        for what, published, model, error in re.findall(
            r"^ *\| ([^|]+) \| ([\d.]+) \| ([\d.]+) \| ([-+]\d+) % \|$", text, re.M
        )
    }
    assert listed == missed


@pytest.mark.long
def test_the_page_says_how_many_points_agree(rows: list[dict]) -> None:
    good = sum(not validate.missed(row) for row in rows)
    text = " ".join((ROOT / "docs/internals/model-measured.md").read_text(encoding="utf-8").split())
    assert f"{good} of {len(rows)} points are within 25 %" in text


def test_lines_by_state_and_distance_are_those_published() -> None:
    rows = [row for kind in ("load, ", "atomic, ") for row in validate.counted(
        validate.results(BUILD, kind))]  # fmt: skip
    table = [row for row in rows if re.match(r"(load|atomic), ", row["what"])]
    assert len(table) == 16
    assert not any(validate.missed(row) for row in table)


def test_each_figure_has_its_source_and_its_own_name() -> None:
    names = [told[0] for of in validate.sets() for told in of["points"]]
    assert len(names) == len(set(names))
    for of in validate.sets():
        assert of["source"].strip()
    assert validate.not_found()
