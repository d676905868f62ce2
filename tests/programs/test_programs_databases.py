"""SQLite and redis with I/O threads: what was written must be what is read."""

import json
import re
import socket
import threading

import pytest
import servers
from preloaded import ROOT, environment, installed, run, under_every_lock

SORTED_BY_THREADS = """
PRAGMA threads = 4;
PRAGMA cache_size = 100;
CREATE TABLE number (value INTEGER);
WITH RECURSIVE draw (i, x) AS (
    SELECT 1, 12345 UNION ALL SELECT i + 1, (x * 1103515245 + 12345) % 2147483648 FROM draw
    WHERE i < 60000)
INSERT INTO number SELECT x FROM draw;
CREATE INDEX by_value ON number (value);
PRAGMA integrity_check;
SELECT count(*), sum(ordered) FROM
    (SELECT value >= lag(value, 1, 0) OVER (ORDER BY value) AS ordered FROM number);
"""


@under_every_lock()
def test_sqlite_keeps_the_sum_of_all_accounts(lock):
    python = installed("/usr/bin/python3", "python3")
    command = [python, ROOT / "bench" / "sqlite_load.py", "--threads", 4, "--seconds", 0.5]
    result = json.loads(run(lock, command))
    assert result["kept"] is True
    assert result["operations_per_second"] > 0


@under_every_lock()
def test_sqlite_sorts_with_worker_threads(lock, tmp_path):
    sqlite3 = installed("sqlite3", "sqlite3")
    output = run(lock, [sqlite3, tmp_path / "numbers.db"], stdin=SORTED_BY_THREADS.encode())
    assert output.decode().splitlines()[-2:] == ["ok", "60000|60000"]


def increment(port, count, failures):
    """Sends pipelined INCR commands to redis and checks that every reply is a new number."""
    with socket.create_connection((servers.LOOPBACK, port), timeout=20.0) as connection:
        connection.sendall(b"INCR hot\r\n" * count)
        replies = connection.makefile("rb")
        values = [int(replies.readline()[1:]) for _ in range(count)]
        if values != sorted(set(values)):
            failures.append("replies to INCR do not increase")


@pytest.mark.long
@under_every_lock()
def test_redis_with_io_threads(lock):
    client = installed("redis-benchmark", "redis-tools")
    cli = installed("redis-cli", "redis-tools")
    failures = []
    with servers.redis(environment(lock), io_threads=2) as server:
        where = ["-h", servers.LOOPBACK, "-p", server.port]
        threads = [
            threading.Thread(target=increment, args=(server.port, 1000, failures)) for _ in range(6)
        ]
        for thread in threads:
            thread.start()
        output = run(
            lock,
            [client, *where, "--threads", 2, "-n", 5000, "-c", 16, "-t", "incr,lpush", "--csv"],
        )
        for thread in threads:
            thread.join()
        hot, counter, length = (
            int(run(None, [cli, *where, *command]))
            for command in (["GET", "hot"], ["GET", "counter:__rand_int__"], ["LLEN", "mylist"])
        )
    assert not failures
    assert hot == 6000
    assert counter >= 5000  # redis-benchmark may overshoot by what its threads had in flight
    assert length >= 5000
    assert re.search(rb'"INCR","[\d.]+"', output), output
    assert server.status == 0
