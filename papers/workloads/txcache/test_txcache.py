"""The cache in every stage: loads that know every answer, on both transaction libraries; the
protocol, word by word, with memcached as the oracle; what the maintenance threads do; bad use."""

import argparse
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "papers/figures")]

import common  # noqa: E402
import gcc_tm_fig9  # noqa: E402
import gcc_tm_fig11  # noqa: E402
import servers  # noqa: E402
import sweep  # noqa: E402

from syncopate.base import compactjson  # noqa: E402

BUILD = Path(os.environ["SYNCOPATE_BUILD_DIR"]) / "papers/workloads" / "txcache"
OURS = Path(os.environ["SYNCOPATE_NATIVE"]) / "lib" / "tm"
LOCKS = ["txcache", "txcache.semaphores"]
STAGES = ("relaxed", "callable", "max", "lib", "on-commit")
TRANSACTIONS = [f"txcache.{branch}-{stage}" for stage in STAGES for branch in ("ip", "it")]
BUILT = [name for name in LOCKS + TRANSACTIONS if (BUILD / name).exists()]
TRANSACTIONS_BUILT = [name for name in TRANSACTIONS if name in BUILT]
SMALL = ("--memory", "256k", "--page", "16k", "--use-interval", "0", "--hash-power", "8")
LAST = TRANSACTIONS[-1]
LIMIT = 100  # seconds for what takes a part of one, on a busy machine


def environment(library: str) -> dict[str, str]:
    """`library`: empty for GCC's, or what SYNCOPATE_TM is to be for ours."""
    drop = ("SYNCOPATE_TM", "LD_LIBRARY_PATH", "LD_PRELOAD")
    clean = {key: value for key, value in os.environ.items() if key not in drop}
    return clean | ({"LD_LIBRARY_PATH": str(OURS), "SYNCOPATE_TM": library} if library else {})


def run(program: str, *words: str, library: str = "") -> subprocess.CompletedProcess:
    return subprocess.run(
        [BUILD / program, *words],
        env=environment(library),
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )


def load(program: str, *words: str, threads: int = 2, library: str = "") -> dict:
    """A load's line of JSON; the program itself has checked every answer and every invariant."""
    done = run(program, "--self-load", f"7,3000,{threads}", *words, library=library)
    assert done.returncode == 0, done.stdout + done.stderr
    (line,) = done.stdout.splitlines()
    result = json.loads(line)
    assert result["consistent"] is True
    assert result["operations"] == 3000 * threads
    return result


# ---- loads -------------------------------------------------------------------------------------


@pytest.mark.parametrize("program", BUILT)
def test_every_stage(program):
    """With room for everything, and the table growing under the threads."""
    for threads in (1, 2, 4):
        result = load(program, "--hash-power", "8", threads=threads)
        assert result["evictions"] == result["lost"] == 0
        assert result["buckets"] == 256 << result["expansions"]
        assert result["expansions"] >= (threads > 1)  # enough keys for that


@pytest.mark.parametrize("program", BUILT)
def test_every_stage_with_little_memory(program):
    """Items make room for others, and pages change their class."""
    for threads in (1, 4):
        result = load(program, *SMALL, threads=threads)
        assert result["evictions"] > 100
        assert result["pages_moved"] > 0


@pytest.mark.sampled(3)
@pytest.mark.parametrize("library", ["auto", "encounter_time", "norec", "lazy", "tl2", "two_phase",
                                     "encounter_time:hourglass", "norec:none"])  # fmt: skip
@pytest.mark.parametrize("program", [p for p in TRANSACTIONS_BUILT if "relaxed" not in p])
def test_on_our_library(program, library):
    load(program, "--hash-power", "8", library=library)
    load(program, *SMALL, threads=4, library=library)


def test_table_really_grows_when_asked():
    """The woken thread says so: each growth once, to twice the size, in order."""
    done = run("txcache", "--self-load", "1,6000,2", "--hash-power", "8", "--verbose", "1")
    result = json.loads(done.stdout)
    grown = [int(line.split()[-1]) for line in done.stderr.splitlines() if "has grown" in line]
    assert grown == [256 << n for n in range(1, result["expansions"] + 1)]
    assert result["expansions"] >= 1


# ---- the paper's tables ------------------------------------------------------------------------


