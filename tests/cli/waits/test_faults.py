"""Holders that wait for pages, and threads that are stopped: neither is called sleep."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import COMMAND, HERE, compile_c, run_cli

from syncopate.launch import kernelview
from syncopate.records import causes, knowncalls
from syncopate.records.sectioncode import Call, Facts

MS = 1_000_000
WHY_NOT = kernelview.obstacle()
needs_kernel = pytest.mark.skipif(WHY_NOT is not None, reason=f"no kernel's view here: {WHY_NOT}")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """And a file of which it does not find a page in memory, where the file system has a disk."""
    folder = tmp_path_factory.mktemp("faults")
    with open(folder / "data", "wb") as file:
        file.write(os.urandom(16 << 20))
        file.flush()
        os.fsync(file.fileno())
    source = (HERE / "faults.c").read_text(encoding="utf-8")
    return [compile_c(source, folder / "faults", "-O2", "-g", "-pthread"), folder / "data"]


def recorded(program, record, *options) -> tuple[dict, list[int]]:
    done = run_cli("record", "-q", *options, "-o", record, "--", *program)
    assert (done.returncode, done.stderr) == (0, "")
    counted = [int(each) for each in done.stdout.split()]
    if counted[1] < 300:
        pytest.skip("the file's pages are in memory whatever is done: nothing was read")
    return json.loads(run_cli("report", "--json", record).stdout)["records"][0], counted


def test_a_holder_that_waits_for_pages(program, tmp_path):
    """In most of its holds; the program itself counts them."""
    found, _ = recorded(program, tmp_path / "r")
    (lock,) = (lock for lock in found["locks"] if lock["name"] == "map_lock")
    seen = lock["hold"]["interrupted"]
    assert 0 < seen["faulted"] <= seen["slept"] <= seen["watched"]
    finding = found["findings"][0]
    assert finding["causes"][0] == "faults", finding
    assert "for pages that are not in memory" in finding["why"][0]
    assert finding["do"][0].startswith("touch these pages before")


@needs_kernel
def test_where_the_kernel_saw_it(program, tmp_path):
    """Blocked, but in no call: not in input and output, nor asleep."""
    found, (_, _, took) = recorded(program, tmp_path / "r", "--kernel")
    parts = found["account"]["parts"]
    assert 0 < parts["faults"] <= took
    assert "elsewhere" not in parts and parts.get("io", 0) < parts["faults"]


@needs_kernel
def test_a_stopped_program_is_not_asleep(tmp_path):
    """It would have slept for longer than it was stopped: that is told apart."""
    record = [*COMMAND, "record", "--kernel", "-q", "-o", tmp_path / "r", "--"]
    with subprocess.Popen([*record, "sh", "-c", "echo $$; exec sleep 3"], stdout=-1) as running:
        process = int(running.stdout.readline())
        while Path(f"/proc/{process}/comm").read_text(encoding="utf-8") != "sleep\n":
            time.sleep(0.01)
        time.sleep(0.3)
        os.kill(process, signal.SIGSTOP)
        time.sleep(1)
        os.kill(process, signal.SIGCONT)
    parts = {"stopped": 0}
    for each in json.loads(run_cli("report", "--json", tmp_path / "r").stdout)["records"]:
        parts |= each["account"]["parts"]
    assert parts["stopped"] >= 900 * MS and parts["sleeping"] > 0


@pytest.mark.parametrize(("faulted", "cause"), [(0, "input_output"), (29, "input_output"),
                                                (30, "faults"), (60, "faults")])  # fmt: skip
def test_pages_come_before_calls(faulted, cause):
    """What half of the holds that sleep do is counted; what its code may call is not."""
    seen = {"watched": 100, "preempted": 0, "preemptions": 0, "slept": 60, "faulted": faulted}
    lock = {"object": "mutex", "hold": {"mean_ns": 2 * MS, "interrupted": seen}, "waits": {}}
    seen["slept_share"] = 1.0
    kind = knowncalls.INPUT_OUTPUT
    facts = Facts(1.0, [Call("read", kind, "", False, 1.0)], 0.0, [], slow=[kind])
    (reason,) = causes._sleeps(lock, facts)
    assert (reason.cause, reason.sure) == (cause, "likely")
    assert ("for pages that are not in memory" in reason.why) == (cause == "faults")


@pytest.mark.parametrize("always", [True, False])
@pytest.mark.parametrize("faulted", [1, 60])
def test_a_section_that_always_sleeps_does_not_do_so_for_pages(faulted, always):
    """A program's first holds wait for its own pages, too, whatever comes after that."""
    seen = {"watched": faulted, "preempted": 0, "preemptions": 0, "slept": faulted}
    seen |= {"faulted": faulted, "slept_share": 1.0}
    lock = {"object": "mutex", "hold": {"mean_ns": 90 * MS, "interrupted": seen}, "waits": {}}
    kind = knowncalls.SLEEP
    facts = Facts(1.0, [Call("usleep", kind, "", False, 1.0)], 0.0, [], slow=[kind] * always)
    (reason,) = causes._sleeps(lock, facts)
    assert reason.cause == ("sleeps" if always else "faults")
    assert reason.do.startswith("sleep after" if always else "touch these pages")
    assert "for pages that are not in memory" in reason.why
    assert ("; its section calls usleep" in reason.why) == always


