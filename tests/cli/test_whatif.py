"""What `simulate --from` asks the replay, and how it answers."""

import json
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import ROOT, one_line
from make_record import RecordBuilder
from test_lockuse import two_threads, use_of

from syncopate.base import compactjson, optiontable, ownsettings
from syncopate.base.errors import Failure
from syncopate.machines import machinefiles, whatif
from syncopate.records.recordformat import CONDITION, FUTEX
from syncopate.show import whatifoutput


def test_unknown_lock_lists_those_that_waited(tmp_path):
    with pytest.raises(Failure, match=r"no lock of .* is called 'cache'.*'0x1000'"):
        use_of(two_threads(), tmp_path, "cache")


@pytest.mark.parametrize(
    ("recorder", "acquisitions", "said"),
    [
        (0, 5, "no hold of '0x1000' was measured; record again, longer"),
        (0, 0, "how long '0x1000' is held is not seen of such locks, only who waits"),
        (1, 0, "is not seen from the kernel; without --kernel, of pthread's locks"),
        (2, 0, "how long '0x1000' is held a Java VM does not tell"),
    ],
)
def test_record_without_holds_says_how_to_get_them(tmp_path, recorder, acquisitions, said):
    """If that is possible: as a longer record of what is never seen is not."""
    builder = RecordBuilder()
    builder.recorder = recorder
    lock = builder.lock(0x1000, acquisitions=acquisitions)
    builder.row(builder.thread(11), lock, 1, [1000] * 20)
    with pytest.raises(Failure) as failed:
        use_of(builder, tmp_path)
    assert said in str(failed.value)


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        ("halve", {}, {"length": "50"}),
        ("length=25", {}, {"length": "25"}),
        ("move=40", {}, {"length": "60", "moved": "40"}),
        ("shard=8", {}, {"shards": "8"}),
        ("rwlock=95", {"reads": "95"}, {"reads": "95", "lock": "rwlock"}),
        ("elide", {"conflicts": "10"}, {"conflicts": "10", "lock": "elided_auto"}),
    ],
)
def test_changes(text, before, after):
    change = whatif.parse(text)
    assert (change.before, change.after) == (before, after)


@pytest.mark.parametrize(
    "text", ["", "faster", "halve=2", "shard", "shard=x", "shard=0", "shard=1025", "move=101"]
)
def test_unknown_changes_are_refused(text):
    with pytest.raises(Failure, match="--what"):
        whatif.parse(text)


def test_swaps_are_checked(native, monkeypatch):
    monkeypatch.setenv("SYNCOPATE_NATIVE", str(native))
    assert whatif.parse("lock=mcs:spin").after == {"lock": "mcs:spin"}
    assert whatif.parse("lock=glibc").after == {"lock": "pthread"}
    with pytest.raises(Failure, match=r"no lock is named 'mcsx' \(did you mean mcs"):
        whatif.parse("lock=mcsx")
    with pytest.raises(Failure, match="lock mcs does not wait by 'sleep'"):
        whatif.parse("lock=mcs:sleep")


def test_range_is_what_nine_of_ten_predictions_keep_to():
    folder = Path(__file__).parents[2] / "papers/results/measured"
    rows = [
        row
        for name in ("check", "truth")
        for row in compactjson.read((folder / f"whatif_{name}.json").read_text())["rows"]
    ]
    assert len(rows) > 100
    for compared, error in ((True, whatif.MODEL_ERROR), (False, whatif.UNCOMPARED_ERROR)):
        assert whatif.error_of_nine_in_ten(rows, compared) == pytest.approx(error, abs=0.001)
        held = 0
        for each in rows:
            known = whatif.difference(each["recorded"], each["before"]) if compared else 1
            most = (1 + error) * known
            held += 1 / most <= each["predicted"] / each["measured"] <= most
        assert held >= 0.9 * len(rows)


def test_error_bar_covers_spread_and_model():
    steady = whatif.answer(whatif.parse("halve"), 4, [100, 100], [150, 150])
    assert steady.gain == 1.5
    assert steady.high == pytest.approx(1.5 * (1 + whatif.UNCOMPARED_ERROR))
    assert steady.low == pytest.approx(1.5 / (1 + whatif.UNCOMPARED_ERROR))
    wide = whatif.answer(whatif.parse("halve"), 4, [100, 100], [100, 200])
    assert wide.high / wide.gain > steady.high / steady.gain


