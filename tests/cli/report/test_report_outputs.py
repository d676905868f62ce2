"""The forms of a report: text, page, folded stacks, trace; and what the options change."""

import hashlib
import json
import os
import re
import struct
import subprocess
from html.parser import HTMLParser

import pytest
from conftest import COMMAND, ROOT, one_line, run_cli
from make_record import RecordBuilder

BEGIN = 1_000_000
SVG_NAMESPACE = "http://www.w3.org/2000/svg"  # a name, which no browser fetches
LIBRARIES = ROOT / "syncopate/show/page/libraries"  # what the pages' graphs are drawn by


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    """Two mutexes, an rwlock and a condition variable; three threads; holds that do not nest."""
    builder = RecordBuilder()
    waiting, other, holding = (builder.stack(0xA000 + n, 0xF000) for n in range(3))
    t = [builder.thread(10 + number, name) for number, name in enumerate(("a", "b<>", "c"))]
    hot = builder.lock(0x9000, acquisitions=1000, first=waiting, holds=[100] * 10)
    warm = builder.lock(0x9100, acquisitions=500, first=other)
    shared = builder.lock(0x9200, 2, acquisitions=50, first=holding)
    ready = builder.lock(0x9300, 4, first=0)
    elided = builder.lock(0x9400, acquisitions=70, first=builder.stack(0xB000))
    builder.row(t[0], hot, 1, [50_000, 70_000])
    builder.row(t[1], warm, 1, [20_000])
    builder.row(t[1], shared, 3, [3000])
    builder.row(t[1], shared, 4, [4000])
    builder.row(t[2], ready, 6, [500_000])
    builder.elision(t[0], elided, [7, 2, 5, 0, 13, 0, 1])
    builder.speculation(t[0], elided, [9, 4, 3, 0, 2, 11, 45, 1, 1200])
    builder.speculation(t[1], elided, [1, 1, 0, 0, 0, 0, 5, 1, 1000])
    builder.holder(t[0], hot, 6, [1, 2, 0])
    builder.holder(t[1], hot, 4, [1, 1, 3])
    builder.wait(t[0], hot, BEGIN, BEGIN + 50_000, waiting, 11)
    builder.wait(t[0], hot, BEGIN + 100_000, BEGIN + 170_000, waiting, 11)
    builder.wait(t[1], warm, BEGIN + 200_000, BEGIN + 220_000, other, 12)
    builder.wait(t[2], ready, BEGIN, BEGIN + 500_000, other, kind=6)
    builder.hold(t[1], hot, BEGIN, BEGIN + 60_000, holding)
    builder.hold(t[1], warm, BEGIN + 30_000, BEGIN + 90_000, holding)
    return builder.write(tmp_path_factory.mktemp("record") / "r")


def test_text(record):
    text = run_cli("report", record).stdout
    assert "Lost to locks: 4.9 % of all thread time (147 us of 3.00 ms)" in text
    assert "\x1b" not in text
    mutexes = section(text, "Mutexes")
    assert re.search(r"0xa000 +120 us +4.0 % +1,000 +0.2 %", mutexes)
    assert re.search(r"0xa001 +20.0 us +0.7 % +500 +0.2 %", mutexes)
    assert "1 more that nobody waited for, taken 77 times" in mutexes
    rwlocks = section(text, "Reader-writer locks")
    assert re.search(r"0xa002 +read +3.00 us", rwlocks)
    assert re.search(r"write +4.00 us", rwlocks)
    assert re.search(r"0x9300 +500 us +1 ", section(text, "Condition variables"))
    preempted = section(text, "Holders that did not run on")
    assert re.search(r"0xa000 +10 +2 +20.0 % +3 +3 +30.0 %$", preempted, re.MULTILINE)
    elided = section(text, "Elided sections")
    assert re.search(r"0xb000 +26 +7 +2 +5 +0 +13 +0 +1$", elided, re.MULTILINE)
    ahead = section(text, "Runs ahead of locks and barriers")
    assert re.search(r"0xb000 +10 +5 +3 +0 +2 +5\.0 +11 +2 +\+10%$", ahead, re.MULTILINE)
    assert re.search(r"waited 100.0 % +held by 100.0 %", text)
    assert re.search(r"a/10 +b<>/11 +0xa000 +120 us +85.7 %", section(text, "Who blocks whom"))


