#!/usr/bin/env python3
"""Rewrites a real program by `syncopate transactionalize`, builds what comes out, and runs the
program's own tests on GCC's libitm and on ours, against the program as it is. README.md beside this
file says what came out."""

import argparse
import collections
import contextlib
import glob
import json
import os
import shlex
import shutil
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
LIBRARIES = ("gcc", "auto", "norec", "eager_norec", "tl2", "encounter_time")
MADE = (".o", ".lo", ".la", ".a")
SECONDS = 900  # for one test
CC = "rewritten-cc"
JOBS = 3  # tests at once: they sleep most of their time
# GCC 12 goes on with what its libitm's memcpy leaves in a register (tests/tm/test_copy_returns.c).
FLAGS = "-fgnu-tm -fno-caller-saves -w"


def main() -> int:
    with open(f"{HERE}/programs.toml", "rb") as file:
        programs = tomllib.load(file)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=sorted(programs))
    parser.add_argument("folder", help="where all is kept; goes on where a run was stopped")
    parser.add_argument("products", help="this project's build folder")
    parser.add_argument("--sources", help="a folder with the sources (default: Debian's package)")
    parser.add_argument("--libraries", default="gcc,auto,norec", help=f"of {','.join(LIBRARIES)}")
    options = parser.parse_args()
    libraries = options.libraries.split(",")
    if set(libraries) - set(LIBRARIES):
        parser.error(f"libraries are {', '.join(LIBRARIES)}")
    work = Work(options, programs[options.name])
    work.fetch()
    work.build_locks()
    work.rewrite()
    work.build_rewritten()
    return int(work.test(libraries))


