"""The pages in a browser: what they show, how they are used, and with 10,000 locks.

Playwright drives the system's Chromium.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, run_cli
from make_record import RecordBuilder
from page_data import POLICY, WHATIF, make

from syncopate.records.recordformat import FILE_HEADER

pytest_plugins = ("chromium",)  # the fixture `new_page`

BEGIN = 1_000_000
TIMES = "\N{MULTIPLICATION SIGN}"
MICRO = "\N{MICRO SIGN}"
# What a screen reader needs: every control, chart and table has a name, every header a scope.
NAMELESS = """() => {
  const count = (list, has) => [...document.querySelectorAll(list)].filter((each) =>
    !has(each)).length;
  const named = (each) => each.hidden || each.textContent.trim() || each.labels?.length
    || each.getAttribute("aria-label") || each.getAttribute("aria-labelledby");
  return { controls: count("button, select, input, a, [tabindex='0']", named),
    charts: count("svg[role=img], canvas", (each) => each.getAttribute("aria-label")),
    headers: count("th", (each) => each.scope),
    tables: count("table", (each) => each.caption
      || each.closest("[role=region][aria-labelledby]")) };
}"""


@pytest.fixture
def visit(new_page):
    """Opens a page of ours; at the end looks whether a script failed, or something has no name."""
    opened = []

    def open_page(path, fragment="", **options):
        page = new_page(**options)
        errors = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("request", lambda request: errors.append(request.url))
        opened.append((page, errors))
        page.goto(f"file://{path}{fragment}")
        assert errors == [page.url.partition("#")[0]]  # it asks for nothing but itself
        errors.clear()
        return page

    yield open_page
    for page, errors in opened:
        assert errors == []
        assert set(page.evaluate(NAMELESS).values()) == {0}


def rows(page, table: str) -> list[list[str]]:
    """The texts of a table's cells, without opened details."""
    return page.eval_on_selector_all(
        f"{table} > tbody > tr:not(.detail)",
        "(rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent))",
    )


def labels(page, charts: str) -> list[str]:
    return page.eval_on_selector_all(charts, "(all) => all.map((x) => x.ariaLabel)")