def serialized(program: str) -> tuple[int, int]:
    result = load(program, "--hash-power", "8", library="norec")
    assert result["transactions"] > 3000
    return result["in_flight_switch"], result["start_serial"]


@pytest.mark.skipif(not TRANSACTIONS_BUILT, reason="the compiler has no -fgnu-tm")
@pytest.mark.parametrize("branch", ["ip", "it"])
def test_stages_serialize_less_and_less(branch):
    counts = {stage: serialized(f"txcache.{branch}-{stage}") for stage in STAGES}
    assert counts["relaxed"][1] > 1000  # calls of other files' functions: begun alone
    assert sum(counts["callable"]) > 1000
    assert counts["callable"][1] < 10  # the compiler cannot tell any more
    # Volatiles and reference counts were a part of it; where an item's section is a transaction,
    # it still compares keys by memcmp.
    least, most = (500, sum(counts["callable"])) if branch == "it" else (0, 50)
    assert least <= sum(counts["max"]) < most
    # The library: what is left is waking the maintenance threads.
    assert sum(counts["lib"]) < 50
    assert counts["on-commit"] == (0, 0)


def test_locks_run_no_transactions():
    for program in LOCKS:
        assert load(program)["transactions"] == 0


# ---- the protocol --------------------------------------------------------------------------------

LONG = b"k" * 251
LARGE = b"v" * 300_000
SCRIPT = [  # what is sent, and memcached's reply
    (b"get a\r\n", b"END\r\n"),
    (b"set a 5 0 3\r\nabc\r\n", b"STORED\r\n"),
    (b"get a\r\n", b"VALUE a 5 3\r\nabc\r\nEND\r\n"),
    (b"get a missing a\r\n", b"VALUE a 5 3\r\nabc\r\nVALUE a 5 3\r\nabc\r\nEND\r\n"),
    (b"add a 1 0 1\r\nx\r\n", b"NOT_STORED\r\n"),
    (b"add b 1 0 1\r\nx\r\n", b"STORED\r\n"),
    (b"replace c 1 0 1\r\nx\r\n", b"NOT_STORED\r\n"),
    (b"replace b 2 0 2\r\nyz\r\n", b"STORED\r\n"),
    (b"append b 9 0 2\r\n!!\r\n", b"STORED\r\n"),
    (b"prepend b 9 0 2\r\n<<\r\n", b"STORED\r\n"),
    (b"get b\r\n", b"VALUE b 2 6\r\n<<yz!!\r\nEND\r\n"),
    (b"append missing 0 0 1\r\nx\r\n", b"NOT_STORED\r\n"),
    (b"cas missing 0 0 1 5\r\nx\r\n", b"NOT_FOUND\r\n"),
    (b"cas a 0 0 1 99999999\r\nx\r\n", b"EXISTS\r\n"),
    (b"set n 0 0 2\r\n10\r\n", b"STORED\r\n"),
    (b"incr n 5\r\n", b"15\r\n"),
    (b"decr n 7\r\n", b"8\r\n"),
    (b"get n\r\n", b"VALUE n 0 2\r\n8 \r\nEND\r\n"),
    (b"decr n 100\r\n", b"0\r\n"),
    (b"incr n 18446744073709551615\r\n", b"18446744073709551615\r\n"),
    (b"incr n 1\r\n", b"0\r\n"),
    (b"incr missing 1\r\n", b"NOT_FOUND\r\n"),
    (b"incr a 1\r\n", b"CLIENT_ERROR cannot increment or decrement non-numeric value\r\n"),
    (b"incr n x\r\n", b"CLIENT_ERROR invalid numeric delta argument\r\n"),
    (b"incr n\r\n", b"ERROR\r\n"),
    (b"touch a 100\r\n", b"TOUCHED\r\n"),
    (b"touch missing 100\r\n", b"NOT_FOUND\r\n"),
    (b"delete b\r\n", b"DELETED\r\n"),
    (b"delete b\r\n", b"NOT_FOUND\r\n"),
    (b"set gone 0 -1 1\r\nx\r\n", b"STORED\r\n"),
    (b"get gone\r\n", b"END\r\n"),
    (b"set quiet 0 0 1 noreply\r\nq\r\nget quiet\r\n", b"VALUE quiet 0 1\r\nq\r\nEND\r\n"),
    (b"delete quiet noreply\r\nget quiet\r\n", b"END\r\n"),
    (b"set empty 0 0 0\r\n\r\nget empty\r\n", b"STORED\r\nVALUE empty 0 0\r\n\r\nEND\r\n"),
    (b"set two 0 0 4\r\n\r\n\r\n\r\nget two\r\n",
     b"STORED\r\nVALUE two 0 4\r\n\r\n\r\n\r\nEND\r\n"),
    (b"set large 0 0 300000\r\n" + LARGE + b"\r\n", b"STORED\r\n"),
    (b"get large\r\n", b"VALUE large 0 300000\r\n" + LARGE + b"\r\nEND\r\n"),
    (b"get " + LONG + b"\r\n", b"CLIENT_ERROR bad command line format\r\n"),
    (b"get\r\n", b"ERROR\r\n"),
    (b"nonsense\r\n", b"ERROR\r\n"),
    (b"set a b c d\r\n", b"CLIENT_ERROR bad command line format\r\n"),
    (b"verbosity 1\r\n", b"OK\r\n"),
    (b"verbosity noreply\r\nget b noreply\r\n", b"END\r\n"),
    (b"verbosity a b c\r\n", b"ERROR\r\n"),
    (b"verbosity 1 noreply\r\nnonsense noreply\r\n", b"ERROR\r\n"),
    (b"flush_all\r\n", b"OK\r\n"),
    (b"get a\r\n", b"END\r\n"),
    (b"set a 0 0 1\r\nz\r\nget a\r\n", b"STORED\r\nVALUE a 0 1\r\nz\r\nEND\r\n"),
]  # fmt: skip


