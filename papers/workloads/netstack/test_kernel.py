"""The stack against the kernel's TCP, over a TUN device. Where none can be made (no /dev/net/tun,
no right to), the tests say so and are left out; test_netstack.py needs neither."""

import http.client
import http.server
import os
import random
import re
import shutil
import socket
import subprocess
import threading
import zlib

import pytest
from conftest import BUILD, LOCKINGS

PATIENCE = 60  # seconds, on a busy machine


def may_make_a_device() -> bool:
    """What netserve itself says; it ends at once, since nobody listens at that port."""
    a, b = addresses()
    words = ("--kernel", a, "--address", b, "--fetch", "1")
    done = subprocess.run(
        [BUILD / "netserve", *words], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    return "refuses the connection" in done.stderr


def addresses() -> tuple[str, str]:
    """The kernel's and ours, in a net that another test run hardly has."""
    net = f"10.{random.randrange(64, 128)}.{random.randrange(256)}"
    return f"{net}.1", f"{net}.2"


pytestmark = pytest.mark.skipif(not may_make_a_device(), reason="no TUN device can be made here")


class Server:
    """netserve, while the `with` block runs; address: where it is."""

    def __init__(self, *words: str):
        kernel, self.address = addresses()
        command = [BUILD / "netserve", "--kernel", kernel, "--address", self.address, *words]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        assert self.process.stdout.readline() == "ready\n"
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def ask(self, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(self.address, timeout=PATIENCE)
        connection.request(method, path, body)
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return answer.status, data


def pattern(size: int) -> bytes:
    return bytes(((i * 0x9E3779B97F4A7C15) % 2**64) >> 56 for i in range(size))


@pytest.mark.parametrize("locking", LOCKINGS)
def test_the_kernel_reads_and_writes(locking):
    body = random.Random(1).randbytes(200_000)
    with Server("--locking", locking) as server:
        assert server.ask("GET", "/100000") == (200, pattern(100_000))
        status, digest = server.ask("PUT", "/", body)
        assert (status, digest.decode()) == (
            200,
            f"{len(body)} bytes, crc32 {zlib.crc32(body):08x}\n",
        )


@pytest.mark.parametrize("bad", ["lost", "doubled", "reordered"])
def test_bad_networks(bad):
    with Server(f"--{bad}", "10") as server:
        assert server.ask("GET", "/60000") == (200, pattern(60_000))
        status, digest = server.ask("PUT", "/", b"x" * 60_000)
        assert status == 200 and digest.startswith(b"60000 bytes")


def test_several_at_a_time():
    sizes = [0, 1, 1459, 1460, 1461, 65535, 65536, 150_000]
    found = {}
    with Server() as server:
        threads = [
            threading.Thread(target=lambda n=n: found.update({n: server.ask("GET", f"/{n}")}))
            for n in sizes
        ]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert found == {n: (200, pattern(n)) for n in sizes}


@pytest.mark.parametrize("path", ["/", "/-1", "/99999999999999999999", "/x", "/1x", "/1/2", "/+1"])
def test_what_is_no_number_of_bytes_is_a_bad_request(path):
    with Server() as server:
        assert server.ask("GET", path) == (400, b"GET /N, for N bytes\n")
        assert server.ask("GET", "/3") == (200, pattern(3))


def test_other_methods_and_ports_are_refused():
    with Server() as server:
        assert server.ask("DELETE", "/")[0] == 501
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((server.address, 81), timeout=PATIENCE)


def test_a_server_holds_nothing_of_those_it_has_answered():
    def mappings() -> int:
        with open(f"/proc/{server.process.pid}/maps", encoding="utf-8") as file:
            return len(file.readlines())

    with Server() as server:
        for _ in range(50):
            server.ask("GET", "/1")
        before = mappings()
        for _ in range(200):
            server.ask("GET", "/1")
        assert mappings() < before + 100


def test_a_peer_that_resets_harms_nobody():
    with Server() as server:
        rude = socket.create_connection((server.address, 80), timeout=PATIENCE)
        rude.sendall(b"GET /1000000 HTTP/1.0\r\n\r\n")
        rude.recv(1000)
        # No lingering: close() sends a reset.
        rude.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        rude.close()
        assert server.ask("GET", "/10") == (200, pattern(10))


def test_curl():
    curl = shutil.which("curl")
    assert curl is not None, "curl is not installed; run scripts/setup.sh test"
    with Server() as server:
        command = [curl, "-sS", "-m", str(PATIENCE), f"http://{server.address}/300000"]
        done = subprocess.run(command, capture_output=True, check=False)
        assert done.stdout == pattern(300_000), done.stderr


def test_it_calls_the_kernel():
    content = random.Random(2).randbytes(300_000)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        kernel, ours = addresses()
        words = ("--kernel", kernel, "--address", ours, "--fetch", str(server.server_port))
        command = [BUILD / "netserve", *words, "--requests", "3"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
        server.shutdown()
    assert done.returncode == 0, done.stderr
    line = f"{len(content)} bytes, crc32 {zlib.crc32(content):08x}\n"
    assert done.stdout == 3 * line


def test_a_device_is_gone_with_its_process():
    with Server() as server:
        interfaces = set(os.listdir("/sys/class/net"))
        assert any(re.match(r"tun\d+$", name) for name in interfaces)
        address = server.address
    routes = subprocess.run(["cat", "/proc/net/fib_trie"], capture_output=True, text=True)
    assert address not in routes.stdout


def test_bad_use():
    done = subprocess.run(
        [BUILD / "netserve", "--kernel", "ten"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "--kernel needs an address" in done.stderr
