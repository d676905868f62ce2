"""What pages show beside a record, predictions and a policy, as their text tells."""

import json
import re

from conftest import one_line, run_cli
from make_record import RecordBuilder
from page_data import POLICY, WHATIF, make


def test_a_page_says_where_more_may_be_lost_and_who_recorded_it(tmp_path):
    builder = RecordBuilder()
    builder.recorder, builder.lock_name = 1, "as it is"
    builder.row(builder.thread(100), builder.lock(0x9000, 6), 8, [900_000])
    target = tmp_path / "page.html"
    done = run_cli("report", builder.write(tmp_path / "r"), "--html", target)
    assert done.returncode == 0, done.stderr
    text = target.read_text()
    assert '"its own locks, seen from the kernel"' in text
    assert '"Lost to locks: 0.0 %, and perhaps to locks of its own: up to 90.0 % more' in text


def test_whatif_must_be_one_of_this_report(tmp_path):
    record, page = make(tmp_path / "r"), tmp_path / "page.html"
    other = tmp_path / "w.json"
    for text, said in (
        (json.dumps({**WHATIF, "lock": {"name": "else"}}), "is of lock 'else'"),
        (json.dumps({"schema": "syncopate-diff"}), "is not what `syncopate simulate"),
        ("[", "cannot read"),
    ):
        other.write_text(text)
        done = run_cli("report", record, "--html", page, "--whatif", other)
        assert done.returncode in (1, 2)
        assert said in one_line(done)
        assert not page.exists()


def test_an_entry_is_told_of_its_kind_of_object(tmp_path):
    """One place makes a mutex and a reader-writer lock; each entry for it is of one of them."""
    builder = RecordBuilder()
    place = builder.stack(0xA000, 0xF000)
    for number, kind in ((0x9000, 1), (0x9100, 2)):
        builder.row(builder.thread(number), builder.lock(number, kind, create=place), kind, [500])
    entry = '[[lock]]\ncreated = "0xa000"\n'
    entries = [f'{entry}prefer = "writers"\n', f'{entry}lock = "mcs"\n', f'{entry}elide = "off"\n']
    (tmp_path / "p").write_text("\n".join([*POLICY.splitlines()[1:3], *entries]))
    target = tmp_path / "page.html"
    record = builder.write(tmp_path / "r")
    done = run_cli("report", record, "--html", target, "--policy", tmp_path / "p")
    assert done.returncode == 0, done.stderr
    (told,) = json.loads(re.search(r'"policyOf": ?(\[\[.*?\]\])', target.read_text())[1])
    (results,) = json.loads(run_cli("report", "--json", record).stdout)["records"]
    kinds = [lock["object"] for lock in results["locks"]]
    assert dict(zip(kinds, told, strict=True)) == {"mutex": 1, "rwlock": 0}


def test_a_policy_is_for_pages(tmp_path):
    done = run_cli("report", make(tmp_path / "r"), "--policy", "p.toml")
    assert (done.returncode, "--policy changes --html" in one_line(done)) == (2, True)