class Client:
    """A connection that sends, and reads as much as is expected."""

    def __init__(self, port: int):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=LIMIT)

    def ask(self, request: bytes, length: int) -> bytes:
        self.socket.sendall(request)
        reply = b""
        while len(reply) < length and (part := self.socket.recv(1 << 20)):
            reply += part
        return reply

    def ask_until(self, request: bytes, end: bytes) -> bytes:
        self.socket.sendall(request)
        reply = b""
        while not reply.endswith(end) and (part := self.socket.recv(1 << 20)):
            reply += part
        return reply


class Cache(servers.Server):
    """A stage as a server, at a port of its own choice."""

    def __init__(self, program: str, library: str = "", *words: str):
        def command(port):
            return [str(BUILD / program), "--port", str(port), "--threads", "2", *words]

        super().__init__(program, command, environment(library))
        self.output_at_end = ""

    def stop(self):
        status = super().stop()
        self.output_at_end = self.output()
        return status


def play(port: int) -> None:
    client = Client(port)
    for request, reply in SCRIPT:
        assert client.ask(request, len(reply)) == reply, request[:60]


@pytest.mark.parametrize("program", BUILT)
def test_protocol(program):
    with Cache(program) as server:
        play(server.port)
    assert server.status == 0
    assert json.loads(server.output_at_end.splitlines()[-1])["items"] > 0


@pytest.mark.skipif(shutil.which("memcached") is None, reason="memcached is not installed")
def test_memcached_says_the_same():
    with servers.memcached() as server:
        play(server.port)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("program", [p for p in ("txcache", LAST) if p in BUILT])
def test_cas_statistics_and_delayed_flush(program):
    with Cache(program) as server:
        client = Client(server.port)
        client.ask(b"set a 3 0 1\r\nx\r\n", 8)
        words = client.ask_until(b"gets a\r\n", b"END\r\n").split()
        assert words[:4] == [b"VALUE", b"a", b"3", b"1"]
        assert client.ask(b"cas a 0 0 1 %s\r\ny\r\n" % words[4], 8) == b"STORED\r\n"
        assert client.ask(b"cas a 0 0 1 %s\r\nz\r\n" % words[4], 8) == b"EXISTS\r\n"
        lines = client.ask_until(b"stats\r\n", b"END\r\n").decode().splitlines()
        stats = dict(line.split()[1:] for line in lines[:-1])
        assert stats["cmd_get"] == stats["get_hits"] == stats["cas_hits"] == stats["cas_badval"]
        assert (stats["cmd_set"], stats["curr_items"], stats["threads"]) == ("3", "1", "2")
        assert b"active_slabs 1" in client.ask_until(b"stats slabs\r\n", b"END\r\n")
        assert client.ask(b"stats reset\r\n", 7) == b"RESET\r\n"
        assert b"STAT cmd_set 0\r\n" in client.ask_until(b"stats\r\n", b"END\r\n")
        assert client.ask(b"flush_all 1\r\n", 4) == b"OK\r\n"
        while client.ask_until(b"get a\r\n", b"END\r\n") != b"END\r\n":
            pass  # the server's clock goes on; the test's own limit ends what does not
        assert client.ask_until(b"version\r\n", b"\n").startswith(b"VERSION ")