@pytest.mark.parametrize(
    ("recorded", "new", "factor"),
    [
        (0, 300, 1.748),  # elsewhere
        (80, 300, 1.213 * 1.25),  # on a busy machine
        (100, 300, 1.213),
        (110, 300, 1.213 * 1.1),
        (1000, 300, 1.213 * 10),
        (1000, 50, 1.213 * 10),
    ],
)
def test_a_range_counts_what_record_and_replay_differ_by(recorded, new, factor):
    """Threads that take turns by time slices hardly meet at a lock."""
    found = whatif.answer(whatif.parse("halve"), 4, [100, 100], [new, new], recorded)
    assert found.gain == new / 100
    assert (found.low, found.high) == pytest.approx((found.gain / factor, found.gain * factor))


@pytest.mark.parametrize(("processors", "compared"), [(2, True), (4, False)])
def test_a_record_is_compared_on_machines_like_its_own(tmp_path, processors, compared):
    use = replace(use_of(two_threads(), tmp_path), processors=processors, rate=200.0)
    replayer = whatif.Replayer(use, str(ROOT / "machines/small-2c.toml"), str(tmp_path), "none")
    replayer.rate = lambda settings, threads, seed: 300.0 if "length" in settings else 100.0
    for threads in (2, 3):
        (found,) = whatif.answers(replayer, [whatif.parse("length=10")], [threads])
        is_same = compared and threads == 2
        factor = 1.213 * 2 if is_same else 1.748
        assert found.low == pytest.approx(found.gain / factor)
        said = whatifoutput.against_record(use, [found])
        assert ("count a difference of 2.00x" in said) == is_same


# Stands in for the replay: its rate is threads times what --length leaves.
REPLAY = """#!/bin/sh
while [ $# -gt 0 ]; do
  case $1 in --threads) threads=$2;; --length) length=$2;; esac
  shift 2
done
echo "{\\"operations\\": $((threads * 10000 / ${length:-100})), \\"seconds\\": 1}"
"""


def simulate(cli, native, builder, tmp_path, *words, replay=REPLAY, **others):
    program = native / "libexec/syncopate/replay.simulated"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(replay)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    record = builder.write(tmp_path / "some.rec")
    machine = () if "--machine" in words else ("--machine", "test-4c")
    return cli("simulate", "--from", record, *machine, *words, **others)


def test_elision_is_for_machines_with_transactions(cli, native, tmp_path):
    """Elsewhere the replay would take the lock, and what it says be told as elision's."""
    for machine, has in (("test-4c", True), ("small-2c", False)):
        done = simulate(cli, native, two_threads(), tmp_path, "--machine", machine)
        assert done.returncode == 0, done.stderr
        assert "halve the section" in done.stdout
        assert ("elide" in done.stdout) == has
        for change in ("elide", "elide=3", "halve,elide"):
            words = ("--machine", machine, "--what", change)
            done = simulate(cli, native, two_threads(), tmp_path, *words)
            assert done.returncode == (0 if has else 2)
            assert has or "machine small-2c has no transactions" in one_line(done)


