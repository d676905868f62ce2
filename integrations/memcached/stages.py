#!/usr/bin/env python3
"""The stages of "Transactionalizing Legacy Code" (ASPLOS 2014) on the paper's own program: fetches
memcached, rewrites it, builds each stage, runs its own tests on each libitm, counts what ran alone,
and times it against locks. README.md beside this file says what came out."""

import argparse
import os
import shutil
import statistics
import subprocess
import sys

import load
import suite

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
LEVELS = ("", "-callable", "-max", "-lib", "-oncommit")
STAGES = tuple(branch + level for branch in ("ip", "it") for level in LEVELS)
LIBRARIES = ("gcc", "auto", "norec", "eager_norec", "tl2", "encounter_time")
NOT_COUNTED = ("gcc", "auto")  # GCC's does not count; auto is one of the others
WORDS = "^(item_locks|item_global_lock|init_lock|slabs_rebalance_lock)$"
# The paper's locks. Others, which nothing here takes within sections of these, stay: conn_lock's
# section calls libevent.
LOCKS = rf"^(cache_lock|slabs_lock|stats_lock|thread_stats\.mutex)$|{WORDS}"
PURE = "^event_get_version$"  # gives the address of a constant
# fmt: off
NAMES = [
    "memcached.c", "memcached.h", "hash.c", "hash.h", "slabs.c", "slabs.h", "items.c", "items.h",
    "assoc.c", "assoc.h", "thread.c", "daemon.c", "stats.c", "stats.h", "util.c", "util.h",
    "trace.h", "cache.c", "cache.h", "sasl_defs.h", "protocol_binary.h",
]
# fmt: on
# GCC 12 goes on with what its libitm's memcpy leaves in a register (tests/tm/test_copy_returns.c):
# without this, binary statistics crash there. Ours needs no such thing.
FOR_GCC = "-fno-caller-saves"
TEST_PROGRAMS = ["testapp", "timedrun", "sizes"]
CFLAGS = "-O2 -g -w -fcommon -pthread"


def main() -> int:
    options = _options()
    work = Work(options)
    work.fetch()
    for branch in sorted({stage[:2] for stage in options.stages}):
        work.rewrite(branch)
    for stage in ("locks", *options.stages):
        work.build(stage)
    failed = False
    if "tests" in options.do:
        failed |= work.test()
    if "counts" in options.do:
        failed |= work.count()
    if "times" in options.do:
        work.time()
    return int(failed)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", help="where all is kept; goes on where a run was stopped")
    parser.add_argument("products", help="this project's build folder")
    parser.add_argument("--sources", help="a folder with memcached 1.4.15 (default: fetched)")
    _list(parser, "--stages", STAGES)
    _list(parser, "--libraries", LIBRARIES)
    _list(parser, "--do", ("tests", "counts", "times"))
    parser.add_argument("--tests", default="", metavar="REGEX", help="only tests that it finds")
    parser.add_argument("--each", type=int, default=10000, help="operations of each connection")
    parser.add_argument("--rounds", type=int, default=5, help="interleaved rounds of times")
    return parser.parse_args()


def _list(parser: argparse.ArgumentParser, name: str, known: tuple[str, ...]) -> None:
    """An option that takes some of the known names, with commas; all unless it is given."""

    def read(text: str) -> list[str]:
        names = text.split(",")
        if set(names) - set(known):
            raise argparse.ArgumentTypeError(f"known are {', '.join(known)}")
        return names

    parser.add_argument(name, type=read, default=list(known), help=f"of {','.join(known)}")


