#!/usr/bin/env python3
"""clang-tidy over the given files, in parallel; a file that is as it was when it passed is not read
again: neither it, nor a header of ours that it includes, nor its flags, nor the checks.

Usage: tidy.py --build FOLDER [--jobs N] FILE...
FOLDER holds compile_commands.json; passed files leave their stamps in FOLDER/tidy.
A file that is built in several ways is read in the first of them.
Prints the findings; exit status 1 when there is one, 2 for wrong use.
"""

import argparse
import hashlib
import json
import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

CLANG = "clang++"
CHECKS = ".clang-tidy"
WITHOUT_COMMAND = ["-std=c++20", "-Iinclude", "-Isrc"]  # built by a test, not by CMake
ONLY_GCC = "-fgnu-tm"  # clang does not know transactions
# Without x87 registers clang reads no libstdc++ header.
DROPPED = {"-c", "-mgeneral-regs-only"}
DROPPED_WITH_VALUE = {"-o", "--param"}
# clang counts the elements of large tables that are initialized at compile time.
ADDED = ["-Wno-unknown-warning-option", "-fconstexpr-steps=1000000000"]


def flags_of(command):
    """Returns the flags of a compile command that concern clang: no compiler, output, source."""
    words, flags = iter(shlex.split(command)[1:-1]), []
    for word in words:
        if word in DROPPED_WITH_VALUE:
            next(words, None)
        elif word not in DROPPED:
            flags.append(word)
    return [*flags, *ADDED]


def flags_by_file(build):
    """Returns {absolute path: flags of the first command that compiles it}."""
    text = (build / "compile_commands.json").read_text(encoding="utf-8")
    found = {}
    for entry in json.loads(text):
        found.setdefault(entry["file"], flags_of(entry["command"]))
    return found


def headers_of(file, flags):
    """Returns the file and the headers that it includes, the system's left out; none if unknown."""
    command = [CLANG, *flags, "-MM", file]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return [] if done.returncode else done.stdout.replace("\\\n", " ").split()[1:]


def digest(paths, flags):
    """Returns what changes when a finding may have changed; None when a path is gone."""
    total = hashlib.sha256("\0".join(flags).encode())
    try:
        for path in [CHECKS, *paths]:
            total.update(Path(path).read_bytes())
    except OSError:
        return None
    return total.hexdigest()


def is_stamped(stamp, flags):
    """Whether the file passed as it is now."""
    try:
        passed = json.loads(stamp.read_text(encoding="utf-8"))
        return passed["digest"] == digest(passed["files"], flags)
    except (OSError, ValueError, KeyError):
        return False


def tidy(file, flags, stamp):
    """Runs clang-tidy; returns its findings, empty when the file passed, which is then stamped."""
    command = ["clang-tidy", "--quiet", file, "--", *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode or done.stdout.strip():
        return done.stdout.strip() or f"{file}: {done.stderr.strip()}"
    if paths := headers_of(file, flags):
        stamp.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"digest": digest(paths, flags), "files": paths})
        stamp.write_text(text, encoding="utf-8")
    return ""


def check(files, known, stamps, jobs):
    """Checks the files that are not stamped; prints findings. Returns how many files have some."""

    def flags_for(file):
        return known.get(os.path.abspath(file), WITHOUT_COMMAND)

    def stamp_for(file):
        return stamps / f"{file.replace('/', '_')}.json"

    left_out = [file for file in files if ONLY_GCC in flags_for(file)]
    rest = [file for file in files if file not in left_out]
    changed = [file for file in rest if not is_stamped(stamp_for(file), flags_for(file))]
    with_findings = 0
    with ThreadPoolExecutor(jobs) as pool:
        results = pool.map(lambda file: tidy(file, flags_for(file), stamp_for(file)), changed)
        for count, (file, findings) in enumerate(zip(changed, results, strict=True), 1):
            print(f"clang-tidy {count}/{len(changed)} {file}", file=sys.stderr, flush=True)
            if findings:
                with_findings += 1
                print(findings, flush=True)
    unchanged = len(rest) - len(changed)
    verdict = f"{with_findings} with findings" if with_findings else "all right"
    print(
        f"clang-tidy: {len(changed)} files read, {unchanged} unchanged since they passed, {verdict}"
    )
    if left_out:
        print(f"clang-tidy: left out, only gcc compiles {ONLY_GCC}: {' '.join(left_out)}")
    return with_findings


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N")
    parser.add_argument("files", nargs="+", metavar="FILE")
    arguments = parser.parse_args()
    try:
        known = flags_by_file(arguments.build)
    except OSError as error:
        parser.error(f"{error.filename}: {error.strerror}; configure the build first")
    stamps = arguments.build / "tidy"
    return 1 if check(arguments.files, known, stamps, arguments.jobs) else 0


if __name__ == "__main__":
    sys.exit(main())
