#!/usr/bin/env python3
"""Unmodified memcached and Kyoto Cabinet under each lock of always-abort-htm.txt, for as long as
one likes: every answer is compared with what it must be.

Usage: under_locks.py PROGRAM [--seconds N] [--locks NAME,...] [--at-once N] [--record FOLDER]

PROGRAM is a memcached or a kccachetest; one that is compiled for the emulated machine
(`syncopate cc --machine=emulated`) has transactions that commit and abort, on any processor.
memcached: four clients, each with keys of its own, send 200 commands at a time and compare all
answers; four counters belong to all of them. kccachetest: its `order`, `wicked` and `tran` tests,
which check themselves, again and again. With --record it runs under `syncopate record`, and the row
tells what its locks did.

One row for each lock; exit status 1 where an answer was wrong, or the program failed.
"""

import argparse
import json
import random
import subprocess
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import Pipe, Process
from pathlib import Path
from socket import create_connection

import load

ROOT = Path(__file__).resolve().parents[2]
LOCKS = (
    "tatas:spin", "ticket:spin", "htm_1", "htm_10", "htm_10_fb_aahtm", "speculative_tatas",
    "speculative_ticket", "priority", "tatas:speculate", "ticket:speculate",
)  # fmt: skip
CLIENTS = load.THREADS
BATCH = 200
KEYS = 300  # of each client
LATE = 300.0  # an answer that takes longer hangs
KYOTO = (
    ("order", "-th", "4", "-rnd", "-bnum", "20000", "20000"),
    ("wicked", "-th", "4", "-it", "2", "5000"),
    ("tran", "-th", "4", "-it", "2", "5000"),
)


class WrongAnswer(Exception):
    """One line for the user."""


# ---- memcached ----


class Model:
    """What one client's keys must hold, and the commands that change it."""

    def __init__(self, name: str, seed: int):
        self.name = name
        self.random = random.Random(seed)
        self.held: dict[str, str] = {}
        self.increments = [0] * CLIENTS

    def command(self) -> tuple[str, str]:
        """A command, and its right answer ("" for any number)."""
        key = f"{self.name}_{self.random.randrange(KEYS)}"
        value = str(self.random.random())[: self.random.randrange(2, 12)]
        data = f"{key} 0 0 {len(value)}\r\n{value}\r\n"
        kind = self.random.choices(
            ("get", "set", "delete", "append", "add", "incr"), (8, 4, 1, 1, 1, 2)
        )[0]
        held = self.held.get(key)
        if kind == "get":
            found = "" if held is None else f"VALUE {key} 0 {len(held)}\r\n{held}\r\n"
            return f"get {key}\r\n", f"{found}END\r\n"
        if kind == "delete":
            self.held.pop(key, None)
            return f"delete {key}\r\n", "NOT_FOUND\r\n" if held is None else "DELETED\r\n"
        if kind == "incr":
            which = self.random.randrange(CLIENTS)
            self.increments[which] += 1
            return f"incr shared_{which} 1\r\n", ""
        stored = kind == "set" or (held is None) == (kind == "add")
        if stored and kind == "append":
            if len(held) > 200:  # not for ever
                return f"get {key}\r\n", f"VALUE {key} 0 {len(held)}\r\n{held}\r\nEND\r\n"
            value = held + value
        if stored:
            self.held[key] = value
        return f"{kind} {data}", "STORED\r\n" if stored else "NOT_STORED\r\n"


def answers(port: int, model: Model, until: float) -> int:
    """Sends the model's commands; how many were answered, all of them rightly."""
    done = 0
    with create_connection(("127.0.0.1", port), LATE) as connection:
        connection.settimeout(LATE)
        replies = connection.makefile("r", newline="\n", encoding="ascii")
        while time.monotonic() < until:
            pairs = [model.command() for _ in range(BATCH)]
            connection.sendall("".join(command for command, _ in pairs).encode())
            for command, right in pairs:
                got = replies.readline()
                while got and got.count("\n") < right.count("\n"):
                    got += replies.readline()
                if got != right and not (right == "" and got.strip().isdigit()):
                    raise WrongAnswer(f"{command!r}: {got!r} where {right!r} is right")
            done += len(pairs)
    return done


def client(port: int, number: int, until: float, result) -> None:
    model = Model(f"client_{number}", number)
    try:
        result.send((answers(port, model, until), model.increments, ""))
    except (WrongAnswer, OSError) as error:
        result.send((0, model.increments, str(error) or type(error).__name__))


def ask(port: int, text: str, lines: int) -> list[str]:
    with create_connection(("127.0.0.1", port), LATE) as connection:
        connection.sendall(text.encode())
        replies = connection.makefile("r", newline="\n", encoding="ascii")
        return [replies.readline().strip() for _ in range(lines)]


