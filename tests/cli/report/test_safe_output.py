"""Text that others chose is shown, never sent: no control character leaves in any form."""

import json
import os
import re
import subprocess
from types import SimpleNamespace

import pytest
from conftest import COMMAND, ROOT, run_cli
from make_record import RecordBuilder

from syncopate.base import boundedfile
from syncopate.base.errors import Failure
from syncopate.base.shown import all_shown, shown, typed, typed_file
from syncopate.tuning import verdict

ACTING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
EVIL = "\x1b]0;x\x07\u202e\x9b2J\r\n\x00"
FORMS = {
    "text": [],
    "json": ["--json"],
    "folded": ["--folded"],
    "holders": ["--folded", "--holders"],
    "html": ["--html", "/dev/stdout"],
    "perfetto": ["--perfetto", "/dev/stdout"],
    "firefox": ["--firefox", "/dev/stdout"],
}


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    """A record whose threads, command, program, libraries and measurements have such names."""
    builder = RecordBuilder()
    builder.command = ["/bin/ser\x1b[31mver", "--password", "\u202egnorw", "a\x9bb\nc"]
    builder.lock_name = "fu\x1btex"
    builder.maps = (
        "00400000-00500000 r-xp 00000000 08:01 7   /lib/ev\x1b[2Jil\u202e.so\n"
        "00600000-00700000 rw-p 00000000 08:01 7   /lib/ev\\012il\x9b.so\n"
    )
    meter = {"name": "a\x1b", "source": "b\u202e", "joules": 1}
    rejected = {"name": "c\x9b", "why": "d\x07"}
    builder.measured = json.dumps(
        {"seconds": 1, "user_seconds": 1, "system_seconds": 1, "meters": [meter],
         "rejected": [rejected]}
    )  # fmt: skip
    stack = builder.stack(0x400100, 0x400200)
    threads = [builder.thread(10 + n, name) for n, name in enumerate(("w\x1b[5m", "\u202exyz"))]
    for lock in (builder.lock(0x600100), builder.lock(0x9000, first=stack)):
        builder.row(threads[0], lock, 1, [50_000])
        builder.wait(threads[0], lock, 1_100_000, 1_150_000, stack, 11)
        builder.hold(threads[1], lock, 1_090_000, 1_150_000, stack)
    for number, name in enumerate(("d\x1b[7m", "\u202edead")):  # that wait for each other
        since, holder, lock = 1_200_000 + number, 20 + (number + 1) % 2, number + 1
        wait = (since, 0, 0x400100, lock, 1, holder, stack, 2)
        builder.thread(20 + number, name, end=0, waits=wait, seen=(since, 1_200_001, holder))
    return builder.write(tmp_path_factory.mktemp("records") / "evil\x1b[31m.rec")


@pytest.mark.parametrize("form", FORMS)
def test_no_form_of_a_report_acts(record, form):
    done = run_cli("report", *FORMS[form], record)
    assert done.returncode == 0, done.stderr
    assert "\\x1b" in done.stdout
    assert ACTING.search(done.stdout + done.stderr) is None
    if form in ("text", "json", "html"):
        assert "\\u202e" in done.stdout


def test_comparisons_do_not_act(record, tmp_path):
    told = tmp_path / "report.json"
    raw = json.loads(run_cli("report", "--json", record).stdout)
    raw["records"][0]["locks"][0]["name"] += EVIL  # whoever wrote it need not have been us
    told.write_text(json.dumps(raw))
    for form in ([], ["--json"], ["--html", "/dev/stdout"]):
        done = run_cli("diff", *form, record, told)
        assert done.returncode == 0, done.stderr
        assert ACTING.search(done.stdout + done.stderr) is None


