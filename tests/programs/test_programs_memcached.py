"""Debian's memcached under every lock, driven by its own clients and by ours."""

import re
import socket
import threading

import pytest
import servers
from preloaded import environment, installed, run, under_every_lock

CONNECTIONS = 8
INCREMENTS = 2000


class Client:
    """A connection that speaks memcached's text protocol."""

    def __init__(self, port):
        self.socket = socket.create_connection((servers.LOOPBACK, port), timeout=20.0)
        self.replies = self.socket.makefile("rb")

    def send(self, text):
        self.socket.sendall(text.encode())

    def line(self):
        return self.replies.readline().decode().rstrip("\r\n")

    def ask(self, text):
        self.send(text)
        return self.line()

    def close(self):
        self.replies.close()
        self.socket.close()


def increment_and_store(port, number, failures):
    """Sends pipelined increments of one hot key mixed with writes and reads of own keys."""
    client = Client(port)
    try:
        for _ in range(INCREMENTS // 100):
            client.send("incr hot 1\r\n" * 100)
            replies = [int(client.line()) for _ in range(100)]
            if replies != sorted(set(replies)):
                failures.append(f"connection {number}: replies do not increase: {replies}")
        for item in range(50):
            key, value = f"key-{number}-{item}", f"value-{number * item}"
            stored = client.ask(f"set {key} 0 0 {len(value)}\r\n{value}\r\n")
            header, got = client.ask(f"get {key}\r\n"), client.line()
            end = client.line()
            wanted = ("STORED", f"VALUE {key} 0 {len(value)}", value, "END")
            if (stored, header, got, end) != wanted:
                failures.append(f"{key}: got {(stored, header, got, end)}, wanted {wanted}")
    except (OSError, ValueError) as error:
        failures.append(f"connection {number}: {error!r}")
    finally:
        client.close()


def check_values(lock, server_threads):
    """Loads a memcached of `server_threads` threads from all connections at once."""
    failures = []
    with servers.memcached(environment(lock), threads=server_threads) as server:
        control = Client(server.port)
        assert control.ask("set hot 0 0 1\r\n0\r\n") == "STORED"
        threads = [
            threading.Thread(target=increment_and_store, args=(server.port, number, failures))
            for number in range(CONNECTIONS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures, "\n".join(failures)
        assert int(control.ask("incr hot 0\r\n")) == CONNECTIONS * INCREMENTS
        control.close()
    assert server.status == 0, "memcached did not end cleanly on SIGTERM"


@under_every_lock(quick=True, elided=True)
def test_no_increment_is_lost_and_every_value_is_right(lock):
    check_values(lock, server_threads=4)


@pytest.mark.long
@under_every_lock()
def test_the_same_with_many_more_threads_than_processors(lock):
    check_values(lock, server_threads=48)


@under_every_lock()
def test_memaslap_verifies_every_value(lock):
    memaslap = installed("memcaslap", "libmemcached-tools")
    with servers.memcached(environment(lock), threads=4) as server:
        where = ["-s", f"{servers.LOOPBACK}:{server.port}", "-T", 2, "-c", 16]
        output = run(None, [memaslap, *where, "-x", 20000, "-w", "1k", "-v", "1.0"])
    counts = dict(re.findall(r"^(\w+): (\d+)$", output.decode(), re.M))
    assert int(counts["cmd_get"]) + int(counts["cmd_set"]) == 20000
    assert counts["get_misses"] == counts["verify_misses"] == counts["verify_failed"] == "0"
    assert server.status == 0


@under_every_lock()
def test_memcslap_as_a_preloaded_client(lock):
    memcslap = installed("memcslap", "libmemcached-tools")
    with servers.memcached(environment(lock), threads=4) as server:
        where = [f"--servers={servers.LOOPBACK}:{server.port}", "--concurrency=4"]
        run(lock, [memcslap, *where, "--execute-number=500", "--test=set"])
        output = run(lock, [memcslap, *where, "--execute-number=500", "--test=get"])
        statistics = Client(server.port)
        lines = [statistics.ask("stats\r\n")]
        while lines[-1] != "END":
            lines.append(statistics.line())
        statistics.close()
    assert re.search(rb"Time to get +2000 keys by +4 threads", output), output.decode()
    counts = dict(line.split()[1:3] for line in lines[:-1])
    assert int(counts["cmd_set"]) >= 4 * 500
    assert int(counts["get_hits"]) + int(counts["get_misses"]) == int(counts["cmd_get"])


@under_every_lock()
def test_memccapable_passes(lock):
    memccapable = installed("memccapable", "libmemcached-tools")
    with servers.memcached(environment(lock), threads=4) as server:
        output = run(None, [memccapable, "-h", servers.LOOPBACK, "-p", server.port])
    assert b"All tests passed" in output, output.decode()
