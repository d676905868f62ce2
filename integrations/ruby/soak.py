"""soak.py SECONDS pages|books SERVER... -- starts a server and asks it from this process for so
long, by four threads, each answer compared with what it has to be. Each half minute: how large the
server is, and its /counts: objects alive after a collection, and threads. SERVER tells the port as
serve.rb or as Puma does; pages are serve.rb's and answers.ru's, books are rails/books.rb's."""

import argparse
import http.client
import json
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

ROW = "<tr><td>Title {}</td><td>Author &lt;{}&gt;</td><td>{}</td></tr>"
ROWS = "".join("\n" + ROW.format(i, i % 5, 100 + i) for i in range(20))
LIST = f"<html><body><h1>Books</h1><table>{ROWS}\n</table></body></html>\n".encode()


class Request(NamedTuple):
    """What is asked for, and whether an answer is right."""

    method: str
    path: str
    form: str | None
    is_right: Callable[[bytes], bool]


def page(client: int, number: int, _chance: random.Random) -> Request:
    """A page of 46 bytes that names its number."""
    asked = client * 10_000_000 + number
    expected = f"<html><body>{asked}</body></html>".ljust(46).encode()
    return Request("GET", f"/{asked}", None, lambda body: body == expected)


def book(client: int, number: int, chance: random.Random) -> Request:
    """The list of books, one of them, or a new one."""
    kind = chance.random()
    if kind < 0.6:
        return Request("GET", "/", None, lambda body: body == LIST)
    if kind < 0.95:
        i = chance.randrange(20)
        expected = {"title": f"Title {i}", "pages": 100 + i}
        return Request("GET", f"/book/{i + 1}", None, lambda body: json.loads(body) == expected)
    title = f"of {client} {number}"
    form = "title=" + title.replace(" ", "+")
    return Request("POST", "/book", form, lambda body: json.loads(body)["title"] == title)


REQUESTS = {"pages": page, "books": book}


def ask(connection: http.client.HTTPConnection, request: Request) -> tuple[int, bytes]:
    headers = {"Content-Type": "application/x-www-form-urlencoded"} if request.form else {}
    connection.request(request.method, request.path, request.form, headers)
    answer = connection.getresponse()
    return answer.status, answer.read()


def port_of(server: subprocess.Popen) -> int:
    """Puma tells its port before it has begun, serve.rb nothing else."""
    port = None
    for line in server.stdout:
        found = re.search(r"Listening on http://127.0.0.1:(\d+)", line)
        if found:
            port = int(found[1])
        elif line.strip().isdigit():
            return int(line)
        if "Ctrl-C" in line and port:
            return port
    raise SystemExit("soak.py: the server told no port")


class Soak:
    """The clients of a server, and what they have seen."""

    def __init__(self, server: subprocess.Popen, options: argparse.Namespace) -> None:
        self.server, self.options = server, options
        self.port = port_of(server)
        self.end = time.monotonic() + options.seconds
        self.right, self.wrong = 0, []
        self.guard = threading.Lock()

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)

    def note(self, request: Request, status: int, body: bytes) -> None:
        try:
            good = status == 200 and request.is_right(body)
        except (ValueError, KeyError):
            good = False
        with self.guard:
            self.right += good
            if not good:
                self.wrong.append((request[:3], status, body[:200]))

    def be_client(self, client: int) -> None:
        chance, connection = random.Random(client), self.connect()
        number = 0
        while time.monotonic() < self.end and len(self.wrong) < 5:
            request = REQUESTS[self.options.kind](client, number, chance)
            number += 1
            if number % 50 == 0:
                connection.close()
            try:
                self.note(request, *ask(connection, request))
            except (OSError, http.client.HTTPException) as error:
                self.note(request, 0, repr(error).encode())
                connection.close()
            time.sleep(self.options.pause)
        connection.close()

    def sample(self) -> dict:
        connection = self.connect()
        connection.request("GET", "/counts")
        counts = json.loads(connection.getresponse().read())
        connection.close()
        with open(f"/proc/{self.server.pid}/status") as file:
            found = dict(re.findall(r"^(VmRSS|Threads):\s+(\d+)", file.read(), re.MULTILINE))
        now = round(self.options.seconds - (self.end - time.monotonic()))
        return {
            "seconds": now,
            "rss_kb": int(found["VmRSS"]),
            "kernel_threads": int(found["Threads"]),
            "right": self.right,
        } | counts

    def run(self) -> None:
        clients = [threading.Thread(target=self.be_client, args=(k,)) for k in range(4)]
        for each in clients:
            each.start()
        due = time.monotonic()
        while any(each.is_alive() for each in clients):
            if time.monotonic() >= due:
                print(json.dumps(self.sample()), flush=True)
                due += self.options.every
            time.sleep(0.1)
        print(json.dumps(self.sample()), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seconds", type=float)
    parser.add_argument("kind", choices=REQUESTS)
    parser.add_argument("--pause", type=float, default=0.0, help="seconds, after each answer")
    parser.add_argument("--every", type=float, default=30.0, help="seconds between two samples")
    parser.add_argument("server", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    with subprocess.Popen(options.server, stdout=subprocess.PIPE, text=True) as server:
        try:
            soak = Soak(server, options)
            threading.Thread(target=lambda: list(server.stdout), daemon=True).start()
            soak.run()
            server.send_signal(signal.SIGTERM)
            status = server.wait(60)
        finally:
            server.kill()
    print(json.dumps({"right": soak.right, "wrong": len(soak.wrong), "status": status}))
    for each in soak.wrong[:5]:
        print(each, file=sys.stderr)
    return 1 if soak.wrong or not soak.right else 0


if __name__ == "__main__":
    sys.exit(main())
