"""Feeds damaged files to the commands that read files, each in this one process: `damage.py FOLDER
FIRST LAST` for the seeds from FIRST up to LAST; FOLDER has a program, `prog`.

Prints a line for each that was answered in another way than with a result or with one line: its
seed, and what happened. The last line counts the answers.
"""

import collections
import contextlib
import io
import json
import random
import resource
import signal
import struct
import sys
import tempfile
import traceback
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent)]

from make_record import RecordBuilder  # noqa: E402

from syncopate.__main__ import main as syncopate  # noqa: E402

MOST_MEMORY = 4 << 30
PATIENCE = 120  # seconds; none takes one. It is there to end what would never end
EXTREMES = (0, 1, 2, 63, 255, 4095, 4096, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**64 - 1)

POLICY = """schema = "syncopate-policy"
version = 1
[default]
lock = "auto"
elide = "off"
reason = "because"
[[lock]]
variable = "cache_lock+0x28"
module = "/bin/true"
build_id = "abcdef"
lock = "ticket:spin"
[[lock]]
created = "make(int)"
elide = "always"
[[lock]]
used = "Map::get"
prefer = "readers"
"""
WHATIF = {
    "schema": "syncopate-whatif", "version": 1, "machine": "/m/this.toml",
    "lock": {"name": "either+0x4000", "algorithm": "auto", "acquisitions": 5, "contended": 2,
             "hold_ns": 10.5, "members": 1, "threads": 2, "outside_ns": [1, 2], "recorded_rate": 7},
    "assumptions": ["shards are used evenly"],
    "answers": [{"what": "halve", "label": "halve the section", "threads": 2, "before": 10.0,
                 "after": 20.0, "gain": 2.0, "low": 1.5, "high": 2.5}],
}  # fmt: skip
SECTIONS = {
    "schema": "syncopate-sections-report", "version": 1, "machine": "this", "l1_bytes": 32768,
    "line_bytes": 64, "sections_not_watched": 3,
    "locks": [{
        "name": "table_lock", "locks": 1, "threads": 2, "sections": 100, "shared": 0, "pairs": 50,
        "conflicting": 20, "sharing_lines": 10, "friendly": 90, "calling": 5, "read_only": 10,
        "too_large": 3, "calls": [{"function": "write", "place": "a.c:3"}],
        "taken_at": [{"place": "f at a.c:5", "count": 9}],
        "read_lines": {"median": 2, "p99": 5}, "written_lines": {"median": 1, "p99": 3},
        "shared_lines": [{"first": "a", "second": "b", "pairs": 9, "alone": 5,
                          "met_at": [{"first": "a.c:1", "second": "a.c:2", "count": 4}]}],
        "conflicts": [{"field": "table.size", "pairs": 20, "alone": 15,
                       "met_at": [{"first": "a.c:1", "second": "a.c:2", "count": 4}]}],
    }],
}  # fmt: skip
INTERPRETER = {
    "elided": True, "overhead": 70, "transactions": 110, "aborts": 30, "fallbacks": 10,
    "cycles": {"useful": 600, "aborted": 200, "waiting": 150, "overhead": 50},
    "points": [{"pc": "0x10", "length": 24, "transactions": 10, "fallbacks": 0,
                "aborts": {"capacity": 5}, "lengths": [[1, 2], [3, 4]]}],
}  # fmt: skip