def section(text: str, title: str) -> str:
    """The lines of a section, up to the next title (a line that is not indented after a blank)."""
    start = text.index(f"\n{title}")
    return text[start : (text + "\n\n").index("\n\n", start + 2)]


@pytest.mark.parametrize("columns", ["60", "80", "200"])
def test_text_fits_the_width(record, columns):
    text = run_cli("report", record, environ={"COLUMNS": columns}).stdout
    assert max(map(len, text.splitlines())) <= int(columns)
    assert "0xa000" in text
    assert "120 us" in text


def test_ascii_terminals_get_text_too(record):
    done = run_cli("report", record, environ={"LC_ALL": "C", "PYTHONUTF8": "0"})
    assert done.returncode == 0
    assert "0xa000" in done.stdout


def documents(*arguments) -> dict:
    done = run_cli("report", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["records"][0]


def test_one_thing_is_not_called_several(tmp_path):
    builder = RecordBuilder()
    made, other = builder.stack(0xA000), builder.stack(0xB000)
    threads = [builder.thread(10 + number) for number in range(2)]
    lock = builder.lock(0x9000, acquisitions=1, create=other, holds=[1000])
    builder.row(threads[0], lock, 2, [900_000])
    builder.wait(threads[0], lock, BEGIN, BEGIN + 900_000, kind=2, used=(1, 1, 0))
    for number in range(13):
        builder.lock(0xA000 + 64 * number, acquisitions=1, create=made)
    record = builder.write(tmp_path / "r")
    text = " ".join(run_cli("report", record).stdout.split())
    assert "of 1 hold 1 was timed" in text and "1 of 1 wait (certain)" in text
    assert "1 tick of the clock on a processor, 1 wake-up (from 1 wait)" in text
    assert "13 more that nobody waited for, taken 13 times" in text  # which are one row
    shown = " ".join(run_cli("report", "--top", "1", record).stdout.split())
    assert "1 more row: use --top" in shown


def test_pairs_of_many_threads_are_told_by_their_names(tmp_path):
    """--json has none of these pairs, but those of threads."""
    builder = RecordBuilder()
    letters = "abcdefghijklm"
    lock = builder.lock(0x9000, acquisitions=100, first=builder.stack(0xA000))
    for number, letter in enumerate(letters):
        thread = builder.thread(10 + number, f"{letter}-1")
        builder.row(thread, lock, 1, [1000])
        builder.wait(thread, lock, BEGIN, BEGIN + 1000, holder=99)
    text = run_cli("report", builder.write(tmp_path / "r")).stdout
    assert "  3 more pairs of such names; --json has each thread's" in text


def test_top_sort_and_lock(record):
    def names(*arguments):
        return [lock["name"] for lock in documents(*arguments, record)["locks"]]

    assert names()[:3] == ["0xa000", "0xa001", "0xa002"]
    assert names("--sort", "max")[0] == "0x9300"
    assert names("--sort", "acquisitions")[:2] == ["0xa000", "0xa001"]
    assert names("--lock", "^0xa00[12]$") == ["0xa001", "0xa002"]
    one = documents("--top", "1", record)
    assert sorted(lock["object"] for lock in one["locks"]) == ["condition", "mutex", "rwlock"]
    assert one["hidden"] == 2
    assert one["lost_ns"] == 147_000


def test_preempted_holders_are_counted_by_lock(record):
    by_name = {lock["name"]: lock["hold"] for lock in documents(record)["locks"]}
    assert by_name["0xa000"]["interrupted"] == {
        "watched": 10, "preempted": 2, "preemptions": 3, "slept": 3, "faulted": 0,
        "slept_share": None, "kept_processor": None, "pages": None,
        "blockers": {"share": 1.0, "watched": 4, "preempted": 1, "slept": 3, "faulted": 0},
    }  # fmt: skip
    assert all(hold is None for name, hold in by_name.items() if name != "0xa000")


def test_blocks_follow_the_choice_of_locks(record):
    assert [b["lock"] for b in documents("--lock", "0xa001", record)["blocks"]] == ["0xa001"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "name a FILE: syncopate.rec"),
        (["--top", "0", "x"], "--top 0"),
        (["--top", "many", "x"], "invalid int value"),
        (["--sort", "color", "x"], "invalid choice"),
        (["--sort", "lsot", "x"], "'lsot' (did you mean lost?) (choose from lost, "),
        (["--holders", "x"], "--holders changes --folded"),
        (["--json", "--folded", "x"], "choose one"),
        (["--frobnicate", "x"], "unrecognized arguments: --frobnicate"),
        (["--perfeto=y", "x"], "unrecognized arguments: --perfeto=y (did you mean --perfetto or "),
    ],
)
def test_bad_use(arguments, said):
    done = run_cli("report", *arguments)
    assert done.returncode == 2
    assert said in one_line(done)