def test_hostile_input_ends_one_connection_only():
    with Cache("txcache") as server:
        good = Client(server.port)
        too_large = b"set a 0 0 2000000\r\n" + b"v" * 2_000_002 + b"get a\r\n"
        reply = b"SERVER_ERROR object too large for cache\r\nEND\r\n"
        assert Client(server.port).ask(too_large, len(reply)) == reply
        endless = Client(server.port)
        assert endless.ask(b"x" * 70_000, 1000) == b"CLIENT_ERROR line is too long\r\n"
        half = Client(server.port)
        half.socket.sendall(b"set a 0 0 100\r\nonly this")
        half.socket.close()
        assert Client(server.port).ask(b"quit\r\n", 1) == b""
        assert good.ask(b"set a 0 0 1\r\nx\r\n", 8) == b"STORED\r\n"


# ---- Debian's clients ----------------------------------------------------------------------------


def ask_client(*words: str) -> str:
    """What a program of libmemcached-tools prints; it has to succeed."""
    done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


CLIENT_STAGES = [p for p in ("txcache", "txcache.ip-on-commit", LAST) if p in BUILT]


# It waits for most of its time.
@pytest.mark.parametrize(
    "program",
    [pytest.param(p, marks=[] if p == LAST else [pytest.mark.long]) for p in CLIENT_STAGES],
)
def test_memccapable_finds_the_text_protocol_complete(program):
    with Cache(program) as server:
        said = ask_client("memccapable", "-a", "-h", "127.0.0.1", "-p", str(server.port))
    assert "All tests passed" in said


@pytest.mark.parametrize("program", CLIENT_STAGES)
def test_memslap(program):
    with Cache(program) as server:
        where = f"--servers=127.0.0.1:{server.port}"
        for test in ("set", "get", "mget"):
            said = ask_client("memcslap", where, "--concurrency=2", "--execute-number=200",
                              f"--test={test}")  # fmt: skip
            assert re.search(rf"Time to {test} +400 keys by +2 threads", said)
        statistics = ask_client("memcstat", where)
    assert "get_misses: 0" in statistics


@pytest.mark.parametrize("program", CLIENT_STAGES)
def test_memaslap(program):
    """Debian calls it memcaslap. It compares what it gets with what it has set."""
    with Cache(program) as server:
        said = ask_client(
            "memcaslap", "-s", f"127.0.0.1:{server.port}", "-T", "2", "-c", "8", "-x", "2000",
            "-v", "0.5", "-e", "0.05", "-d", "10",
        )  # fmt: skip
    counts = dict(re.findall(r"^(\w+): (\d+)$", said, re.MULTILINE))
    assert (counts["cmd_get"], counts["cmd_set"]) == ("1800", "200")
    for name in ("get_misses", "verify_misses", "verify_failed", "unexpired_unget"):
        assert counts[name] == "0", name


# ---- the paper's figures -------------------------------------------------------------------------


def small(figure):
    """The figure with few operations, and the table's number of threads alone."""
    points = [replace(p, options={"operations": 50}) for p in figure.points(True) if p.x == 4]
    return replace(figure, points=lambda quick: points)


def settings(tmp_path: Path, programs: Path) -> argparse.Namespace:
    return argparse.Namespace(
        quick=True, redraw=False, data=False, limit=LIMIT, machine=None, programs=programs,
        out=tmp_path / "out", checkpoints=tmp_path,
    )  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.skipif(not TRANSACTIONS_BUILT, reason="the compiler has no -fgnu-tm")
