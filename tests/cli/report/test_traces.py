"""Traces for Perfetto and profiles for the Firefox Profiler: their form, and what those make of
them.

The long tests open them with those programs' own readers: the trace processor of Perfetto, and the
Firefox Profiler's loader as `profiler-cli` has it. scripts/setup.sh puts both into build/node.
"""

import json
import os
import subprocess
import time
from pathlib import Path

import pytest
from conftest import ROOT, run_cli
from make_record import RecordBuilder

BEGIN = 1_000_000
NODE = ROOT / "build/node"
BEGUN = 1_790_000_000 * 10**9  # of the first process, in nanoseconds of the clock
LATER = 250_000  # nanoseconds from the first process's start to the second's


def make(path: Path, process: int = 100, started: int = 0) -> Path:
    """Two threads, two mutexes and a condition variable; holds that do not nest."""
    builder = RecordBuilder()
    builder.command = ["/usr/bin/server\x1b[31m", "--port", "80"]
    inner, other, outer = (builder.stack(0xA000 + n, 0xF000) for n in range(3))
    a, b = builder.thread(process, "main"), builder.thread(process + 1, "b<>")
    hot, warm = (builder.lock(0x9000 + 256 * n, acquisitions=9, first=inner) for n in range(2))
    ready = builder.lock(0x9300, 4, first=outer)
    builder.row(a, hot, 1, [50_000, 70_000])
    builder.row(b, warm, 1, [20_000])
    builder.row(b, ready, 6, [500_000])
    builder.wait(a, hot, BEGIN + 100_000, BEGIN + 170_000, inner, process + 1)
    builder.wait(a, hot, BEGIN, BEGIN + 50_000, inner, process + 1, 3)
    builder.wait(b, warm, BEGIN + 200_000, BEGIN + 220_000, other, process)
    builder.wait(b, ready, BEGIN + 300_000, BEGIN + 800_000, other, kind=6)
    builder.hold(b, hot, BEGIN, BEGIN + 60_000, outer)
    builder.hold(b, warm, BEGIN + 30_000, BEGIN + 90_000, outer)
    image = bytearray(builder.build())
    image[24:28] = process.to_bytes(4, "little")
    realtime = BEGUN + started
    image[48:56] = realtime.to_bytes(8, "little")  # file_header's start_realtime_ns
    path.write_bytes(image)
    return path


@pytest.fixture
def records(tmp_path):
    return [make(tmp_path / "one"), make(tmp_path / "two", 200, LATER)]


def written(form: str, target: Path, *arguments) -> dict:
    done = run_cli("report", f"--{form}", target, *arguments)
    assert (done.returncode, done.stderr) == (0, f"syncopate: wrote {target}\n")
    return json.loads(target.read_text())


def columns_agree(table: dict) -> None:
    columns = {key: of for key, of in table.items() if isinstance(of, list)}
    assert {key: len(of) for key, of in columns.items()} == dict.fromkeys(columns, table["length"])


def test_profile_is_one_of_its_version(records, tmp_path):
    """The format's rules: columns of one length, indices into tables that are there."""
    profile = written("firefox", tmp_path / "profile.json", *records)
    assert profile["meta"]["preprocessedProfileVersion"] == 61
    shared, threads = profile["shared"], profile["threads"]
    for name, table in shared.items():
        if name != "stringArray":
            columns_agree(table)

    def within(indices, table: str | list, spare=(None,)) -> bool:
        length = len(table) if isinstance(table, list) else shared[table]["length"]
        return all(index in spare or 0 <= index < length for index in indices)

    strings, stacks = shared["stringArray"], shared["stackTable"]
    assert within(stacks["frame"], "frameTable", ())
    assert all(before is None or before < at for at, before in enumerate(stacks["prefix"]))
    assert within(shared["frameTable"]["func"], "funcTable", ())
    assert within(shared["frameTable"]["category"], profile["meta"]["categories"], ())
    assert within(shared["funcTable"]["name"], strings, ())
    assert within(shared["funcTable"]["resource"], "resourceTable", (-1,))
    assert within(shared["funcTable"]["source"], "sources")
    assert within(shared["resourceTable"]["name"], strings, ())
    assert within(shared["sources"]["filename"], strings, ())
    schemas = {of["name"]: of for of in profile["meta"]["markerSchema"]}
    for thread in threads:
        columns_agree(thread["samples"])
        columns_agree(thread["markers"])
        assert within(thread["samples"]["stack"], "stackTable", ())
        assert thread["samples"]["time"] == sorted(thread["samples"]["time"])
        assert within(thread["markers"]["name"], strings, ())
        for data in thread["markers"]["data"]:
            named = {field["key"] for field in schemas[data["type"]]["fields"]}
            assert set(data) - {"type", "cause"} <= named
            assert within([data[key] for key in named & set(data)], strings, ())
            assert within([data["cause"]["stack"]], "stackTable", ())


def stack_of(profile: dict, stack: int) -> list[str]:
    """Function names, the outermost first."""
    shared = profile["shared"]
    names = []
    while stack is not None:
        function = shared["frameTable"]["func"][shared["stackTable"]["frame"][stack]]
        names.insert(0, shared["stringArray"][shared["funcTable"]["name"][function]])
        stack = shared["stackTable"]["prefix"][stack]
    return names