@pytest.mark.parametrize("form", [[], ["--perfetto", "trace.json"], ["--firefox", "trace.json"]])
def test_lock_must_be_a_regular_expression(record, form, tmp_path):
    done = run_cli("report", "--lock", "*(", *form, record, cwd=tmp_path)
    assert done.returncode == 2
    assert "is no regular expression" in one_line(done)


@pytest.mark.parametrize(
    ("words", "pattern", "said"),
    [
        (["report"], "nowhere", "No lock has a name that matches 'nowhere'."),
        (["report"], "0xb000", "No thread waited for a lock whose name matches '0xb000'."),
        (["diff", "r"], "nowhere", "No lock has a name that matches 'nowhere'."),
    ],
)
def test_where_no_name_matches_waits_are_not_denied(record, words, pattern, said):
    done = run_cli(*words, "--lock", pattern, record.name, cwd=record.parent)
    assert done.returncode == 0
    assert said in done.stdout
    assert "Nothing to do" not in done.stdout
    assert done.stdout.count("No thread waited") == said.count("No thread waited")


def test_several_records(record, tmp_path):
    idle = RecordBuilder()
    idle.command = ["/bin/idle", "a b"]
    text = run_cli("report", record, idle.write(tmp_path / "idle")).stdout
    assert "/usr/bin/server --threads 2" in text
    assert f"{tmp_path}/idle: /bin/idle 'a b': no lock to show" in text
    (tmp_path / "link").symlink_to(record)
    for again in (record, tmp_path / "link"):
        done = run_cli("report", record, again)
        assert done.returncode == 2
        assert f"{again} is named twice" in one_line(done)


def test_one_recording_counts_once(record, tmp_path):
    """As a copy, also one that was made while it went on; and in a bundle, beside the record or in
    two bundles."""
    copy, earlier, other = (tmp_path / name for name in ("copy", "earlier", "other"))
    copy.write_bytes(record.read_bytes())
    earlier.write_bytes(record.read_bytes())
    with earlier.open("r+b") as file:  # neither its end was written nor that it was one
        file.seek(56)
        file.write(struct.pack("<QQI", 0, 0, 0))
    RecordBuilder().write(other)
    one, two = tmp_path / "one.bundle", tmp_path / "two.bundle"
    assert run_cli("report", "--bundle", one, record, other).returncode == 0
    assert run_cli("report", "--bundle", two, copy).returncode == 0
    assert run_cli("report", one).returncode == 0
    copies = ((record, copy), (earlier, record), (one, record), (two, one), (record, other, two))
    for pair in copies:
        done = run_cli("report", *pair)
        assert done.returncode == 2
        assert "are of one recording, which would count twice" in one_line(done)


def test_locks_of_several_processes_are_those_alone(tmp_path):
    records = []
    for number in range(2):
        builder = RecordBuilder()
        thread = builder.thread(10)
        for place in (0xA000, 0xB000 + 0x1000 * number):
            stack = builder.stack(place, 0xF000)
            builder.row(thread, builder.lock(place, acquisitions=9, create=stack), 1, [place])
        records.append(builder.write(tmp_path / str(number)))
    text = run_cli("report", *records).stdout
    told = text.partition("The same locks in several processes\n")[2].partition("\n\n")[0]
    assert [line.split()[:3] for line in told.splitlines()[1:]] == [["0xa000", "-", "2"]]


def test_folded_stacks_of_waiters_and_holders(record):
    waiters = run_cli("report", "--folded", record).stdout.splitlines()
    assert "0xf000;0xa000;[0xa000] 120" in waiters
    assert "0xf000;0xa001;[0xa001] 20" in waiters
    assert all(re.fullmatch(r"\S.*;\[.*\] \d+", line) for line in waiters)
    one = run_cli("report", "--folded", "--top", "1", "--sort", "max", record).stdout.splitlines()
    assert 0 < len(one) < len(waiters)
    holders = run_cli("report", "--folded", "--holders", record).stdout.splitlines()
    assert "0xf000;0xa002;[0xa000] 120" in holders