def test_pages_of_those_who_keep_others_waiting():
    """Where few of all holds sleep, these."""
    of = {"watched": 12, "preempted": 0, "slept": 12, "faulted": 12, "share": 0.9}
    seen = {"watched": 900, "preempted": 0, "preemptions": 0, "slept": 14, "faulted": 12}
    seen |= {"slept_share": 0.2, "blockers": of}
    waits = {"mutex": {"count": 40, "total_ns": 400 * MS}}
    lock = {"object": "mutex", "hold": {"mean_ns": MS, "interrupted": seen}, "waits": waits}
    (reason,) = causes._sleeps(lock, None)
    assert reason.cause == "faults" and "in 12 of these for pages" in reason.why


def test_new_pages_are_counted(tmp_path):
    """As many as the section touches; none where it touches what it had before."""
    source = (HERE / "new_pages.c").read_text(encoding="utf-8")
    program = compile_c(source, tmp_path / "new_pages", "-O2", "-g", "-pthread")
    assert run_cli("record", "-q", "-o", tmp_path / "r", "--", program).returncode == 0
    (found,) = json.loads(run_cli("report", "--json", tmp_path / "r").stdout)["records"]
    seen = {lock["name"]: lock["hold"]["interrupted"] for lock in found["locks"]}
    if not seen["arena_lock"]:
        pytest.skip("this machine does not tell whether a holder ran on")
    arena, other = seen["arena_lock"]["pages"], seen["seen_lock"]["pages"]
    assert arena["of"] == arena["paged"] == seen["arena_lock"]["watched"] > 10
    assert 64 <= arena["given"] / arena["of"] < 80  # and the tables that lead there
    assert 0 < arena["share"] <= 1
    assert other["of"] > 10 and other["given"] < other["of"]


def held_with(pages: dict, **more) -> dict:
    seen = {"watched": 100, "preempted": 0, "preemptions": 0, "slept": 0, "faulted": 0} | more
    return {"object": "mutex", "hold": {"mean_ns": 2 * MS, "interrupted": seen | {"pages": pages}}}


@pytest.mark.parametrize(
    ("paged", "share", "told"),
    [(60, 0.7, True), (30, 0.5, True), (29, 0.7, False), (60, 0.4, False), (0, None, False)],
)
def test_new_pages_are_a_cause_where_they_take_most_of_the_time(paged, share, told):
    lock = held_with({"of": 60, "paged": paged, "given": 128 * paged, "share": share})
    facts = Facts(1.0, [Call("mmap", knowncalls.ALLOCATION, "a.c:3", False, 1.0)], 0.0, [])
    found = [*causes._new_pages(lock, facts)]
    assert [reason.cause for reason in found] == ["new_pages"] * told
    for reason in found:
        assert f"in {paged} of 60 holds seen the kernel gives it pages, 128 each" in reason.why
        assert reason.why.endswith("; its section calls mmap (a.c:3)")
        assert reason.do.startswith("allocate and touch that memory before it is taken")


def test_nothing_is_told_of_pages_that_were_not_counted():
    assert not [*causes._new_pages(held_with(None), None)]
    assert not [*causes._new_pages({"object": "mutex", "hold": None}, None)]
