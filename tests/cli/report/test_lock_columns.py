"""A number of a lock is one row of lockcolumns.py: the text's table and the page's follow."""

import json
import re

import pytest
from conftest import ROOT, run_cli
from make_record import RecordBuilder

from syncopate.show import htmlpage, lockcolumns, textreport

SHOW = ROOT / "syncopate/show"
PLANTED = lockcolumns.Column("members", "count", text="how many", page="How many there are")


@pytest.fixture
def document(tmp_path) -> dict:
    builder = RecordBuilder()
    thread = builder.thread(10, "a")
    lock = builder.lock(0x9000, acquisitions=100, first=builder.stack(0xA000), holds=[100] * 4)
    builder.row(thread, lock, 1, [50_000, 70_000])
    return json.loads(run_cli("report", "--json", builder.write(tmp_path / "r")).stdout)


def columns_of_page(document: dict) -> list[dict]:
    text = "".join(htmlpage.pieces([], document, {}))
    data = re.search(r'<script[^>]*id="data"[^>]*>(.*?)</script>', text, re.S)
    return json.loads(data[1])["columns"]


def test_a_row_is_all_that_a_column_needs(document, monkeypatch, capsys):
    with_planted = (*lockcolumns.COLUMNS, PLANTED)
    monkeypatch.setattr(lockcolumns, "COLUMNS", with_planted)
    monkeypatch.setenv("COLUMNS", "200")
    textreport.show(document["records"])
    table = capsys.readouterr().out.partition("Mutexes")[2].splitlines()
    assert table[1].split()[-2:] == ["how", "many"] and table[2].split()[-1] == "1"
    last = columns_of_page(document)[-1]
    assert (last["page"], last["field"], last["unit"]) == (PLANTED.page, "members", "count")


def test_the_page_makes_its_columns_of_the_table_alone():
    code = (SHOW / "page/locks.js").read_text(encoding="utf-8")
    assert "...data.columns.map(asColumn)" in code
    units = re.search(r"const UNITS = {([^}]*)}", code)[1]
    assert {each.split(":")[0].strip() for each in units.split(",")} == set(lockcolumns.UNITS)
    own = re.search(r"const COLUMNS = \[(.*?)\];", code, re.S)[1]
    assert re.findall(r'title: "([^"]*)"', own) == ["Lock", "Kind"]


def test_every_field_is_one_of_the_report(document):
    (lock,) = document["records"][0]["locks"]
    for column in lockcolumns.COLUMNS:
        assert column.value(lock, lock["waits"]["mutex"]) is not None, column.field
        assert column.unit in lockcolumns.UNITS