def test_settings_of_the_user_are_not_those_of_the_replays(cli, native, tmp_path):
    """A lock of the user's own would stand behind every `glibc`; other programs' load is a part of
    the question."""
    set_by_user = {name: "1" for name in optiontable.rows() if name != "SYNCOPATE_MACHINE"}
    set_by_user |= {"SYNCOPATE_NATIVE": str(native), "SYNCOPATE_LOCK": "mcs"}
    given = tmp_path / "given"
    words = ("--what", "lock=glibc")
    told = f"#!/bin/sh\nenv > {given}\n"
    done = simulate(
        cli, native, two_threads(), tmp_path, *words,
        environ=set_by_user, replay=REPLAY.replace("#!/bin/sh\n", told),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    names = {line.partition("=")[0] for line in given.read_text().splitlines()}
    ours = {"SYNCOPATE_FOREIGN_BUSY", "SYNCOPATE_FOREIGN_LOAD", "SYNCOPATE_FOREIGN_REST"}
    ours |= {"SYNCOPATE_MACHINE", "SYNCOPATE_QUIET", *ownsettings.KEPT}
    assert {name for name in names if name.startswith("SYNCOPATE")} == ours


def test_table_and_json(cli, native, tmp_path):
    out = tmp_path / "answers.json"
    words = ("--threads", "1,4", "--what", "halve,lock=mcs", "--json", out)
    done = simulate(cli, native, two_threads(), tmp_path, *words)
    assert done.returncode == 0, done.stderr
    assert "halve the section" in done.stdout
    assert "As recorded:" not in done.stdout  # with 2 threads, which were not asked for
    assert "threads beyond the 2 recorded ones" in done.stdout
    answers = json.loads(out.read_text())["answers"]
    assert [(a["what"], a["threads"], a["gain"]) for a in answers] == [
        ("halve", 1, 2.0), ("lock=mcs", 1, 1.0), ("halve", 4, 2.0), ("lock=mcs", 4, 1.0),
    ]  # fmt: skip


def test_replay_stands_beside_the_record(cli, native, tmp_path):
    done = simulate(cli, native, two_threads(), tmp_path, "--threads", "2", "--what", "elide,halve")
    words = " ".join(done.stdout.split())
    assert "As recorded: 2,000,000 sections a second; replayed unchanged: 200" in words
    assert (
        "As recorded"
        not in simulate(
            cli, native, two_threads(), tmp_path, "--threads", "2", "--what", "elide"
        ).stdout
    )


def test_bad_use_is_one_line(cli, native, tmp_path):
    for words, said in (
        (("--threads", "0"), "--threads needs whole numbers"),
        (("--lock", "none such"), "no lock of"),
        (("--json", "answers"), "give the file a name in .json"),
        (("--stats",), "--stats does not go with --from"),
        (("--", "program"), "--from needs no program"),
    ):
        done = simulate(cli, native, two_threads(), tmp_path, *words)
        assert done.returncode == 2
        assert said in one_line(done)
    assert "needs --from RECORD" in one_line(cli("simulate", "--what", "halve"))
    # The record that is not there comes first, also where this machine was not measured.
    absent = cli("simulate", "--from", "absent.rec", environ={"XDG_CONFIG_HOME": str(tmp_path)})
    assert "cannot read absent.rec" in one_line(absent)


@pytest.mark.parametrize(
    ("recorder", "wait", "object_kind", "said"),
    [
        (0, "transactions", None, "it is a record of transactions"),
        (0, "park", FUTEX, "its locks are of the program's own making"),
        (0, "park", CONDITION, "no lock was seen to be used"),
        (1, "", CONDITION, "no lock was waited for"),
    ],
)
def test_why_there_is_no_lock_to_replay(cli, native, tmp_path, recorder, wait, object_kind, said):
    builder = RecordBuilder()
    builder.recorder, builder.wait_name = recorder, wait
    thread = builder.thread(10, "w")
    if object_kind is not None:
        builder.row(thread, builder.lock(0x9000, object_kind), 1, [1000])
    done = simulate(cli, native, builder, tmp_path)
    assert done.returncode == 1 and said in one_line(done)


@pytest.mark.parametrize(
    ("name", "processors"), [("small-2c", 2), ("opteron-6272", 64), ("sapphire-rapids-2s", 224)]
)
def test_threads_take_turns_beyond_the_processors_of_the_whole_machine(tmp_path, name, processors):
    """A file's cores are those of all sockets."""
    file = str(ROOT / f"machines/{name}.toml")
    assert machinefiles.summary(machinefiles.read(file))["threads"] == str(processors)
    use = replace(use_of(two_threads(), tmp_path), hold_ns=10.0)
    use.threads[:] = [replace(each, outside_ns=1e5) for each in use.threads]
    replayer = whatif.Replayer(use, file, str(tmp_path), "none")
    slices = whatif.TIME_SLICES * replayer.slice_ns / 1000
    assert replayer.microseconds(processors + 1) >= min(2 * slices, replayer.microseconds(1))
    assert replayer.processors == processors


def test_a_section_that_a_change_empties_is_not_replayed_for_ever(tmp_path):
    """A program that does nothing but hold its lock, for 10 ms each time."""
    use = replace(use_of(two_threads(), tmp_path), holds=[(10_000_000, 10_000_000, 1)],
                  hold_ns=10_000_000.0)  # fmt: skip
    use.threads[:] = [replace(each, outside_ns=0.0, away_chance=0.0) for each in use.threads]
    replayer = whatif.Replayer(use, str(ROOT / "machines/small-2c.toml"), str(tmp_path), "none")
    usual = replayer.microseconds(2)
    assert usual == whatif.SECTIONS * 10_000
    for length, moved in ((100, 0), (50, 0), (20, 0), (0, 100)):
        assert replayer.microseconds(2, length, moved) == usual
    for length in range(10):
        left = max(length * 100.0, whatif.LEAST_SECTION_NS / 1000)  # us
        assert replayer.microseconds(2, length) == pytest.approx(whatif.MOST_SECTIONS * left)


@pytest.mark.parametrize(
    "text",
    ["", "x = 1\n", "topology = 5\n", "[topology]\nsockets = 'x'\n",
     "[topology]\nsockets = 0\ncores = 1\nsmt = 1\n[os]\ntime_slice_microseconds = 1\n"],
)  # fmt: skip
def test_a_machine_file_that_lacks_something_is_one_line(tmp_path, text):
    file = tmp_path / "m.toml"
    file.write_text(text)
    with pytest.raises(Failure, match=r"m\.toml is damaged .*machine-files\.md"):
        whatif.Replayer(None, str(file), str(tmp_path), "none")