def test_predictions_and_policies_on_a_page_do_not_act(record, tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text(
        'schema = "syncopate-policy"\nversion = 1\n[[lock]]\nvariable = "x\\u001b\\u202e"\n'
        'lock = "mcs"\nreason = "\\u009b"\n'
    )
    done = run_cli("report", "--html", "/dev/stdout", "--policy", policy, record)
    assert done.returncode == 0, done.stderr
    assert ACTING.search(done.stdout) is None
    assert "x\\\\x1b\\\\u202e" in done.stdout


def test_the_screen_of_top_does_not_act(record, monkeypatch, capsys):
    from syncopate.records import live
    from syncopate.show import topscreen

    monkeypatch.setenv("COLUMNS", "140")
    snapshot = live.snapshot([live.Tap(str(record))])
    before = live.Snapshot(snapshot.seconds - 1, 2, {}, {})
    with topscreen.Screen(f"prog {EVIL}", None) as screen:
        screen.update(before, snapshot)
    with topscreen.Lines() as lines:
        lines.update(before, snapshot)
    told = capsys.readouterr().out
    assert "\\x1b" in told
    assert ACTING.search(told) is None


def test_messages_do_not_act(tmp_path):
    name = tmp_path / "no\x1b[31m\nsuch\u202e"
    for command in (["report"], ["diff", name], ["advise"], ["run", "--policy", name, "--"]):
        done = run_cli(*command, name)
        assert done.returncode != 0
        assert ACTING.search(done.stderr) is None
        assert len(done.stderr.splitlines()) == 1


def test_what_is_written_out():
    assert shown("a\tb\nc\x1b[m\x85\u202e\u2066\udc9b\ud800") == (
        "a\\tb\\nc\\x1b[m\\x85\\u202e\\u2066\\x9b\\ud800"
    )
    assert shown("Größe λ 漢字 🔒 -_;<>&'\"") == "Größe λ 漢字 🔒 -_;<>&'\""
    assert all_shown({"a\n": ["\x1b", {"b": "\r", "c": 1}]}) == {
        "a\\n": ["\\x1b", {"b": "\\r", "c": 1}]
    }


def test_reading_says_what_it_will_not_read(tmp_path):
    (tmp_path / "fifo").touch()
    (tmp_path / "fifo").unlink()
    subprocess.run(["mkfifo", tmp_path / "fifo"], check=True)
    (tmp_path / "zero").symlink_to("/dev/zero")
    for name, what in (("fifo", "a pipe"), ("zero", "a device"), (".", "a folder")):
        for read in (boundedfile.read_json, boundedfile.read_toml):
            with pytest.raises(Failure, match=f"it is {what}; name a plain file"):
                read(str(tmp_path / name))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["fifo", "zero"])
@pytest.mark.parametrize(
    "command",
    [
        ["report", "NAME"],
        ["report", "--html", "page", "--policy", "NAME", "RECORD"],
        ["report", "--html", "page", "--whatif", "NAME", "RECORD"],
        ["diff", "RECORD", "NAME"],
        ["bench", "compare", "NAME"],
        ["advise", "NAME"],
        ["run", "--policy", "NAME", "--", "true"],
        ["run", "--", "NAME"],
        ["simulate", "--machine", "NAME", "true"],
        ["simulate", "--from", "NAME"],
    ],
)
def test_devices_and_pipes_are_refused(record, tmp_path, command, name):
    """Neither read for ever nor waited for."""
    subprocess.run(["mkfifo", "-m", "777", tmp_path / "fifo"], check=True)
    (tmp_path / "zero").symlink_to("/dev/zero")
    places = {"NAME": str(tmp_path / name), "RECORD": str(record)}
    done = run_cli(*[places.get(word, word) for word in command], cwd=tmp_path)
    assert done.returncode in (1, 2, 126, 127), done
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stderr.startswith("syncopate: ")


@pytest.mark.parametrize(
    "command",
    [
        ["report", "--html", "page", "--whatif", "DEEP", "RECORD"],
        ["report", "DEEP"],
        ["advise", "DEEP"],
        ["diff", "DEEP", "RECORD"],
    ],
)
@pytest.mark.parametrize("depth", [900, 2_000_000])
def test_deep_json_is_one_line(record, tmp_path, command, depth):
    deep = tmp_path / "deep.json"
    deep.write_text('{"a":' * depth + "1" + "}" * depth)
    places = {"DEEP": str(deep), "RECORD": str(record)}
    done = run_cli(*[places.get(word, word) for word in command], cwd=tmp_path)
    assert done.returncode in (1, 2), done
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert "Traceback" not in done.stderr


def test_deep_toml_is_one_line(tmp_path):
    deep_ones = ("a = " + "[" * 10_000, "[" + ".".join("a" * 5_000) + "]", "[" * 100_000)
    for text in (*deep_ones, "[" + ".".join("a" * 1_000_000) + "]", "a" * 3_000_000):
        deep = tmp_path / "deep.toml"
        deep.write_text(text)
        done = run_cli("run", "--policy", deep, "--", "true")
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1, done.stderr
        assert len(done.stderr) < 2000


def test_a_file_that_is_no_policy_is_told_what_one_has(tmp_path):
    (tmp_path / "p.toml").write_text("version = 1\n")
    done = run_cli("run", "--policy", tmp_path / "p.toml", "--", "true")
    assert done.stderr == (
        f'syncopate: {tmp_path}/p.toml: no policy: one has the lines schema = "syncopate-policy"'
        " and version = 1\n"
    )


