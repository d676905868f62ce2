#!/usr/bin/env python3
"""memcached 1.4.5 itself on the simulated machine of the always-abort paper, under several locks.

    integrations/memcached/simulated.py build/memcached-simulated --json FILE.json

The paper's figure 9: server and client on one machine, each on a socket of its own (here the client
alone is bound to one), 32 client threads, keys of 8 bytes, values of 128; 10 and 50 % sets. What
FOLDER lacks is made, by its own build system and `syncopate cc`: libevent of Debian's source
package, memcached of its authors' repository (or --memcached FOLDER, with its sources). Each run's
answers are all looked at (memload.c); --again runs each point twice and compares the rates.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
COMMAND = [sys.executable, "-m", "syncopate"]
MACHINE = "broadwell-2x18"
CLIENTS, REQUESTS, KEYS = 32, 100, 3200
SOCKET = (18, 18)  # the client's: its first processor, and how many
SETS = (10, 50)
LOCKS = {
    "default": "futex", "auto": "auto", "mcs": "mcs", "tatas": "tatas:spin",
    "ticket": "ticket:spin", "tatas-aahtm": "speculative_tatas",
    "ticket-aahtm": "speculative_ticket", "htm-10": "htm_10",
}  # fmt: skip


def call(command: list, folder: Path, log: Path) -> None:
    with open(log, "ab") as to:
        done = subprocess.run(
            [str(word) for word in command],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), "SYNCOPATE_QUIET": "1"},
            stdout=to,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if done.returncode:
        raise SystemExit(f"simulated.py: {command[0]} failed; see {log}")


def make_compiler(folder: Path) -> Path:
    """A compiler in one word, as CMake wants it."""
    compiler = folder / "cc"
    words = " ".join([*COMMAND, "cc", "--machine=simulated"])
    compiler.write_text(f'#!/bin/sh\nexec {words} "$@"\n', encoding="utf-8")
    compiler.chmod(0o755)
    return compiler


def make_libevent(folder: Path, compiler: Path, log: Path) -> Path:
    installed = folder / "libevent"
    if (installed / "lib" / "libevent.a").exists():
        return installed
    call([ROOT / "integrations" / "debian_source.sh", folder, "libevent"], folder, log)
    (source,) = (folder / "apt").glob("libevent-*/")
    built = folder / "libevent-build"
    built.mkdir(exist_ok=True)
    off = [f"-DEVENT__DISABLE_{what}=ON" for what in ("OPENSSL", "TESTS", "SAMPLES", "BENCHMARK")]
    call(["cmake", f"-DCMAKE_C_COMPILER={compiler}", "-DCMAKE_C_FLAGS=-O2 -g", *off,
          "-DEVENT__LIBRARY_TYPE=STATIC", f"-DCMAKE_INSTALL_PREFIX={installed}", source],
         built, log)  # fmt: skip
    call(["make", "-j2", "install"], built, log)
    return installed


def make_server(folder: Path, sources: str | None, compiler: Path, log: Path) -> Path:
    base = folder / "memcached-1.4.5"
    if (base / "memcached").exists():
        return base / "memcached"
    libevent = make_libevent(folder, compiler, log)
    shutil.rmtree(base, ignore_errors=True)
    if sources:
        shutil.copytree(sources, base)
    else:
        call(["git", "clone", "--quiet", "--depth", "1", "--branch", "1.4.5",
              "https://github.com/memcached/memcached", base], folder, log)  # fmt: skip
    if not (base / "configure").exists():  # its own script looks for automakes of 2010
        (base / "version.m4").write_text("m4_define([VERSION_NUMBER], [1.4.5])\n", encoding="utf-8")
        for command in ("aclocal", "autoheader", "automake --foreign --add-missing", "autoconf"):
            call(command.split(), base, log)
    call(["./configure", "--disable-coverage", "--disable-docs", f"CC={compiler}",
          "CFLAGS=-O2 -g -w -fcommon -pthread", f"--with-libevent={libevent}"],
         base, log)  # fmt: skip
    call(["make", "-j2", "memcached"], base, log)
    return base / "memcached"


def run(server: Path, client: Path, lock: str, threads: int, sets: int, seed: int) -> float:
    """Thousands of requests a second."""
    told = [11211, CLIENTS, REQUESTS, KEYS, sets, seed, *SOCKET]
    user = ["-u", "root"] if os.getuid() == 0 else []
    done = subprocess.run(
        [*COMMAND, "simulate", "-m", MACHINE, "--quiet",
         "--client", " ".join(map(str, [client, *told])),
         str(server), *user, "-p", "11211", "-U", "0", "-t", str(threads)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "SYNCOPATE_LOCK": lock},
        capture_output=True, text=True, check=False, timeout=1200,
    )  # fmt: skip
    found = re.search(r"(\d+) requests a second", done.stdout)
    if done.returncode or not found:
        raise SystemExit(f"simulated.py: {lock}, {threads} threads: {done.stderr or done.stdout}")
    return int(found[1]) / 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folder", type=Path, help="where the programs are made")
    parser.add_argument("--memcached", help="memcached 1.4.5's sources; else they are cloned")
    parser.add_argument("--threads", default="1,4,8,18", help="the server's")
    parser.add_argument("--locks", default=",".join(LOCKS), help=f"of {', '.join(LOCKS)}")
    parser.add_argument("--seeds", type=int, default=3, help="draws of the keys")
    parser.add_argument("--again", action="store_true", help="each point twice, to be equal")
    parser.add_argument("--json", type=Path, help="where all values go")
    options = parser.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "simulated.log"
    compiler = make_compiler(folder)
    server = make_server(folder, options.memcached, compiler, log)
    client = folder / "memload.so"
    call([compiler, "-O2", "-shared", "-fPIC", HERE / "memload.c", "-o", client], folder, log)

    threads = [int(n) for n in options.threads.split(",")]
    rows = []
    for sets in SETS:
        print(f"{sets} % sets: thousands of requests a second, by the server's threads")
        print("  " + "lock".ljust(14) + "".join(f"{n:>9}" for n in threads))
        for name in options.locks.split(","):
            line = f"  {name:14}"
            for n in threads:
                given = (server, client, LOCKS[name], n, sets)
                values = [run(*given, seed) for seed in range(options.seeds)]
                if options.again and values != [run(*given, s) for s in range(options.seeds)]:
                    raise SystemExit(f"simulated.py: {name}, {n} threads: two runs differ")
                rows.append({"sets": sets, "lock": name, "threads": n, "thousands": values})
                line += f"{statistics.median(values):9.0f}"
            print(line, flush=True)
    if options.json:
        what = {"machine": MACHINE, "clients": CLIENTS, "requests": REQUESTS, "keys": KEYS}
        options.json.write_text(json.dumps({**what, "rows": rows}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