def test_profile_says_what_the_record_says(records, tmp_path):
    profile = written("firefox", tmp_path / "profile.json", *records)
    strings, threads = profile["shared"]["stringArray"], profile["threads"]
    told = [(thread["name"], thread["pid"], thread["isMainThread"]) for thread in threads]
    assert told == [("main/100", "100", True), ("b<>/101", "100", False),
                    ("main/200", "200", True), ("b<>/201", "200", False)]  # fmt: skip
    samples = threads[0]["samples"]
    assert samples["time"] == [0, 0.1]
    assert samples["weight"] == [0.15, 0.07]  # milliseconds; the first stands for three
    assert samples["weightType"] == "tracing-ms"
    assert stack_of(profile, samples["stack"][0]) == ["0xf000", "0xa000", "[0xa000]"]
    assert threads[2]["samples"]["time"] == [LATER / 1e6, (LATER + 100_000) / 1e6]
    markers = threads[1]["markers"]
    names = profile["meta"]["categories"]
    rows = [
        (strings[name], names[category]["name"], start, end, strings[data["lock"]],
         strings[data["holder"]] if "holder" in data else None)
        for name, category, start, end, data in zip(
            *(markers[key] for key in ("name", "category", "startTime", "endTime", "data")),
            strict=True,
        )
    ]  # fmt: skip
    assert rows == [
        ("hold", "Holds", 0, 0.06, "0xa000", None),
        ("hold", "Holds", 0.03, 0.09, "0xa000", None),
        ("wait", "Waits for locks", 0.2, 0.22, "0xa000", "main/100"),
        ("wait", "Other waits", 0.3, 0.8, "0xa002 (condition)", None),
    ]


def test_profile_of_some_locks(records, tmp_path):
    profile = written("firefox", tmp_path / "profile.json", records[0], "--lock", "condition")
    assert [thread["markers"]["length"] for thread in profile["threads"]] == [0, 1]


def test_processes_of_a_trace_have_one_clock(records, tmp_path):
    events = written("perfetto", tmp_path / "trace.json", *records)["traceEvents"]
    begins = {pid: min(e["ts"] for e in events if e["ph"] == "X" and e["pid"] == pid)
              for pid in (100, 200)}  # fmt: skip
    assert begins == {100: 0, 200: LATER / 1000}


# ---- Opened by their own programs ----------------------------------------------------------------


def tool(*path: str) -> Path:
    found = NODE.joinpath(*path)
    assert found.exists(), f"no {found}: scripts/setup.sh long puts it there, with npm"
    return found


def asked(trace: Path, query: str) -> list[dict]:
    folder = tool("trace-processor")
    driver = Path(__file__).with_name("trace_processor.mjs")
    done = subprocess.run(
        ["node", driver, folder, trace, query], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.long
def test_trace_in_perfettos_trace_processor(records, tmp_path):
    trace = tmp_path / "trace.json"
    written("perfetto", trace, *records)
    slices = asked(
        trace,
        "select upid, thread.name as thread, slice.name as name, ts, dur, category from slice"
        " join thread_track on track_id = thread_track.id join thread using (utid)"
        " join process using (upid) where process.pid = 200 order by ts, dur",
    )
    begins = LATER
    told = [(s["thread"], s["name"], s["ts"] - begins, s["dur"], s["category"]) for s in slices]
    assert told == [
        ("main/200", "wait 0xa000", 0, 50_000, "mutex"),
        ("b<>/201 holds", "hold 0xa000", 0, 60_000, "hold"),
        ("b<>/201 holds", "hold 0xa000", 30_000, 60_000, "hold"),
        ("main/200", "wait 0xa000", 100_000, 70_000, "mutex"),
        ("b<>/201", "wait 0xa000", 200_000, 20_000, "mutex"),
        ("b<>/201", "wait 0xa002 (condition)", 300_000, 500_000, "condition"),
    ]
    wrong = asked(trace, "select name from stats where value > 0 and severity != 'info'")
    assert wrong == []


@pytest.mark.long
def test_profile_in_the_firefox_profiler(records, tmp_path):
    target = tmp_path / "profile.json"
    written("firefox", target, *records)
    cli = tool("firefox-profiler", "dist", "profiler-cli.js")
    environ = {**os.environ, "PROFILER_CLI_SESSION_DIR": str(tmp_path / "s")}
    # Its own `load` gives the process that keeps the profile half a second to begin.
    keeper = subprocess.Popen(
        ["node", cli, "--daemon", target, "--session", "it"],
        env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip

    def said(*arguments) -> subprocess.CompletedProcess:
        command = ["node", cli, *arguments, "--session", "it"]
        return subprocess.run(command, capture_output=True, text=True, env=environ, timeout=120)

    def say(*arguments) -> str:
        done = said(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    try:
        ends = time.monotonic() + 60
        while said("status").returncode:
            assert keeper.poll() is None, keeper.stdout.read()
            assert time.monotonic() < ends
        threads = json.loads(say("thread", "list", "--json"))
        listed = {(t["name"], t["pid"]) for t in threads["threads"]}
        assert listed == {("main/100", "100"), ("b<>/101", "100"), ("main/200", "200"),
                          ("b<>/201", "200")}  # fmt: skip
        down = say("thread", "samples-top-down", "--thread", "t-0")
        assert "[0xa000] [total: 100.0%, self: 100.0%]" in down
        marks = say("thread", "markers", "--thread", "t-1", "--list")
        assert "wait for 0xa002 (condition)" in marks
        assert marks.count("hold of 0xa000") == 2
    finally:
        keeper.kill()
        keeper.wait()