def test_perfetto_trace(record, tmp_path):
    target = tmp_path / "trace.json"
    done = run_cli("report", "--perfetto", target, record)
    assert done.stderr == f"syncopate: wrote {target}\n"
    events = json.loads(target.read_text())["traceEvents"]
    names = {event["tid"]: event["args"]["name"] for event in events if event["ph"] == "M"}
    slices = [event for event in events if event["ph"] == "X"]
    waits = [(e["tid"], e["ts"], e["dur"], e["name"]) for e in slices if e["cat"] == "mutex"]
    assert (10, 0.0, 50.0, "wait 0xa000") in waits
    assert (10, 100.0, 70.0, "wait 0xa000") in waits
    holds = [event for event in slices if event["cat"] == "hold"]
    assert {names[hold["tid"]] for hold in holds} == {"b<>/11 holds"}
    assert len({hold["tid"] for hold in holds}) == 2  # they overlap without nesting
    assert holds[0]["args"]["stack"] == ["0xa002", "0xf000"]


class Page(HTMLParser):
    """Checks that tags are balanced, and keeps what matters."""

    VOID = frozenset({"meta", "input", "br"})

    def __init__(self):
        super().__init__()
        self.open: list[str] = []
        self.references: list[str] = []
        self.ids: set[str] = set()
        self.scripts: dict[str | None, str] = {}
        self._script: str | None = None

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        named = [attributes[key] for key in ("src", "href") if key in attributes]
        self.references += [name for name in named if not name.startswith("#")]
        self.ids |= {attributes["id"]} if "id" in attributes else set()
        self._script = attributes.get("type", "script")
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[self._script] = self.scripts.get(self._script, "") + data


def test_page_is_self_contained_and_holds_the_data(record, tmp_path):
    target = tmp_path / "page.html"
    assert run_cli("report", "--html", target, record).returncode == 0
    text = target.read_text()
    page = Page()
    page.feed(text)
    page.close()
    assert page.open == []
    assert page.references == []
    own = text.replace(SVG_NAMESPACE, "")
    for library in LIBRARIES.glob("*.js"):  # they name namespaces, too
        code = library.read_text().rstrip("\n").replace(SVG_NAMESPACE, "")
        assert code in own
        own = own.replace(code, "")
    assert not re.search(r"https?://|@import|url\(|@INCLUDE", own)
    assert {"locks", "timeline", "legend", "blocks", "theme"} <= page.ids
    data = json.loads(page.scripts["application/json"])
    assert data["records"][0]["lost_ns"] == 147_000
    (line,) = data["timelines"]
    assert line["total"] == 4
    assert [0, 100.0, 70.0, line["names"].index("0xa000"), "mutex"] in line["rows"]
    script = page.scripts["script"]
    assert set(re.findall(r'\bat\("(\w+)"\)', script)) <= page.ids


def test_libraries_of_pages_are_those_of_their_packages():
    """scripts/page_libraries.py writes them and their sums."""
    sums = [line.split() for line in (LIBRARIES / "SHA256SUMS").read_text().splitlines()]
    found = {path.name for path in LIBRARIES.iterdir()}
    assert found == {name for _, name in sums} | {"SHA256SUMS", "libraries.json"}
    for wanted, name in sums:
        assert hashlib.sha256((LIBRARIES / name).read_bytes()).hexdigest() == wanted, name
    listed = json.loads((LIBRARIES / "libraries.json").read_text())
    assert {here for of in listed.values() for here in of["files"].values()} == {n for _, n in sums}


def test_page_survives_hostile_names(tmp_path):
    builder = RecordBuilder()
    builder.command = ["</script><script>alert(1)</script>", "@SYNCOPATE_DATA@"]
    target = tmp_path / "page.html"
    run_cli("report", "--html", target, builder.write(tmp_path / "r"))
    page = Page()
    page.feed(target.read_text())
    data = json.loads(page.scripts["application/json"])
    assert data["records"][0]["process"]["command"] == builder.command
    assert page.open == []


@pytest.mark.parametrize("page", ["report", "diff"])
def test_template_keeps_its_one_mark(page):
    template = (ROOT / f"syncopate/show/page/{page}.html").read_text()
    assert template.count("@SYNCOPATE_DATA@") == 1


@pytest.mark.parametrize("form", ["--html", "--perfetto", "--firefox"])
def test_unwritable_output(record, form):
    done = run_cli("report", form, "/no/such/folder/out", record)
    assert done.returncode == 1
    assert "cannot write /no/such/folder/out" in one_line(done)