def memcached(command: list[str], seconds: float, log: Path) -> int:
    """Answers, all right, of one server under its clients."""
    with load.server(command, {}, str(log)) as port:
        for number in range(CLIENTS):
            ask(port, f"set shared_{number} 0 0 1\r\n0\r\n", 1)
        return clients(port, seconds)


def clients(port: int, seconds: float) -> int:
    until = time.monotonic() + seconds
    results, processes = [], []
    for number in range(CLIENTS):
        result, sent = Pipe(duplex=False)
        processes.append(Process(target=client, args=(port, number, until, sent)))
        processes[-1].start()
        results.append(result)
    told = [result.recv() if result.poll(seconds + 2 * LATE) else None for result in results]
    for process in processes:
        process.kill()
        process.join()
    if None in told:
        raise WrongAnswer("a client hangs")
    if wrong := [words for _, _, words in told if words]:
        raise WrongAnswer(wrong[0])
    for number in range(CLIENTS):
        (_, held, _) = ask(port, f"get shared_{number}\r\n", 3)
        if int(held) != sum(increments[number] for _, increments, _ in told):
            raise WrongAnswer(f"shared_{number} is {held}: increments were lost")
    return sum(done for done, _, _ in told)


# ---- Kyoto Cabinet ----


def kyoto(command: list[str], seconds: float, log: Path) -> int:
    """Runs of its tests, all of which came to their end."""
    until = time.monotonic() + seconds
    runs = 0
    while time.monotonic() < until:
        test = KYOTO[runs % len(KYOTO)]
        with log.open("w+") as out:
            done = subprocess.run([*command, *test], stdout=out, stderr=out, timeout=2 * LATE)
            out.seek(0)
            said = out.read()
        if done.returncode or "\nok\n" not in said or "error" in said.lower():
            raise WrongAnswer(f"{' '.join(test)} ended with {done.returncode}; see {log}")
        runs += 1
    return runs


# ---- the table ----


def row(options: argparse.Namespace, lock: str, folder: Path) -> tuple[str, bool]:
    """What is said of one lock, and whether it was right."""
    syncopate = [options.syncopate]
    record = folder / f"{lock.replace(':', '_')}.rec"
    kept = ["record", "-q", "-o", str(record)] if options.record else ["run"]
    command = [*syncopate, *kept, "--lock", lock, "--", options.program]
    of = kyoto if "kccachetest" in Path(options.program).name else memcached
    try:
        done = of(command, options.seconds, folder / f"{lock.replace(':', '_')}.log")
    except (WrongAnswer, RuntimeError, subprocess.TimeoutExpired) as error:
        return f"| `{lock}` | WRONG: {error} |", False
    what = "runs" if of is kyoto else "answers"
    return f"| `{lock}` | {done:,} {what}{did(syncopate, record) if options.record else ''} |", True


def did(syncopate: list[str], record: Path) -> str:
    """What a record's locks did: commits, falls back and aborts; runs ahead, whole and aborted."""
    said = subprocess.run(
        [*syncopate, "report", "--json", str(record)], check=True, capture_output=True
    ).stdout
    (report,) = json.loads(said)["records"]
    elided = [lock["elision"] for lock in report["locks"] if lock["elision"]]
    ahead = [lock["speculation"] for lock in report["locks"] if lock["speculation"]]
    counts = (
        sum(each["committed"] for each in elided),
        sum(each["fell_back"] for each in elided),
        sum(sum(each["aborts"].values()) for each in elided),
        sum(each["runs"] for each in ahead),
        sum(each["whole"] for each in ahead),
        sum(sum(each["aborts"].values()) for each in ahead),
    )
    return "".join(f" | {count:,}" for count in counts)


def rows(options: argparse.Namespace, folder: Path) -> Iterator[tuple[str, bool]]:
    with ThreadPoolExecutor(options.at_once) as pool:
        yield from pool.map(lambda lock: row(options, lock, folder), options.locks)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--locks", default=",".join(LOCKS))
    parser.add_argument("--at-once", type=int, default=1, metavar="N", help="so many locks beside")
    parser.add_argument("--record", metavar="FOLDER", type=Path, help="keep a record of each run")
    parser.add_argument("--syncopate", default=str(ROOT / "build/bin/syncopate"))
    options = parser.parse_args()
    options.locks = options.locks.split(",")
    with tempfile.TemporaryDirectory() as logs:
        folder = options.record or Path(logs)
        folder.mkdir(parents=True, exist_ok=True)
        right = True
        for said, this in rows(options, folder):
            print(said, flush=True)
            right &= this
    return int(not right)


if __name__ == "__main__":
    raise SystemExit(main())
