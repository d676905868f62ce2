"""under_locks.py of integrations/memcached sees each wrong answer, and each test that fails."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "integrations/memcached/under_locks.py"
# Starts what stands behind --, whatever the lock.
STAND_IN = '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n'
# memcached's commands, with a fault at the given answer.
SERVER = r"""#!/usr/bin/env python3
import os, socketserver, sys, threading
FAULT, AT = "{fault}", 400  # each client sends 200 commands at least
lock, held, told, lost = threading.Lock(), {{}}, [0], []


def answer(words, line):
    kind, key = words[0], words[1]
    known = held.get(key)
    if kind == "get":
        shown = known
        if FAULT == "an older value" and known is not None and told[0] > AT:
            shown = known[:-1]
        found = "" if known is None else f"VALUE {{key}} 0 {{len(shown)}}\r\n{{shown}}\r\n"
        return found + "END\r\n"
    if kind == "delete":
        held.pop(key, None)
        return "NOT_FOUND\r\n" if known is None else "DELETED\r\n"
    if kind == "incr":
        if FAULT == "a lost increment" and told[0] > AT and not lost:
            lost.append(key)
        else:
            held[key] = str(int(known) + 1)
        return held[key] + "\r\n"
    value = line().strip()
    stored = kind == "set" or (known is None) == (kind == "add")
    if stored:
        held[key] = known + value if kind == "append" else value
    if FAULT == "a refusal" and told[0] > AT:
        return "SERVER_ERROR out of memory\r\n"
    return "STORED\r\n" if stored else "NOT_STORED\r\n"


class Client(socketserver.StreamRequestHandler):
    def handle(self):
        def line():
            return self.rfile.readline().decode()

        while text := line():
            with lock:
                told[0] += 1
                if FAULT == "an end" and told[0] > AT:
                    os._exit(3)
                self.wfile.write(answer(text.split(), line).encode())


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True


if FAULT == "no start":
    sys.exit(1)
Server(("127.0.0.1", int(sys.argv[sys.argv.index("-p") + 1])), Client).serve_forever()
"""


def under_locks(folder: Path, name: str, text: str, seconds: str):
    for file, contents in ((name, text), ("syncopate", STAND_IN)):
        (folder / file).write_text(contents)
        (folder / file).chmod(0o755)
    command = [SCRIPT, folder / name, "--seconds", seconds, "--locks", "tatas:spin,htm_1"]
    return subprocess.run(
        [sys.executable, *map(str, command), "--syncopate", str(folder / "syncopate")],
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),  # as in the background
    )


def test_right_answers_are_counted(tmp_path):
    done = under_locks(tmp_path, "memcached", SERVER.format(fault=""), "0.5")
    assert (done.returncode, done.stderr) == (0, "")
    (tatas, htm) = done.stdout.splitlines()
    assert tatas.startswith("| `tatas:spin` | ") and htm.startswith("| `htm_1` | ")
    answered = [int(row.split()[3].replace(",", "")) for row in (tatas, htm)]
    assert all(count >= 800 and count % 200 == 0 for count in answered)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "fault", ("an older value", "a refusal", "a lost increment", "an end", "no start")
)
def test_a_wrong_answer_is_seen(tmp_path, fault):
    done = under_locks(tmp_path, "memcached", SERVER.format(fault=fault), "0.5")
    assert done.returncode == 1
    wrong = [row for row in done.stdout.splitlines() if "WRONG" in row]
    assert len(wrong) == 2, done.stdout + done.stderr
    said = {
        "a lost increment": "increments were lost",
        "no start": "does not listen",
        "a refusal": "SERVER_ERROR",
    }
    assert said.get(fault, "WRONG") in wrong[0]


@pytest.mark.parametrize(("said", "status"), [("ok", 0), ("ok", 1), ("tran: error: 3", 0), ("", 0)])
def test_each_test_of_kyoto_cabinet_has_to_end_well(tmp_path, said, status):
    text = f"#!/bin/sh\nsleep 0.1\necho; echo '{said}'\nexit {status}\n"
    done = under_locks(tmp_path, "kccachetest", text, "0.5")
    well = said == "ok" and status == 0
    assert done.returncode == (0 if well else 1)
    assert done.stdout.count("WRONG") == (0 if well else 2)
    assert not well or done.stdout.count(" runs |") == 2