@pytest.mark.parametrize("made", [gcc_tm_fig9.FIGURE, gcc_tm_fig11.FIGURE], ids=lambda f: f.name)
def test_figures_and_tables(made, tmp_path):
    """Runs, data, page, plot and claims of figures on GCC's library, and on ours."""
    figure = small(made)
    assert common.make_figure(figure, settings(tmp_path, BUILD.parent)) == 0
    document = compactjson.read((tmp_path / "out" / f"{figure.name}.json").read_text())
    assert document["kind"] == "measured"
    assert all(time > 0 for run in document["runs"] for time in run["seconds"])
    runs = {run["series"]: run for run in document["runs"] if run["panel"].startswith("memslap")}
    page = (tmp_path / "out" / f"{figure.name}.md").read_text()
    assert (tmp_path / "out" / f"{figure.name}.svg").exists()
    claims = common.read_claims(figure, tmp_path / "out")
    assert all(f"| {claim.paper} |" in page for claim in claims)
    if made is gcc_tm_fig11.FIGURE:
        assert all("aborts" in run for series, run in runs.items() if "@" in series)
        return
    assert runs["it-on-commit"]["in_flight_switch"] == 0
    assert runs["it-callable"]["in_flight_switch"] > 100
    assert "| it-on-commit | paper | 8,130,896 | 0 (0.0%) | 0 (0.0%) | 8,000 (0.1%) |" in page
    assert f"| it-on-commit | we | {runs['it-on-commit']['transactions']:,} | 0 (0.0%)" in page


def test_figures_without_their_programs(tmp_path):
    with pytest.raises(sweep.Refusal, match="build with `make`"):
        common.make_figure(small(gcc_tm_fig9.FIGURE), settings(tmp_path, tmp_path))


def test_a_stopped_figure_goes_on(tmp_path):
    """What has run is not run again; a finished figure begins anew."""
    ran = []

    def measure(figure, options, kept):
        for point in figure.points(True):
            if kept.get(point.series, point) is None:
                ran.append(point.series)
                kept.put(point.series, {"seconds": [1.0]})
            if len(ran) == 1:
                raise KeyboardInterrupt
        return [p.place() | {"seconds": [1.0]} for p in figure.points(True)]

    two = [common.Point("", text, 1, "txcache", {}) for text in ("a", "b")]
    figure = replace(gcc_tm_fig9.FIGURE, name="gcc_tm_fig0", points=lambda quick: two,
                     claims=lambda results: [], tables=lambda results: [],
                     measure=measure)  # fmt: skip
    with pytest.raises(KeyboardInterrupt):
        common.make_figure(figure, settings(tmp_path, tmp_path))
    ran[:0] = ["stopped"]
    assert common.make_figure(figure, settings(tmp_path, tmp_path)) == 0
    assert ran == ["stopped", "a", "b"]
    assert list(tmp_path.glob("*.jsonl")) == []


# ---- its beginning and end ----------------------------------------------------------------------


def test_socket_path_and_interrupt(tmp_path):
    path = tmp_path / "socket"
    command = [BUILD / "txcache", "--socket", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout.readline() == f"ready at {path}\n"
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(LIMIT)
                client.connect(str(path))
                client.sendall(b"get a\r\n")
                assert client.recv(100) == b"END\r\n"
                server.send_signal(signal.SIGINT)
                assert json.loads(server.stdout.readline())["items"] == 0
            assert server.wait(LIMIT) == 0
        finally:
            server.kill()
    assert not path.exists()


def test_port_in_use():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = run("txcache", "--port", str(taken.getsockname()[1]))
    assert done.returncode == 2
    assert "Address already in use; choose another --port" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--memory", "lots"), "--memory needs at least 1048576 bytes"),
        (("--memory", "10"), "--memory needs at least 1048576 bytes"),
        (("--page", "1"), "--page needs at least 4096 bytes"),
        (("--port", "99999"), "--port is at most 65535"),
        (("--threads", "0"), "--threads needs a whole number of at least 1"),
        (("--hash-power", "40"), "--hash-power is at most 28"),
        (("--address", "nowhere"), "--address needs a number"),
        (("--self-load", "1"), "--self-load needs SEED,OPERATIONS,THREADS"),
        (("--self-load", "1,2,3,4"), "--self-load needs SEED,OPERATIONS,THREADS"),
        (("--self-load", "1,2", "--threads", "257"), "--threads is at most 256"),
        (("--nosuch", "1"), "there is no option '--nosuch'"),
    ],
)
def test_bad_use(words, message):
    done = run("txcache", *words)
    assert done.returncode == 2
    assert done.stdout == ""
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_help():
    done = run("txcache", "--help")
    assert done.returncode == 0
    for option in ("--port", "--socket", "--threads", "--memory", "--self-load"):
        assert option in done.stdout