@pytest.fixture
def page(tmp_path):
    (tmp_path / "whatif.json").write_text(json.dumps(WHATIF))
    (tmp_path / "policy.toml").write_text(POLICY)
    target = tmp_path / "page.html"
    done = run_cli(
        "report", make(tmp_path / "r"), "--html", target,
        "--whatif", tmp_path / "whatif.json", "--policy", tmp_path / "policy.toml",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return target


@pytest.mark.long
def test_report_in_a_browser(page, visit):
    shown = visit(page)
    locks = rows(shown, "#locks")
    assert [row[0] for row in locks] == ["0xa000", "0xa001"]
    assert f"1.90{TIMES} (1.70{TIMES} to 2.10{TIMES}) half as long, 8 threads" in locks[0]
    assert "elision always" in locks[0]
    waits, holds, graph = labels(shown, ".sheet svg")
    assert "waits: 40 from 384 ns to 5.00 \N{MICRO SIGN}s, most (50.0 %) between" in waits
    assert "holds: 40 from" in holds
    assert f"the heaviest: b/11 waited 100 {MICRO}s for c/12, which held 0xa000." in graph
    detail = shown.inner_text(".sheet")
    assert "that waited 10 times or more differ by a factor of 10." in detail
    assert "policy: elision always; readers do not meet; 1.25x" in detail
    policy = rows(shown, "#choices")
    assert policy[0][:3] == ["every other lock", "elision off", "transactions abort here"]
    assert [row[-1] for row in policy] == ["-", "1", "0"]
    assert len(rows(shown, "#blocks")) == shown.locator("#graph .ribbon").count() == 2


FRAMES = """() => [...document.querySelectorAll("#flame g.frame")].map((each) =>
  [each.getAttribute("name"), Number(each.getAttribute("width")),
   each.querySelector("title").textContent])"""


@pytest.mark.long
def test_flame_graph_of_waiting(page, visit):
    shown = visit(page, viewport={"width": 1200, "height": 900})

    def frames() -> dict[str, list]:
        shown.wait_for_timeout(400)  # the library draws in steps
        return {name: [round(width), told] for name, width, told in shown.evaluate(FRAMES)}

    whole = shown.evaluate("document.getElementById('flame').clientWidth")
    waits = frames()
    # All was waited from one place, for one lock: 20 times 500 ns, and 20 times 5 us.
    assert {name: told for name, (_, told) in waits.items()} == {
        "all": f"all: 110 {MICRO}s, 100.0 %",
        "0xf000": f"0xf000: 110 {MICRO}s, 100.0 %",
        "0xa000": f"0xa000: 110 {MICRO}s, 100.0 %",
        "[0xa000]": f"[0xa000]: 110 {MICRO}s, 100.0 %",
    }
    assert {width for width, _ in waits.values()} == {whole}
    (label,) = labels(shown, "#flame svg")
    assert label == (
        f"Stacks of waits, 110 {MICRO}s; the longest part, 110 {MICRO}s, 100.0 %:"
        " 0xf000 > 0xa000 > [0xa000]"
    )
    shown.fill("#find", "A000")
    assert shown.inner_text("#found") == f"2 found, in 110 {MICRO}s of 110 {MICRO}s"
    shown.fill("#find", "(")  # not a regular expression
    assert shown.inner_text("#found").startswith("0 found")
    shown.fill("#find", "")
    shown.select_option("#side", "holders")
    assert "0xa001" in frames()
    shown.select_option("#side", "waiters")
    shown.click('#flame g[name="0xa000"] rect')
    assert shown.locator("#flame g.fade").count() == 2  # what called it
    shown.click("#whole")
    assert shown.locator("#flame g.fade").count() == 0
    shown.fill("#filter", "no such lock")
    assert shown.inner_text("#flame") == "No stack was sampled for these locks."


def stacks(tmp_path) -> Path:
    """Two locks; one is waited for in two functions, three times as long in one as in the other."""
    builder = RecordBuilder()
    deep = [builder.stack(0xA000, 0xB000 + n, 0xF000) for n in range(2)]
    other = builder.stack(0xC000, 0xF000)
    thread = builder.thread(10, "a")
    hot = builder.lock(0x9000, acquisitions=1000, create=builder.stack(0xD000), holds=[100])
    cold = builder.lock(0x9100, acquisitions=1000, create=builder.stack(0xE000), holds=[100])
    builder.row(thread, hot, 1, [4000])
    builder.row(thread, cold, 1, [6000])
    builder.wait(thread, hot, BEGIN, BEGIN + 3000, deep[0])
    builder.wait(thread, hot, BEGIN + 5000, BEGIN + 6000, deep[1])
    builder.wait(thread, cold, BEGIN + 7000, BEGIN + 13000, other)
    return builder.write(tmp_path / "r")


@pytest.mark.long
def test_flame_graph_is_as_wide_as_the_time(tmp_path, visit):
    target = tmp_path / "page.html"
    assert run_cli("report", stacks(tmp_path), "--html", target).returncode == 0
    shown = visit(target)
    shown.wait_for_timeout(400)
    every = shown.evaluate(FRAMES)
    whole = max(width for _, width, _ in every)
    parts = sorted((name, round(width / whole, 2)) for name, width, _ in every)
    assert parts == [
        ("0xa000", 0.1), ("0xa000", 0.3), ("0xb000", 0.3), ("0xb001", 0.1), ("0xc000", 0.6),
        ("0xf000", 1), ("[0xd000]", 0.1), ("[0xd000]", 0.3), ("[0xe000]", 0.6), ("all", 1),
    ]  # fmt: skip


@pytest.mark.long
def test_colors_are_those_of_the_timeline_and_what_is_left_out_is_said(tmp_path, visit):
    """Of a reader-writer lock too; seven places wait for it, and the report tells five."""
    builder = RecordBuilder()
    threads = [builder.thread(10 + number) for number in range(2)]
    lock = builder.lock(0x9000, 2, acquisitions=100, first=builder.stack(0xA000, 0xF000))
    builder.row(threads[0], lock, 4, [1000] * 7)
    builder.row(threads[1], lock, 4, [1000])
    for number in range(7):
        stack, at = builder.stack(0xB000 + number, 0xF000), BEGIN + 2000 * number
        builder.wait(threads[0], lock, at, at + 1000, stack, 11, kind=4)
    target = tmp_path / "page.html"
    assert run_cli("report", builder.write(tmp_path / "r"), "--html", target).returncode == 0
    shown = visit(target)
    shown.wait_for_timeout(400)
    swatch = shown.evaluate("COLORS[0]")
    assert shown.get_attribute("#graph .ribbon", "stroke") == swatch
    leaf = '#flame g[name="[0xa000]"] rect'
    assert shown.locator(leaf).first.get_attribute("fill") == swatch
    left = f"Stacks that have less of a lock's time, 2.29 {MICRO}s in all, are left out."
    assert left in shown.inner_text("#flame-help")
    assert "write: 8 waits, mean" in shown.inner_text(".sheet")
    assert "percentiles within half an octave" in shown.inner_text("main > p.soft >> nth=-1")


@pytest.mark.long
def test_report_by_keyboard(page, visit):
    shown = visit(page)

    def focused() -> str:
        return shown.evaluate("document.activeElement.textContent.trim()")

    def tab_to(text: str) -> None:
        for _ in range(40):
            shown.keyboard.press("Tab")
            if focused() == text:
                return
        raise AssertionError(f"{text} cannot be reached; the focus is on {focused()}")

    shown.keyboard.press("Tab")
    assert focused() == "Skip to the locks"
    shown.keyboard.press("Enter")
    tab_to("Taken")
    shown.keyboard.press("Enter")
    assert (focused(), shown.get_attribute('[data-key="acquisitions"]', "aria-sort")) == (
        "Taken",
        "descending",
    )
    tab_to("0xa001")
    assert shown.locator(".sheet").count() == 1
    shown.keyboard.press("Enter")
    assert shown.evaluate("document.activeElement.ariaExpanded") == "true"
    assert shown.locator(".sheet").count() == 2
    shown.focus("#timeline")
    before = shown.evaluate("view.to - view.from")
    shown.keyboard.press("+")
    assert shown.evaluate("view.to - view.from") < before


@pytest.mark.long
@pytest.mark.parametrize("theme", ["dark", "light"])
def test_theme_is_the_readers(page, visit, theme):
    shown = visit(page, color_scheme=theme)
    assert shown.get_attribute("html", "data-theme") == theme
    light = shown.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (light == "rgb(251, 251, 250)") == (theme == "light")
    shown.click("#theme")
    assert shown.get_attribute("html", "data-theme") != theme


# What is wider than its place, and by how much.
TOO_WIDE = """() => [document.documentElement, ...document.querySelectorAll(".scroll")]
  .map((each) => [each.tagName + " " + (each.ariaLabel || each.id), each.scrollWidth
    - each.clientWidth]).filter(([, by]) => by > 0)"""


def tree(tmp_path) -> list[Path]:
    """A server and three workers with the same lock, of a long name and large numbers."""
    files = []
    for number in range(4):
        builder = RecordBuilder(0, 10**12)
        builder.command = ["/usr/lib/server/bin/server", "--configuration=/etc/server/main.conf"]
        builder.maps = f"a000-f000 r-xp 0000a000 08:01 1 /gone/{'long' * 30}\n"
        threads = [builder.thread(1000 + n, f"worker-thread-{n}") for n in range(12)]
        stack = builder.stack(0xA001, 0xB001)
        lock = builder.lock(0x90000, acquisitions=4_000_000_000, first=stack, holds=[10**6] * 40)
        for thread in threads:
            if number:
                builder.row(thread, lock, 1, [999_900_000] * 20)
                builder.wait(thread, lock, 10**9, 2 * 10**9, stack, 1001)
        image = bytearray(builder.build())
        image[24:32] = (100 + number).to_bytes(4, "little") + (100).to_bytes(4, "little")
        files.append(tmp_path / f"rec{number}")
        files[-1].write_bytes(image)
    return files


@pytest.mark.long
def test_several_processes_in_1200_pixels(tmp_path, visit):
    target = tmp_path / "page.html"
    files = tree(tmp_path)
    image = bytearray(files[0].read_bytes())
    at = FILE_HEADER.size - 8  # quiet_children
    image[at : at + 4] = (3).to_bytes(4, "little")
    files[0].write_bytes(image)
    done = run_cli("report", *files, "--html", target)
    assert done.returncode == 0, done.stderr
    shown = visit(target, viewport={"width": 1200, "height": 900})
    processes = rows(shown, "#processes")
    assert [row[1] for row in processes] == ["100", "101", "102", "103"]
    assert shown.inner_text("#tree-lost").startswith(
        "4 processes with a record (3 more, forked, came to nothing that is recorded), lost to"
    )
    (shared,) = rows(shown, "#shared-locks table")
    assert shared[1:3] == ["each its own", "3"]
    assert shown.evaluate(TOO_WIDE) == []
    assert shown.evaluate(
        "named({shared: ['x'], called: 'a', also_called: ['b', 'c', 'd', 'e']})"
    ) == ("a = b = c = d = 1 more")
    last = {"thread": "x/1", "last": 7, "waited_ns": 3000, "others_waited_ns": 4_000_000}
    for arrivals, ends in (([last], []), ([], [last]), ([], [])):
        assert shown.evaluate(
            "(lock) => cameLast(lock).map((x) => [...x.querySelectorAll('caption, tbody td')]"
            ".map((cell) => cell.textContent))",
            {"arrivals": arrivals, "region_ends": ends},
        ) == [
            *[["Who came last here", "x/1", "7", "3.00 µs"] for _ in arrivals],
            *[["Who came last at the end", "x/1", "7", "4.00 ms"] for _ in ends],
        ]
    shown.click("#processes tr:nth-child(3) button")
    assert shown.inner_text("#about").startswith("process 102,")
    parts = shown.eval_on_selector_all(
        ".sheet h3, .sheet summary", "(a) => a.map((x) => x.innerText)"
    )
    assert parts[:2] == ["Who waited", "Who held it meanwhile"]
    assert "Waits by thread: 12" in parts
    assert shown.evaluate(TOO_WIDE) == []


def test_what_has_nothing_to_show_is_not_there(tmp_path, visit, page):
    builder = RecordBuilder()
    builder.thread(10)
    target = tmp_path / "quiet.html"
    assert run_cli("report", builder.write(tmp_path / "q"), "--html", target).returncode == 0
    for path, is_there in ((target, False), (page, True)):
        shown = visit(path)
        assert [shown.is_visible(part) for part in ("#findings", "#blocks")] == [is_there] * 2


@pytest.mark.long
def test_link_to_a_lock_opens_it(page, visit):
    shown = visit(page, "#0/mutex/0xa001")
    assert shown.evaluate("document.activeElement.textContent") == "0xa001"
    assert shown.evaluate("document.activeElement.ariaExpanded") == "true"


@pytest.mark.long
def test_ten_thousand_locks(tmp_path, visit):
    builder = RecordBuilder()
    thread = builder.thread(10)
    for number in range(10_000):
        stack = builder.stack(0x100000 + 16 * number, 0xF000)
        lock = builder.lock(0x900000 + 64 * number, acquisitions=10, create=stack)
        builder.row(thread, lock, 1, [1000 + number])
    target = tmp_path / "page.html"
    assert run_cli("report", builder.write(tmp_path / "r"), "--html", target).returncode == 0
    shown = visit(target)
    assert len(rows(shown, "#locks")) == 100
    assert shown.inner_text("#more-locks") == "Show 100 more of 9,900"
    shown.click("#more-locks")
    assert len(rows(shown, "#locks")) == 200
    shown.fill("#filter", "0x120000")
    assert [row[0] for row in rows(shown, "#locks")] == ["0x120000"]
    assert shown.inner_text("#shown") == "1 of 10,000"


@pytest.mark.long
def test_large_records_are_measured():
    script = ROOT / "bench" / "report_scale.py"
    done = subprocess.run(
        [sys.executable, script, "--events", "1000000", "--locks", "200"],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("1,000,000 events, 200 locks, 16 threads: ")
    # Not that of who made the record and had all of it in memory: that is the same for each.
    memory = [line.split(" MB")[0].split()[-1] for line in done.stdout.splitlines()[3:6]]
    assert len(set(memory)) > 1, done.stdout
    assert [line.split(":")[1] for line in done.stdout.splitlines() if "Chromium" in line] == [
        " load", " sort", " filter", " zoom into the timeline"
    ]  # fmt: skip


@pytest.mark.long
def test_comparison_in_a_browser(tmp_path, visit):
    target = tmp_path / "page.html"
    before, after = make(tmp_path / "a"), make(tmp_path / "b", slow=20)
    assert run_cli("diff", before, after, "--html", target).returncode == 0
    shown = visit(target)
    changed = rows(shown, "#locks")[0]
    micro = "\N{MICRO SIGN}"
    assert changed[:4] == ["0xa000", "mutex", "both", f"110 {micro}s → 2.20 ms"]
    assert changed[4:6] == [f"+2.09 ms (20{TIMES})", "waits more"]
    told = labels(shown, ".sheet svg")[0]
    assert "before: 40 from" in told
    assert "after: 40 from" in told
    shown.select_option("#kind", "told")
    assert shown.inner_text("#shown") == "1 of 2"


@pytest.mark.long
def test_each_verdict_of_a_comparison_is_on_the_page(tmp_path, visit):
    """What moved is said to have, and too few waits are no noise."""
    sides = []
    for name, waits in (("a", (400, 400, 3)), ("b", (600, 210, 5))):
        builder = RecordBuilder()
        thread = builder.thread(11)
        for number, times in enumerate(waits):
            first = builder.stack(0xA000 + number, 0xF000)
            lock = builder.lock(0x9000 + 64 * number, acquisitions=1000, first=first)
            builder.row(thread, lock, 1, [1000] * times)
        sides.append(builder.write(tmp_path / name))
    target = tmp_path / "page.html"
    assert run_cli("diff", *sides, "--html", target).returncode == 0
    shown = visit(target)
    verdicts = {row[0]: row[5] for row in rows(shown, "#locks")}
    assert verdicts == {"0xa000": "moved", "0xa001": "moved", "0xa002": "too few waits"}
    of = {text: int(n) for n, text in (line.split("\n") for line in
          shown.locator(".card").all_inner_texts()) if n.isdigit()}  # fmt: skip
    assert of["locks changed within noise"] == 0
    assert of["locks with too few waits to tell"] == 1
    assert of["locks moved: others changed the other way"] == 2
    assert "Moved: waits for other locks changed" in shown.inner_text("main")