class Work:
    def __init__(self, options: argparse.Namespace, program: dict):
        self.program, self.sources = program, options.sources
        self.folder = os.path.abspath(options.folder)
        self.products = os.path.abspath(options.products)
        # By its name alone: in makefiles a path with a blank is two words.
        os.makedirs(self.at("bin"), exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.symlink(f"{HERE}/cc.sh", self.at(f"bin/{CC}"))

    def at(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def within(self, tree: str) -> str:
        """The folder of a tree whose files are rewritten."""
        return os.path.normpath(os.path.join(self.at(tree), self.program.get("within", ".")))

    def fetch(self) -> None:
        if os.path.exists(self.at("fetched")):
            return
        if self.sources:
            shutil.copytree(self.sources, self.at("fetched"), symlinks=True)
            return
        name = self.program["package"]
        self._run(["sh", f"{ROOT}/integrations/debian_source.sh", self.folder, name], self.folder)
        (unpacked,) = glob.glob(f"{self.at('apt')}/{name}-*/")
        os.rename(unpacked, self.at("fetched"))

    def _run(self, command: list[str], folder: str, **environ: str) -> None:
        with open(self.at("log"), "a", encoding="utf-8") as log:
            done = subprocess.run(
                command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False,
                env={**os.environ, "CC": CC, "PATH": f"{self.at('bin')}:{os.environ['PATH']}",
                     **environ},
            )  # fmt: skip
        if done.returncode != 0:
            raise SystemExit(f"rewritten.py: {shlex.join(command)} failed; see {self.at('log')}")

    def _make(self, tree: str, **environ: str) -> None:
        self._run([*shlex.split(self.program["make"]), "-j2", f"CC={CC}"], self.at(tree), **environ)

    def build_locks(self) -> None:
        """The program as it is; FOLDER/calls says how each file was compiled."""
        if os.path.exists(self.at("locks")):
            return
        tree, calls = self.at("locks.new"), self.at("calls")
        for old in (tree, calls):
            shutil.rmtree(old, ignore_errors=True)
        shutil.copytree(self.at("fetched"), tree, symlinks=True)
        os.rename(tree, self.at("locks"))  # what is made remembers its place
        try:
            if self.program.get("configure"):
                self._run(shlex.split(self.program["configure"]), self.at("locks"))
            os.mkdir(calls)
            self._make("locks", REWRITTEN_LOG=calls)
        except BaseException:
            os.rename(self.at("locks"), tree)
            raise

    def compiled(self) -> tuple[list[str], list[str]]:
        """The sources that were compiled, and the flags most of them were compiled with."""
        sources, flags = set(), collections.Counter()
        for name in os.listdir(self.at("calls")):
            with open(os.path.join(self.at("calls"), name), encoding="utf-8") as file:
                folder, *words = file.read().split("\n")
            given = [os.path.normpath(os.path.join(folder, w)) for w in words if w.endswith(".c")]
            ours = {path for path in given if path.startswith(self.within("locks") + os.sep)}
            if "-c" in words and ours:
                sources |= {path for path in ours if os.path.exists(path)}
                flags[tuple(_preprocessed_by(words, folder))] += 1
        return sorted(sources), list(flags.most_common(1)[0][0])

    def headers(self, sources: list[str], flags: list[str]) -> list[str]:
        """The headers of the program's own that the sources include."""

        def of(source: str) -> set[str]:
            folder = os.path.dirname(source)
            done = subprocess.run(["gcc", "-MM", "-w", *flags, source], cwd=folder, check=False,
                                  capture_output=True, text=True)  # fmt: skip
            paths = done.stdout.replace("\\\n", " ").partition(":")[2].split()
            return {os.path.normpath(os.path.join(folder, path)) for path in paths}

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            found = set().union(*pool.map(of, sources))
        return sorted(p for p in found if p.startswith(self.within("locks")) and p.endswith(".h"))

    def rewrite(self) -> None:
        if os.path.exists(self.at("rewritten.json")):
            return
        sources, flags = self.compiled()
        plain = set(self.program.get("plain", "").split())
        files = [p for p in sources if os.path.basename(p) not in plain]
        files += self.headers(sources, flags)
        words = ["--words", self.program["words"]] if self.program.get("words") else []
        done = subprocess.run(
            [f"{self.products}/bin/syncopate", "transactionalize", "--atomic", *words,
             "-o", self.at("out"), "--json", self.at("rewritten.json"), *files, "--", *flags],
            check=False, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        if done.returncode not in (0, 3):  # 3: something is listed
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.at("rewritten.json"))
            raise SystemExit(f"rewritten.py: transactionalize failed: {done.stderr[-400:]}")
        with open(self.at("left"), "w", encoding="utf-8") as file:
            file.write(done.stderr)

    def build_rewritten(self) -> None:
        """In a copy of the tree with locks, in which only what is rewritten is made again."""
        if os.path.exists(self.at("transactions")):
            return
        tree = self.at("transactions.new")
        shutil.rmtree(tree, ignore_errors=True)
        shutil.copytree(self.at("locks"), tree, symlinks=True)
        os.rename(tree, self.at("transactions"))
        try:
            inside = self.within("transactions")
            for path in glob.glob(f"{inside}/**/*", recursive=True, include_hidden=True):
                if path.endswith(MADE) or (os.access(path, os.X_OK) and _is_program(path)):
                    os.unlink(path)
            sources, flags = self.compiled()
            base = os.path.commonpath([os.path.dirname(p) for p in
                                       [*sources, *self.headers(sources, flags)]])  # fmt: skip
            shutil.copytree(self.at("out"), os.path.join(self.at("transactions"), os.path.relpath(
                base, self.at("locks"))), dirs_exist_ok=True)  # fmt: skip
            with open(self.at("flags"), "w", encoding="utf-8") as file:  # where blanks may be
                file.write(f'{FLAGS} "-I{ROOT}/include" "{self.products}/lib/libsyncopate-tm.a"\n')
                file.write("-litm\n")
            self._make(
                "transactions",
                REWRITTEN_PLAIN=self.program.get("plain", ""),
                REWRITTEN_FLAGS=self.at("flags"),
            )
        except BaseException:
            os.rename(self.at("transactions"), tree)
            raise

    def test(self, libraries: list[str]) -> bool:
        """Whether one of the program's own tests fails that does not with locks."""
        with open(self.at("rewritten.json"), encoding="utf-8") as file:
            locks = json.load(file)["locks"].values()
        done, atomic = (sum(lock[key] for lock in locks) for key in ("rewritten", "atomic"))
        print(f"{len(locks)} locks, {sum(lock['sections'] for lock in locks)} sections: {done}"
              f" transactions, {atomic} of them atomic", flush=True)  # fmt: skip
        known, count = self._failing("locks", {})
        print(f"locks: {count} tests; fail: {', '.join(sorted(known)) or 'none'}", flush=True)
        any_new = False
        for library in libraries:
            environ = {} if library == "gcc" else {
                "LD_LIBRARY_PATH": f"{self.products}/lib/tm", "SYNCOPATE_TM": library
            }  # fmt: skip
            failing, count = self._failing("transactions", environ)
            new = ", ".join(sorted(failing - known)) or "none"
            print(f"on {library}: {count} tests; fail now: {new}", flush=True)
            any_new |= bool(failing - known)
        return any_new

    def _failing(self, tree: str, environ: dict[str, str]) -> tuple[set[str], int]:
        names = []
        for test in self.program["tests"]:
            each = sorted(glob.glob(test.get("each", ""), root_dir=self.at(tree)))
            names += [f"{test['command']} {name}".strip() for name in each or [""]]
        with ThreadPoolExecutor(JOBS) as pool:
            passed = pool.map(lambda name: self._passes(tree, name, environ), names)
            return {name for name, well in zip(names, passed, strict=True) if not well}, len(names)

    def _passes(self, tree: str, name: str, environ: dict[str, str]) -> bool:
        with open(self.at(f"{tree}.log"), "a", encoding="utf-8") as log:
            running = subprocess.Popen(
                shlex.split(name), cwd=self.at(tree), env={**os.environ, **environ}, stdout=log,
                stderr=log, stdin=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
            try:
                return running.wait(SECONDS) == 0
            except subprocess.TimeoutExpired:
                return False
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(running.pid, 9)  # and what it left
                running.wait()


def _preprocessed_by(words: list[str], folder: str) -> list[str]:
    """Of a compiler's arguments those that a source means something by, paths absolute."""
    found, rest = [], iter(words)
    for word in rest:
        if word in ("-I", "-D", "-U", "-include", "-isystem"):
            word, value = word, next(rest, "")
            found += [word, _absolute(word, value, folder)]
        elif word.startswith(("-D", "-U", "-std=")) or word == "-pthread":
            found.append(word)
        elif word.startswith("-I"):
            found.append("-I" + _absolute("-I", word[2:], folder))
    return found


def _absolute(option: str, value: str, folder: str) -> str:
    if option in ("-D", "-U"):
        return value
    return os.path.normpath(os.path.join(folder, value))


def _is_program(path: str) -> bool:
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


if __name__ == "__main__":
    sys.exit(main())
