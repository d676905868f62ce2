"""The kernel's view: programs of which it is known who waits how long, where, and for whom."""

import json
import os
import subprocess

import pytest
from conftest import HERE, one_line, run_cli

from syncopate.launch import kernelview

WHY_NOT = kernelview.obstacle()
needs_kernel = pytest.mark.skipif(WHY_NOT is not None, reason=f"no kernel's view here: {WHY_NOT}")
KINDS = {"mutex": "mutex", "read": "read", "write": "write", "condition": "condition",
         "semaphore": "semaphore", "barrier": "barrier", "futex": "futex",
         "instruction": "futex"}  # fmt: skip


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("programs")
    ways = {"O0": ["-O0"], "O2": ["-O2", "-fomit-frame-pointer"], "static": ["-O1", "-static"]}
    for name, options in ways.items():
        subprocess.run(
            ["gcc", "-g", "-Wall", "-Wextra", "-pthread", *options,
             HERE / "kernel_waits.c", "-o", folder / name], check=True
        )  # fmt: skip
    return folder


def recorded(command: list, record) -> tuple[dict, str]:
    """What the report says of a program, and what that printed."""
    done = run_cli("record", "--kernel", "-q", "-o", record, "--", *command)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(run_cli("report", "--json", record).stdout)["records"][0], done.stdout


def functions(stacks: list[dict]) -> list[str]:
    return [frame["function"] for frame in stacks[0]["frames"]] if stacks else []


@needs_kernel
@pytest.mark.parametrize(
    ("kind", "way"),
    [*((kind, "O2") for kind in KINDS), ("mutex", "O0"), ("mutex", "static"),
     ("condition", "static"), ("futex", "static")],
)  # fmt: skip
def test_who_waits_how_long_and_for_whom(programs, tmp_path, kind, way):
    found, said = recorded([programs / way, kind], tmp_path / "r")
    waited, waiter, holder = map(int, said.split())
    assert found["process"]["recorder"] == "kernel"
    locks = {k: lock for lock in found["locks"] for k in lock["waits"]}
    lock = locks[KINDS[kind]]
    assert lock["waits"][KINDS[kind]]["total_ns"] == pytest.approx(waited, rel=0.05)
    assert "wait_here" in functions(lock["waiters"])
    assert {waiter, holder} <= {each["id"] for each in found["threads"]}
    account = found["account"]
    assert sum(account["parts"].values()) == pytest.approx(account["total_ns"], rel=0.02)


@needs_kernel
@pytest.mark.parametrize("kind", ["mutex", "read", "write"])
def test_who_lets_go_and_where(programs, tmp_path, kind):
    found, said = recorded([programs / "O2", kind], tmp_path / "r")
    _, waiter, holder = said.split()
    lock = next(lock for lock in found["locks"] if kind in lock["waits"])
    assert "hold_here" in functions(lock["holders"])
    block = max(found["blocks"], key=lambda each: each["ns"])
    assert block["waiter"].endswith(f"/{waiter}") and block["holder"].endswith(f"/{holder}")


@needs_kernel
def test_a_running_process_is_recorded_and_goes_on(programs, tmp_path):
    with subprocess.Popen([programs / "O2", "mutex", "80"], stdout=subprocess.PIPE) as process:
        done = run_cli("record", "-q", "-p", process.pid, "--for", "700ms", "-o", tmp_path / "r")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        assert process.poll() is None
        waited = int(process.communicate()[0].split()[0])
    assert process.returncode == 0
    found = json.loads(run_cli("report", "--json", tmp_path / "r").stdout)["records"][0]
    assert "the recording ended, and the program went on" in found["notes"]
    mutex = next(lock for lock in found["locks"] if "mutex" in lock["waits"])
    assert 0 < mutex["lost_ns"] <= waited
    assert os.stat(tmp_path / "r").st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["-p", "0"], "the number of a process is wanted"),
        (["-p", "one"], "the number of a process is wanted"),
        (["-p", "4194305"], "there is no process 4194305"),
        (["-p", "1", "--for", "soon"], "a duration is wanted"),
        (["-p", "1", "--lock", "mcs"], "--lock is for what is loaded"),
        (["-p", "1", "program"], "program is too much"),
        (["--for", "3s", "true"], "--for goes with -p"),
        (["--kernel", "--omp", "true"], "--omp is for what is loaded"),
    ],
)
def test_bad_use_is_one_line(tmp_path, arguments, says):
    done = run_cli("record", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert says in one_line(done)
    assert os.listdir(tmp_path) == []


def test_what_is_missing_is_one_line(native, tmp_path):
    environ = {"SYNCOPATE_NATIVE": str(native)}  # without the recorder
    for arguments in (["record", "--kernel", "true"], ["record", "-p", os.getpid()],
                      ["top", "-p", os.getpid()]):  # fmt: skip
        done = run_cli(*arguments, environ=environ, cwd=tmp_path)
        assert done.returncode == 1
        assert "clang, libbpf-dev" in one_line(done)
    assert os.listdir(tmp_path) == []