def test_device_as_output_stays_what_it_is(record, tmp_path):
    done = run_cli("report", "--perfetto", "/dev/stdout", record)
    assert (done.returncode, done.stderr) == (0, "syncopate: wrote /dev/stdout\n")
    assert json.loads(done.stdout)["traceEvents"]
    into = tmp_path / "standard"
    with into.open("w") as file:
        command = [*COMMAND, "report", "--perfetto", "/dev/stdout", record]
        subprocess.run(command, stdout=file, check=True)
    assert json.loads(into.read_text())["traceEvents"]


@pytest.mark.parametrize("form", ["--html", "--perfetto", "--firefox"])
def test_link_as_output_is_not_followed(record, tmp_path, form):
    other, link = tmp_path / "other", tmp_path / "link"
    other.write_text("older")
    link.symlink_to(other)
    done = run_cli("report", form, link, record)
    assert done.returncode == 1
    assert f"{link} is a symbolic link; name the file itself" in one_line(done)
    assert other.read_text() == "older"
    assert sorted(tmp_path.iterdir()) == [link, other]


def test_full_disk_leaves_nothing_behind(record):
    done = run_cli("report", "--json", record, preexec_fn=small_files)
    assert done.returncode == 0  # standard output is a pipe: the limit is for files
    done = run_cli(
        "report", "--html", "page.html", record, preexec_fn=small_files, cwd=record.parent
    )
    assert done.returncode == 1
    assert "cannot write page.html: File too large" in one_line(done)
    assert [path.name for path in record.parent.iterdir()] == ["r"]


def small_files():
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_reader_that_leaves_early(record, form):
    read, write = os.pipe()
    os.close(read)
    process = subprocess.Popen(
        [*COMMAND, "report", *form, record], stdout=write, stderr=subprocess.PIPE, text=True
    )
    os.close(write)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (141, "")


def test_what_is_chosen_to_be_shown_changes_no_view_of_all(tmp_path):
    """Nor is what costs most of the chosen ones what costs most."""
    records = []
    for number in range(2):
        builder = RecordBuilder()
        builder.begun = iter([10**18 + number])
        thread = builder.thread(10)
        # The second process loses less to it than to ten others.
        for at in range(12):
            stack = builder.stack(0xA000 + at, 0xF000)
            lost = 1000 if at == 0 and number else 50_000 - 1000 * at
            builder.row(thread, builder.lock(0x9000 + 64 * at, first=stack, holds=[at + 1]), 1,
                        [lost])  # fmt: skip
        records.append(builder.write(tmp_path / str(number)))

    def view(*options):
        return json.loads(run_cli("report", "--json", *options, *records).stdout)["processes"]

    whole = view()
    assert [each["worst"] for each in whole["tree"]] == ["0xa000", "0xa001"]
    first = next(each for each in whole["locks"] if each["name"] == "0xa000")
    assert (first["processes"], first["lost_ns"]) == (2, 51_000)
    assert view("--sort", "hold", "--top", "1") == whole
    assert [each["name"] for each in view("--lock", "a00b")["locks"]] == ["0xa00b"]
    assert view("--lock", "a00b")["tree"] == whole["tree"]
    text = run_cli("report", *records).stdout
    assert "What costs most\n" in text
    chosen = run_cli("report", "--lock", "a001", records[0]).stdout
    assert "What costs most of those chosen\n" in chosen


def test_what_is_of_no_line_is_said_to_be_of_none(tmp_path):
    """As a native method of Java's."""
    builder = RecordBuilder()
    builder.recorder = 2
    builder.maps = "name f000 java.lang.Thread.sleep\tThread.java\t0\tX\n"
    builder.maps += "name f100 J.work\tJ.java\t7\tX\n"
    stack = builder.stack(0xF000, 0xF100)
    thread = builder.thread(10)
    lock = builder.lock(0x9000, first=stack)
    builder.row(thread, lock, 1, [900_000])
    builder.wait(thread, lock, BEGIN, BEGIN + 900_000, stack)
    record = builder.write(tmp_path / "r")
    text = run_cli("report", record).stdout
    assert "java.lang.Thread.sleep Thread.java\n" in re.sub(" +held by.*| +$", "", text, flags=re.M)
    assert "Thread.java:0" not in text and "J.java:7" in text
    assert "Thread.java:0" not in json.dumps(documents(record))