class Work:
    def __init__(self, options: argparse.Namespace):
        self.options = options
        self.folder = os.path.abspath(options.folder)
        self.products = os.path.abspath(options.products)
        self.syncopate = os.path.join(self.products, "bin/syncopate")

    def tree(self, stage: str) -> str:
        return os.path.join(self.folder, "built", stage)

    def environ(self, library: str) -> dict[str, str]:
        if library == "gcc":
            return {}
        return {"LD_LIBRARY_PATH": f"{self.products}/lib/tm", "SYNCOPATE_TM": library}

    def fetch(self) -> None:
        sources = [os.path.abspath(self.options.sources)] if self.options.sources else []
        subprocess.run(["sh", f"{HERE}/fetch.sh", self.folder, "1.4.15", *sources], check=True)

    def rewrite(self, branch: str) -> None:
        """All stages of a branch: FOLDER/stages/STAGE and the patches between them. What runs alone
        at each stage, and why, is in FOLDER/BRANCH.json."""
        said = f"{self.folder}/{branch}.json"
        if os.path.exists(said):
            return
        asked = [word for level in LEVELS for word in ("--stage", branch + level)]
        base = os.path.join(self.folder, "base")
        include = os.path.join(self.folder, "libevent/usr/include")
        triplet = subprocess.run(
            ["gcc", "-print-multiarch"], check=True, capture_output=True, text=True
        ).stdout.strip()
        done = subprocess.run(
            [self.syncopate, "transactionalize", *asked, "--lock", LOCKS, "--words", WORDS,
             "--pure", PURE, "-o", f"{self.folder}/stages", "--json", f"{said}.new",
             *(f"{base}/{name}" for name in NAMES), "--",
             "-DHAVE_CONFIG_H", "-DNDEBUG", "-pthread", f"-I{base}", f"-I{include}",
             f"-I{include}/{triplet}"], check=False,
        )  # fmt: skip
        if done.returncode not in (0, 3):  # 3: something is listed
            raise SystemExit("stages.py: transactionalize failed")
        os.rename(f"{said}.new", said)

    def build(self, stage: str) -> None:
        """memcached; the programs of its tests are built once, from its sources as they are. They
        start memcached-debug, which is memcached here: assertions print within sections."""
        tree = self.tree(stage)
        if os.path.exists(f"{tree}/memcached-debug"):
            return
        shutil.rmtree(tree, ignore_errors=True)
        shutil.copytree(f"{self.folder}/base", tree, symlinks=True)
        flags, libraries, targets = CFLAGS, "-levent", ["memcached"]
        if stage == "locks":
            targets += TEST_PROGRAMS
        else:
            shutil.copytree(f"{self.folder}/stages/{stage}", tree, dirs_exist_ok=True)
            flags += f" -fgnu-tm {FOR_GCC} -I{ROOT}/include"
            libraries += f" {self.products}/lib/libsyncopate-tm.a -litm"
            for name in TEST_PROGRAMS:
                shutil.copy2(f"{self.tree('locks')}/{name}", tree)
        with open(f"{tree}/make.log", "w", encoding="utf-8") as log:
            made = subprocess.run(
                ["make", "-j2", *targets, f"CFLAGS={flags}", f"LIBS={libraries}"],
                cwd=tree, stdout=log, stderr=log, check=False,
            )  # fmt: skip
        if made.returncode != 0:
            raise SystemExit(f"stages.py: {stage} does not build; see {tree}/make.log")
        shutil.copy2(f"{tree}/memcached", f"{tree}/memcached-debug")

    def test(self) -> bool:
        """Whether one of memcached's own tests fails that does not without our changes."""
        only = self.options.tests
        passed, known = suite.run(self.tree("locks"), {}, only)
        print(f"locks: {passed} tests pass; fail: {', '.join(sorted(known)) or 'none'}", flush=True)
        any_new = False
        for stage in self.options.stages:
            for library in self.options.libraries:
                passed, failed = suite.run(self.tree(stage), self.environ(library), only)
                new = ", ".join(sorted(failed - known)) or "none"
                print(f"{stage} on {library}: {passed} pass; fail now: {new}", flush=True)
                any_new |= bool(failed - known)
        return any_new

    def count(self) -> bool:
        """The paper's tables 1 to 4, under each of our algorithms; whether something began alone or
        had to after onCommit."""
        row = "{:12} {:14} {:>12} {:>16} {:>16} {:>14} {:>8}"
        print(row.format("", "", "transactions", "in-flight switch", "start serial",
                         "abort serial", "retries"))  # fmt: skip
        alone = False
        for stage in self.options.stages:
            for algorithm in (one for one in self.options.libraries if one not in NOT_COUNTED):
                found = load.counted(self.tree(stage), self.syncopate, algorithm, self.options.each)
                cells = [
                    f"{found[why]} ({100 * found[why] / found['transactions']:.1f} %)"
                    for why in ("in_flight", "start_serial")
                ]
                cells = [found["transactions"], *cells, found["after_failures"], found["retries"]]
                print(row.format(stage, algorithm, *cells), flush=True)
                ends = stage.endswith("-oncommit")
                alone |= ends and bool(found["in_flight"] + found["start_serial"])
        return alone

    def time(self) -> None:
        """Seconds of memslap's sets and gets, in turn, against locks."""
        ways = [("locks", "gcc")]
        ways += [(s, of) for s in self.options.stages for of in self.options.libraries]
        taken = {(way, kind): [] for way in ways for kind in ("set", "get")}
        for _ in range(self.options.rounds):
            for stage, library in ways:
                tree = self.tree(stage)
                command, environ = [f"{tree}/memcached"], self.environ(library)
                with load.server(command, environ, f"{tree}/load.log") as port:
                    for kind in ("set", "get"):
                        taken[(stage, library), kind].append(
                            load.memslap(port, self.options.each, kind)
                        )
        for (way, kind), all_of in taken.items():
            middle = statistics.median(all_of)
            ratio = middle / statistics.median(taken[ways[0], kind])
            print(f"{kind} {way[0]} on {way[1]}: {middle:.3f} s ({min(all_of):.3f} to"
                  f" {max(all_of):.3f}), {ratio:.2f} of locks", flush=True)  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
