"""memcached under memslap (Debian's libmemcached-tools): how long it takes, and, recorded, how many
of its transactions ran alone, and why."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import time

THREADS = 4
SECONDS = 600
ALONE = ("start_serial", "in_flight", "after_failures", "by_algorithm")


@contextlib.contextmanager
def server(command: list[str], environ: dict[str, str], log: str):
    """A memcached with THREADS threads; the port that it listens to. Ends it as Ctrl-C does, so
    that it leaves by exit(), and fails where it leaves otherwise."""
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        port = any_port.getsockname()[1]
    options = ["-p", str(port), "-U", "0", "-l", "127.0.0.1", "-t", str(THREADS), "-u", "root"]
    with open(log, "w", encoding="utf-8") as out:
        running = subprocess.Popen(
            [*command, *options], env={**os.environ, **environ}, stdout=out, stderr=out,
            start_new_session=True, preexec_fn=_hears_ctrl_c,
        )  # fmt: skip
        try:
            _wait_for(port, running)
            yield port
        finally:
            if running.poll() is None:
                os.killpg(running.pid, signal.SIGINT)
            status = running.wait(SECONDS)
    if status not in (0, 128 + signal.SIGINT, -signal.SIGINT):
        raise RuntimeError(f"{' '.join(command)}: exit status {status}; see {log}")


def _hears_ctrl_c() -> None:
    """Also where this script was started in the background, by a shell that lets it ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _wait_for(port: int, running: subprocess.Popen) -> None:
    for _ in range(600):
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        if running.poll() is not None:
            break
        time.sleep(0.05)
    raise RuntimeError(f"memcached does not listen: {running.args}")


def memslap(port: int, each: int, kind: str, concurrency: int = THREADS) -> float:
    """Seconds for `each` operations on each of `concurrency` connections. Fails where one of them
    does, which memslap's exit status does not tell."""
    began = time.monotonic()
    done = subprocess.run(
        ["memcslap", "--binary", f"--servers=127.0.0.1:{port}", f"--test={kind}",
         f"--concurrency={concurrency}", f"--execute-number={each}"],
        check=True, timeout=SECONDS, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    if done.stderr:
        raise RuntimeError(f"memslap: {done.stderr.splitlines()[0]}")
    return time.monotonic() - began


def stats(port: int) -> dict[str, str]:
    with socket.create_connection(("127.0.0.1", port), 10) as connection:
        connection.sendall(b"stats\r\nquit\r\n")
        text = connection.makefile("rb").read().decode()
    return dict(line.split(" ", 2)[1:] for line in text.splitlines() if line.startswith("STAT"))


def counted(tree: str, syncopate: str, algorithm: str, each: int) -> dict[str, int]:
    """Transactions of a run of sets and gets under the recording library, by how they ran."""
    record = os.path.join(tree, "run.rec")
    command = [syncopate, "record", "--tm", algorithm, "-o", record, "--", f"{tree}/memcached"]
    with server(command, {}, f"{tree}/record.log") as port:
        for kind in ("set", "get"):
            memslap(port, each, kind)
    said = subprocess.run(
        [syncopate, "report", "--json", record], check=True, capture_output=True, timeout=SECONDS
    )
    (report,) = json.loads(said.stdout)["records"]
    sites = report["transactions"]["sites"]
    counts = {"transactions": sum(site["committed"] for site in sites)}
    counts["retries"] = sum(site["retries"] for site in sites)
    for why in ALONE:
        counts[why] = sum(site["alone"][why] for site in sites)
    return counts
