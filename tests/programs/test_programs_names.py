"""What a report calls the locks of real programs: names that their developers know, one lock a row
(or what it is of); without symbols a line that says where those are to be had.

They need what `scripts/setup.sh long` installs.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import servers

ROOT = Path(__file__).resolve().parent.parent.parent
SYNCOPATE = [sys.executable, "-m", "syncopate"]
ENVIRON = {**os.environ, "PYTHONPATH": str(ROOT)}
ROWS = 3
pytestmark = pytest.mark.long

PYTHON = """
import threading
lock, table = threading.Lock(), {}
def work(n):
    for _ in range(3000):
        with lock:
            for i in range(100): table[i] = table.get(i, 0) + n
threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
for t in threads: t.start()
for t in threads: t.join()
"""
JAVA = """
import java.util.*;
public class Busy {
  static final Object lock = new Object();
  static byte[] sink;
  public static void main(String[] a) throws Exception {
    Thread[] all = new Thread[8];
    for (int i = 0; i < 8; i++) {
      all[i] = new Thread(() -> {
        long end = System.nanoTime() + 3_000_000_000L;
        while (System.nanoTime() < end) synchronized (lock) { sink = new byte[20000]; }
      });
      all[i].start();
    }
    for (Thread t : all) t.join();
  }
}
"""


def needed(program: str) -> str:
    path = shutil.which(program)
    assert path, f"no {program}: scripts/setup.sh long puts it there"
    return path


def recorded(folder: Path, *command) -> Path:
    record = folder / "rec"
    words = [*SYNCOPATE, "record", "-q", "-o", record, "--", *command]
    done = subprocess.run(words, cwd=folder, env=ENVIRON, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return record


def told(record: Path) -> dict:
    words = [*SYNCOPATE, "report", "--json", record]
    done = subprocess.run(words, env=ENVIRON, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["records"][0]


def first_rows(results: dict) -> list[dict]:
    """Of the locks that were waited for, or else only taken, those that a report has on top."""
    return [lock for lock in results["locks"] if lock["object"] in ("mutex", "rwlock")][:ROWS]


def assert_named(locks: list[dict], *modules: str) -> None:
    """Every one has a name, and is one lock, or says of which array or by whose doing all are."""
    assert locks
    for lock in locks:
        name = lock["called"]
        assert "not known" not in name, name
        assert not name.startswith(("0x", *(f"{module}+0x" for module in modules))), name


def server_recorded(folder: Path, server, load) -> Path:
    """`server`, from servers.py, under `syncopate record` while `load` goes on with its port."""
    with server as running:
        load(running.port)
        running.stop()
    return folder / "rec"


def recorder(folder: Path) -> list[str]:
    return [
        sys.executable,
        str(ROOT / "syncopate"),
        "record",
        "-q",
        "-o",
        str(folder / "rec"),
        "--",
    ]


def sets(port: int) -> None:
    """Fills memcached from several connections, so that its LRU thread has work too."""
    value = b"x" * 400
    sockets = [socket.create_connection((servers.LOOPBACK, port), timeout=20) for _ in range(8)]
    for number in range(200):
        for index, each in enumerate(sockets):
            keys = range(20)
            each.sendall(b"".join(
                b"set key-%d-%d-%d 0 0 400\r\n%s\r\n" % (index, number, key, value) for key in keys
            ))  # fmt: skip
        for each in sockets:
            left = 20 * len(b"STORED\r\n")
            while left:
                left -= len(each.recv(left))
    for each in sockets:
        each.close()


def test_memcached(tmp_path):
    needed("memcached")
    server = servers.memcached(ENVIRON, 4, recorder(tmp_path), 30.0)
    results = told(server_recorded(tmp_path, server, sets))
    if not any(lock["called"].startswith("memcached+0x") for lock in first_rows(results)):
        assert {lock["called"] for lock in results["locks"]} >= {
            "slabs_lock", "lru_locks[]", "item_locks[]"
        }  # fmt: skip
        return
    (note,) = [note for note in results["notes"] if "no symbols" in note]
    assert "install memcached-dbgsym" in note


def gets(port: int) -> None:
    """More of them at once than redis gives to one thread."""
    client = needed("redis-benchmark")
    load = ["-p", port, "-c", 60, "-n", 20000, "-P", 8, "-t", "set,get", "-q"]
    subprocess.run([client, *map(str, load)], check=True, capture_output=True)


def test_redis_with_io_threads(tmp_path):
    needed("redis-server")
    server = servers.redis(ENVIRON, 4, recorder(tmp_path), 30.0)
    results = told(server_recorded(tmp_path, server, gets))
    rows = [lock for lock in first_rows(results) if lock["waited_ns"]]
    if notes := [note for note in results["notes"] if "no symbols" in note]:
        assert any("-dbgsym" in note for note in notes)
        return
    assert_named(rows, "redis-server", "redis-check-rdb")
    assert {lock["called"] for lock in rows} <= {f"io_threads_mutex[{n}]" for n in range(1, 4)}


def test_rocksdb(tmp_path):
    """Its library exports its functions' names."""
    load = [
        "--benchmarks=fillrandom,readwhilewriting",
        "--num=20000",
        "--duration=2",
        "--threads=4",
    ]
    record = recorded(tmp_path, needed("db_bench"), f"--db={tmp_path / 'db'}", *load)
    rows = [lock for lock in first_rows(told(record)) if lock["named_by"] != "address"]
    assert_named(rows)
    assert any("rocksdb::" in lock["called"] for lock in rows)


def test_java(tmp_path):
    (tmp_path / "Busy.java").write_text(JAVA)
    subprocess.run([needed("javac"), "Busy.java"], cwd=tmp_path, check=True)
    record = recorded(tmp_path, needed("java"), "-Xmx64m", "-XX:+UseG1GC", "-cp", ".", "Busy")
    results = told(record)
    if any("no symbols of" in note and "libjvm" in note for note in results["notes"]):
        assert any("openjdk-" in note for note in results["notes"])
        return
    rows = first_rows(results)
    assert_named(rows, "libjvm.so")
    # One lock, or a member of alike objects: "os::PlatformEvent::_mutex at thread.cpp:1188" of each
    # thread.
    assert all(lock["members"] == 1 or lock["member"] for lock in rows), rows


def test_python(tmp_path):
    (tmp_path / "busy.py").write_text(PYTHON)
    results = told(recorded(tmp_path, Path("/usr/bin/python3"), "busy.py"))
    names = [lock["called"] for lock in results["locks"] if lock["lost_ns"]]
    assert "Lock of <module> at busy.py:3" in names, names
    assert any("GIL" in name or "gil" in name for name in names), names