def record(program: Path | str) -> RecordBuilder:
    """A record with something of everything, whose stacks and locks lie in the program, too."""
    builder = RecordBuilder()
    stacks = [builder.stack(0x1140 + 9 * n, 0x1100 + n, 0x600100) for n in range(4)]
    threads = [builder.thread(100 + n, f"worker-{n}", stack=stacks[0]) for n in range(3)]
    locks = [builder.lock(0x4000 + 32 * n, 1 + n % 9, 10, create=stacks[n % 4] if n % 2 else 0,
                          first=stacks[n % 4], holds=[100, 3000]) for n in range(12)]  # fmt: skip
    for thread in threads:
        for number, lock in enumerate(locks):
            builder.row(thread, lock, 1 + number % 8, [1000, 2000 * (thread + 1)])
            builder.wait(thread, lock, 1_100_000, 1_101_000, stacks[thread], 101, 1,
                         1 + number % 8, (500, 2, 1))  # fmt: skip
            builder.hold(thread, lock, 1_100_000, 1_100_500, stacks[3])
        builder.elision(thread, locks[0], [5, 2, 1, 1])
        builder.holder(thread, locks[0], 66, [3, 5, 66])
    for number in range(4):  # they wait for each other, for ever
        since, lock, kind = 1_200_000 + number, locks[number], (1, 4, 15, 16)[number]
        holder, handle = 200 + (number + 1) % 4, 0x7000 + number
        wait = (since, 0, 0x1140, lock, kind, holder, stacks[number], number % 4)
        builder.thread(200 + number, f"stuck-{number}", end=0, stack=stacks[0], handle=handle,
                       waits=wait, reads=(0x4020,), seen=(since, since, holder))  # fmt: skip
    builder.maps = (
        f"00000000-00010000 r-xp 00000000 08:01 1 {program}\n"
        "00600000-00601000 rw-p 00001000 08:01 1 /no/such/program\n"
        "build-id 600000 600000 abcdef0123456789\n"
        "pointers 1000\npointer 4018 4000\npointer 4020 4020\n"
    )
    builder.measured = json.dumps(
        {"seconds": 1, "user_seconds": 2, "system_seconds": 3,
         "meters": [{"name": "package-0", "source": "perf", "joules": 5}], "rejected": []}
    )  # fmt: skip
    return builder


def packed(good: Path, folder: Path) -> Path:
    """A bundle of that record and a program."""
    target = folder / "good.bundle"
    if not target.exists():
        with zipfile.ZipFile(target, "w") as into:
            into.write(good, "records/0")
            into.write(folder / "prog", "modules/0", zipfile.ZIP_DEFLATED)
            modules = [{"file": "modules/0", "of": "/no/such/either", "has_code": True}]
            listed = {"schema": "syncopate-bundle", "version": 1, "modules": modules,
                      "records": [{"file": "records/0", "name": "good"}]}  # fmt: skip
            into.writestr("bundle.json", json.dumps(listed))
    return target


def flipped(dice: random.Random, raw: bytes, first: int = 0) -> bytes:
    image = bytearray(raw)
    for _ in range(dice.choice([1, 3, 10, 200])):
        at = dice.randrange(first, len(image))
        if dice.random() < 0.5:
            image[at] = dice.randrange(256)
        else:
            width = dice.choice("HIQ")
            at -= at % struct.calcsize(width)
            if at >= first and at + struct.calcsize(width) <= len(image):
                value = dice.choice(EXTREMES) & (1 << 8 * struct.calcsize(width)) - 1
                struct.pack_into(width, image, at, value)
    return bytes(image[: dice.randrange(1, len(image))] if dice.random() < 0.1 else image)


def strange(dice: random.Random):
    deep: list = []
    for _ in range(dice.choice([10, 400, 3000])):
        deep = [deep]
    return dice.choice([
        None, True, -1, 0, 10**400, -(10**30), 1e308, 1.5, "", "\x1b[31m\u202e", "x" * 5000, [], {},
        [[]], [None], {"a": 1}, deep, "<" * 3000, float("inf"), "1e5",
    ])  # fmt: skip


def bent(dice: random.Random, data):
    """The data with some of its parts left out, doubled or replaced."""
    places = list(_places(data))
    for _ in range(dice.choice([1, 2, 5])):
        holder, key = dice.choice(places)
        what = dice.random()
        with contextlib.suppress(LookupError, TypeError):  # it may be gone by now
            if what < 0.25:
                del holder[key]
            elif what < 0.35 and isinstance(holder, list):
                holder.extend(holder[:50])
            else:
                holder[key] = strange(dice)
    return data


def _places(data):
    if isinstance(data, dict | list):
        keys = data if isinstance(data, dict) else range(len(data))
        for key in list(keys):
            yield data, key
            yield from _places(data[key])