@pytest.mark.long
def test_synopses_of_the_manual_pages_are_whole(tmp_path):
    command = tmp_path / "syncopate"
    words = " ".join(f"'{word}'" for word in COMMAND)
    command.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    command.chmod(0o755)
    script = ROOT / "scripts/package/manpages.sh"
    subprocess.run(["sh", script, command, tmp_path / "man"], check=True, cwd=tmp_path)
    for name in ("report", "tune", "diff", "top", "simulate"):
        page = subprocess.run(
            ["zcat", tmp_path / f"man/syncopate-{name}.1.gz"],
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        synopsis = page.partition(".SH SYNOPSIS")[2].partition(".SH ")[0]
        plain = re.sub(r"\\f.|\\,|\\/|\s+", "", synopsis.replace(".br", "").replace(".B", ""))
        usage = run_cli(name, "--help").stdout.partition("\n\n")[0].removeprefix("usage:")
        assert plain.replace("\\-", "-") == re.sub(r"\s+", "", usage), name


def test_arguments_are_left_out_when_asked(tmp_path):
    def told(*options, record="rec") -> list[str]:
        done = run_cli("report", "--json", *options, tmp_path / record)
        return json.loads(done.stdout)["records"][0]["process"]["command"]

    command = ["--", "/bin/sleep", "0.0100"]
    assert run_cli("record", "-o", tmp_path / "rec", *command).returncode == 0
    assert told() == ["/bin/sleep", "0.0100"]
    assert told("--redact") == ["/bin/sleep", "(arguments left out)"]
    assert run_cli("record", "--redact", "-o", tmp_path / "none", *command).returncode == 0
    assert told(record="none") == ["/bin/sleep", "(arguments left out)"]
    assert b"0.0100" not in (tmp_path / "none").read_bytes()
    for form in FORMS.values():
        assert "0.0100" not in run_cli("report", "--redact", *form, tmp_path / "rec").stdout


NAMES = (
    "-x", "--", "a b", "it's", "n\nl", EVIL.rstrip("\0"), "\udcff\udcfe", "é", "$(x)", "~", "*",
    "#", "a\\b", "\x1b'\\n", "-\x1b2", "\u2028é\t", "",
)  # fmt: skip


def by_a_shell(words: str, cwd=None) -> list[bytes]:
    """What a shell takes the words for, which do nothing to a terminal."""
    assert not ACTING.search(words) and "\n" not in words
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    script = os.fsencode(f"printf '%s\\0' {words}")
    done = subprocess.run(
        ["bash", "-c", script], env=environment, cwd=cwd, capture_output=True, check=True
    )
    return done.stdout.split(b"\0")[:-1]


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_a_word_that_is_to_be_typed_is_that_word(name):
    assert by_a_shell(typed(name)) == [os.fsencode(name)]
    file = f"./{name}" if name.startswith("-") else name
    assert by_a_shell(typed_file(name)) == [os.fsencode(file)]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", NAMES[:-1], ids=ascii)
def test_the_command_that_reads_a_record_can_be_typed(tmp_path, name):
    done = run_cli("record", "-o", name, "--", "sh", "-c", "(sleep 0.01); :", cwd=tmp_path)
    told = done.stderr.rpartition("to read it: syncopate ")[2].rstrip("\n")
    words = by_a_shell(told, tmp_path)
    assert words[0] == b"report"
    told_of = run_cli("report", "--json", *map(os.fsdecode, words[1:]), cwd=tmp_path)
    assert json.loads(told_of.stdout)["records"][0]["process"]["command"][0] == "sh"


def test_the_command_that_uses_a_policy_can_be_typed():
    gain = SimpleNamespace(value=1.5, low=1.2, high=1.8)
    one = SimpleNamespace(ratio=gain, rounds=6, choice=SimpleNamespace(text=lambda _: EVIL))
    for name in NAMES:
        told = verdict.better(SimpleNamespace(verdict=one), {}, name, ["./a", name])
        assert not ACTING.search(told)
        words = by_a_shell(told.rpartition("to use it: ")[2])
        file = f"./{name}" if name.startswith("-") else name
        expected = ["syncopate", "run", "--policy", file, "--", "./a", name]
        assert words == [os.fsencode(word) for word in expected]


def test_what_shows_arguments_is_readable_by_its_owner_alone(tmp_path):
    """Pages, traces and profiles, as the record is; of one that was there its owner has decided."""

    def mode(name: str) -> int:
        return (tmp_path / name).stat().st_mode & 0o777

    previous = os.umask(0o022)
    try:
        command = ["--", "/bin/sleep", "0.0100"]
        assert run_cli("record", "-o", tmp_path / "rec", *command).returncode == 0
        (tmp_path / "published").touch(0o644)
        for form in ("html", "perfetto", "firefox"):
            for name in (form, "published"):
                done = run_cli("report", f"--{form}", tmp_path / name, tmp_path / "rec")
                assert done.returncode == 0, done.stderr
            assert (mode(form), mode("published")) == (0o600, 0o644), form
        both = (tmp_path / "rec", tmp_path / "rec")
        assert run_cli("diff", "--html", tmp_path / "diff", *both).returncode == 0
        assert mode("diff") == 0o600
    finally:
        os.umask(previous)
