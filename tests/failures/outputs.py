"""The table of all commands' outputs. A command or an option that writes and is not here fails
test_outputs.py; so does a program of the products. {files}: the folder of conftest.py; {out}: the
place that is tried."""

from __future__ import annotations

from dataclasses import dataclass

BENCH = "{files}/build --variant ticket,tatas --threads 1 --repeat 1"
WHATIF = "simulate --from {files}/before.rec --machine haswell-4c8t --what halve --seeds 1"
SWEEP = "simulate --sweep N=1,2"

# What is printed. Each is tried with standard output full, closed, and without a reader.
PRINTED = [
    "--help",
    "--version",
    "run --help",
    "record --help",
    "report {files}/before.rec",
    "report --json {files}/before.rec",
    "report --folded {files}/before.rec",
    "report --advice json {files}/before.rec",
    "diff {files}/before.rec {files}/after.rec",
    "diff --json {files}/before.rec {files}/after.rec",
    "top --once --interval 0.2 -- /bin/sleep 9",
    "top --once --json --interval 0.2 -- /bin/sleep 9",
    "tune --budget 60s -- /bin/true",
    "elide --help",
    "c++ --machine=simulated --show {files}/program.cpp",
    "cc --help",
    "simulate --machines",
    f"{SWEEP} {{files}}/simulated",
    f"{SWEEP} --jobs 2 {{files}}/simulated",
    WHATIF,
    "check --json {files}/explored",
    "advise {files}/simulated",
    "advise --json - {files}/simulated",
    "advise {files}/sections.json",
    "list",
    "list --json",
    "options",
    "options --json",
    "bench list",
    f"bench run array/low-small --out x.bench.json --build {BENCH}",
    "bench compare {files}/r.bench.json",
    "bench compare --json {files}/r.bench.json",
    "bench plot {files}/r.bench.json --out x.svg",
    "bench report {files}/r.bench.json",
    "bench regret --help",
    "bench paper --help",
    "bench originals --list",
    "transactionalize {files}/source.c",
    "transactionalize --json - {files}/source.c",
    "calibrate --print --seconds 0.01",
    "completion bash",
    "doctor",
    "doctor --json",
]


@dataclass(frozen=True)
class Written:
    """A file, or a folder, that an option names."""

    words: str
    name: str = "out"
    pipe: bool = True  # whether a pipe with a reader is as good as a file
    is_folder: bool = False


WRITTEN = {
    "report --html": Written("report {files}/before.rec --html {out}"),
    "report --perfetto": Written("report {files}/before.rec --perfetto {out}"),
    "report --firefox": Written("report {files}/before.rec --firefox {out}"),
    "report --bundle": Written("report {files}/before.rec --bundle {out}"),
    "diff --html": Written("diff {files}/before.rec {files}/after.rec --html {out}"),
    "record --output": Written("record -o {out} -- /bin/true", pipe=False),
    "record --bundle": Written("record -o /dev/shm/no -q --bundle {out} -- /bin/true", pipe=False),
    "top --log": Written("top --once --interval 0.2 --log {out} -- /bin/echo said"),
    "tune --output": Written("tune --budget 60s -o {out} -- /bin/true", pipe=False),
    "simulate --json": Written("simulate --json {out} {files}/simulated", "out.json"),
    "simulate --timeline": Written("simulate --timeline {out} {files}/simulated"),
    "simulate --figure": Written(f"{SWEEP} --figure {{out}} {{files}}/simulated", "out.svg"),
    "simulate --figure (png)": Written(f"{SWEEP} --figure {{out}} {{files}}/simulated", "out.png"),
    "simulate --figure (pdf)": Written(f"{SWEEP} --figure {{out}} {{files}}/simulated", "out.pdf"),
    "simulate --from --json": Written(f"{WHATIF} --json {{out}}", "out.json"),
    "simulate --from --figure": Written(f"{WHATIF} --figure {{out}}", "out.svg"),
    "advise --json": Written("advise --json {out} {files}/simulated"),
    "bench run --out": Written(f"bench run array/low-small --out {{out}} --build {BENCH}",
                               pipe=False),
    "bench plot --out": Written("bench plot {files}/r.bench.json --out {out}", "out.svg"),
    "bench plot --out (png)": Written("bench plot {files}/r.bench.json --out {out}", "out.png"),
    "bench report --out": Written("bench report {files}/r.bench.json --out {out}", is_folder=True),
    "transactionalize --output": Written("transactionalize -o {out} {files}/source.c",
                                         is_folder=True),
    "transactionalize --json": Written("transactionalize --json {out} {files}/source.c"),
    "calibrate --output": Written("calibrate --seconds 0.01 -o {out}"),
}  # fmt: skip

# Options that name a file or a folder and write none, or whose failures are tried elsewhere.
NOT_WRITTEN = {
    "run --policy": "read",
    "run --guard-log": "test_lines_of_run.py",
    "report --policy": "read",
    "report --whatif": "read",
    "simulate --client": "read",
    "simulate --from": "read",
    "c++ --libgomp": "read",
    "cc --libgomp": "read",
    "bench run --build": "read",
    "bench regret --build": "read",
    "bench regret --json": "long; tests/cli/test_list_doctor.py has its place, regretmatrix.py"
    " writes by wholefile.py",
    "bench paper --build": "read",
    "bench paper --out": "a folder of many figures; tests/figures",
    "bench originals --out": "programs that are built; tests/bench/test_originals.py",
    "bench originals --sources": "the sources of others; tests/bench/test_originals.py",
    "bench originals --build": "read",
    "bench originals --libgomp": "read",
}

# The products' own programs: who tries what they say where their output fails.
PROGRAMS = {
    "syncopate": "this table, by the command that it starts",
    "syncopate-native": "test_outputs.py, and tests/unit/test_native_tool.sh",
    "syncopate-names": "test_outputs.py; it answers the command alone",
    "kernel-recorder": "tests/cli/kernel/test_kernel_recorder.py; it answers the command alone",
    "command": "this table: it is the Python command",
    "replay.simulated": "this table, as `simulate --from`",
}