def as_json(dice: random.Random, data) -> bytes:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        text = json.dumps(bent(dice, json.loads(json.dumps(data)))).encode()
    finally:
        sys.setrecursionlimit(limit)
    return flipped(dice, text) if dice.random() < 0.3 else text


class Case:
    """One damaged file, and the command that gets it."""

    def __init__(self, seed: int, folder: Path, told: dict):
        dice = random.Random(seed)
        whole = record("/no/such/either")
        good = folder / "good.rec"
        if not good.exists():
            whole.write(good)
        self.path = folder / "damaged.json"
        self.out = folder / "page"
        kind = self.kind = dice.choice(
            ["record"] * 4
            + ["bundle", "program", "policy", "whatif", "diff", "advise", "interpreter"]
        )
        bad, page = str(self.path), ["--html", str(self.out)]
        if kind == "record":
            self.content = flipped(dice, whole.build(), 12)
            self.command = dice.choice([
                ["report", bad], ["report", "--json", bad], ["report", "--folded", bad],
                ["report", *page, bad], ["report", "--perfetto", str(self.out), bad],
                ["report", "--firefox", str(self.out), bad],
                ["diff", str(good), bad], ["diff", bad, str(good), *page],
                ["report", "--sort", dice.choice(["p99", "hold", "share"]), "--top", "3", bad],
            ])  # fmt: skip
        elif kind == "bundle":
            self.content = flipped(dice, packed(good, folder).read_bytes())
            self.command = ["report", *dice.choice([[], ["--json"]]), bad]
        elif kind == "program":
            self.content = flipped(dice, (folder / "prog").read_bytes())
            named = record(self.path).write(folder / "named.rec")
            self.command = ["report", *dice.choice([[], ["--json"]]), str(named)]
        elif kind == "policy":
            self.content = flipped(dice, POLICY.encode())
            self.command = ["report", *page, "--policy", bad, str(good)]
        elif kind == "whatif":
            self.content = as_json(dice, WHATIF)
            self.command = ["report", *page, "--whatif", bad, str(good)]
        elif kind == "diff":
            self.content = as_json(dice, told)
            self.command = ["diff", *dice.choice([[], page, ["--json"]]), str(good), bad]
        elif kind == "advise":
            self.content = as_json(dice, SECTIONS)
            self.command = ["advise", *dice.choice([[], ["--json", "-"]]), bad]
        else:
            self.content = as_json(dice, INTERPRETER)
            self.command = ["report", bad]

    def run(self) -> str | None:
        """What is wrong with how it was answered; None when nothing is."""
        self.path.write_bytes(self.content)
        said = io.StringIO()
        with (
            tempfile.TemporaryFile("w") as out,
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(said),
        ):
            status = self.status = syncopate(self.command)
        lines = said.getvalue().splitlines()
        if status == 0:
            return None
        if status not in (1, 2) or len(lines) != 1 or not lines[0].startswith("syncopate: "):
            return f"status {status}, said {said.getvalue()[:300]!r}"
        return None if lines[0].isprintable() and len(lines[0]) < 2000 else f"said {lines[0]!r}"


def too_long(*_):
    raise TimeoutError


def main(folder: Path, seeds: range) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    signal.signal(signal.SIGALRM, too_long)
    whole = record(folder / "prog").write(folder / "whole.rec")
    with (folder / "told.json").open("w") as file, contextlib.redirect_stdout(file):
        syncopate(["report", "--json", str(whole)])
    told = json.loads((folder / "told.json").read_text())
    answers = collections.Counter()
    for seed in seeds:
        case = Case(seed, folder, told)
        signal.alarm(PATIENCE)
        try:
            wrong = case.run()
            answers[case.kind, case.status] += 1
        except BaseException:
            wrong = traceback.format_exc()
        signal.alarm(0)
        if wrong:
            print(f"seed {seed}: {case.command}: {wrong}", flush=True)
    print(f"fed {len(seeds)}:", *(f"{kind}={status} x{n}" for (kind, status), n in answers.items()))


if __name__ == "__main__":
    main(Path(sys.argv[1]), range(int(sys.argv[2]), int(sys.argv[3])))
