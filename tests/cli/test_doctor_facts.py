"""What `syncopate doctor` says of the machine, held against what else tells of it."""

import json
import os
from types import SimpleNamespace

import pytest
from conftest import ROOT, run_cli

from syncopate.machines import machine, perfevents

NOBODY = 65534


def row(findings: list[machine.Finding], name: str) -> machine.Finding:
    return next(each for each in findings if each.name == name)


def test_what_the_loader_says_beside_it_is_no_obstacle():
    """A line on standard error, of a library that cannot be preloaded."""
    plain = run_cli("doctor", "--json")
    beside = run_cli("doctor", "--json", environ={"LD_PRELOAD": "/nonexistent/library.so"})
    assert (beside.returncode, beside.stdout) == (plain.returncode, plain.stdout)


def as_nobody(ask) -> list:
    """What `ask()` returns in a process without any right."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            os.write(write, json.dumps(ask()).encode())
        finally:
            os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with open(read, encoding="utf-8") as told:
        return json.load(told)


def test_perf_events_are_what_the_kernel_documents():
    """Documentation/admin-guide/sysctl/kernel.rst: at 2 users count their own programs. What 3 is,
    the kernel's makers do not say: with Debian's it allows nothing."""
    status = machine.read("/proc/self/status") or ""
    level = machine.read("/proc/sys/kernel/perf_event_paranoid")
    if "Seccomp:\t0" not in status or level is None:
        pytest.skip("a filter of system calls decides here, or the kernel counts nothing")
    allowed, told = as_nobody(perfevents.allowed)
    if int(level) <= 2:
        assert allowed
        assert ("programs, not the kernel" in told) == (int(level) == 2)
    finding = machine.Finding(*as_nobody(machine._perf))
    assert ("perf(1) may measure" in finding.meaning) == allowed


@pytest.mark.parametrize(
    ("refusals", "told"),
    [
        ({}, (True, "programs and the kernel")),
        ({"hardware": 2}, (True, "programs and the kernel; no hardware counters")),
        ({"kernel": 13, "hardware": 2}, (True, "programs, not the kernel; no hardware counters")),
        ({"kernel": 13}, (True, "programs, not the kernel")),
        ({"programs": 1, "kernel": 1}, (False, "not allowed (Operation not permitted)")),
    ],
)
def test_perf_events_by_what_is_refused(monkeypatch, refusals, told):
    def refused(kind: int, _: int, flags: int) -> int:
        if kind == perfevents.HARDWARE:
            return refusals.get("hardware", 0)
        return refusals.get("programs" if flags else "kernel", 0)

    monkeypatch.setattr(perfevents, "refused", refused)
    assert perfevents.allowed() == told


@pytest.mark.parametrize(
    ("limit", "seen", "told", "state"),
    [
        ("150000", True, "1.50 processors", "warn"),
        ("200000", True, "2.00 processors", "good"),  # it is not used up by two
        ("400000", True, "4.00 processors", "good"),
        ("max", True, "none", "good"),
        ("max", False, "not known", "info"),
    ],
)
def test_quota(monkeypatch, limit, seen, told, state):
    files = {"/proc/self/cgroup": "0::/a", "/sys/fs/cgroup/a/cpu.max": f"{limit} 100000"}
    monkeypatch.setattr(machine, "read", files.get)
    monkeypatch.setattr(machine.os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr(machine.os.path, "exists", lambda _: seen)
    assert machine._quota()[:3] == ("CPU quota", told, state)


@pytest.mark.parametrize(
    ("cpuinfo", "told"),
    [
        ("model name\t: A hypervisor's\nflags\t\t: fpu vme\n", "no"),
        ("flags\t\t: fpu hypervisor\n", "yes"),
        ("processor\t: 0\nFeatures\t: fp asimd\n", "not known"),  # aarch64 has no such flag
        (None, "not known"),
    ],
)
def test_virtual_machine(monkeypatch, cpuinfo, told):
    monkeypatch.setattr(machine, "read", {"/proc/cpuinfo": cpuinfo}.get)
    monkeypatch.setattr(machine, "HOSTS", ())
    assert machine._virtual().value == told


@pytest.mark.parametrize(
    ("usable", "told"), [({0, 1, 2, 3, 4, 5}, "2 usable"), ({0, 1}, "1"), ({4}, "1")]
)
def test_memory_nodes_are_those_with_a_processor_of_ours(monkeypatch, tmp_path, usable, told):
    for node, processors in enumerate(("0-1,3", "2,4-5", "")):  # the third has memory alone
        (tmp_path / f"node{node}").mkdir()
        (tmp_path / f"node{node}/cpulist").write_text(f"{processors}\n")
    monkeypatch.setattr(machine, "NODES", str(tmp_path))
    monkeypatch.setattr(machine.os, "sched_getaffinity", lambda _: usable)
    assert machine._nodes().value == told


def test_locks_that_know_nodes_are_there():
    for name in machine.NODE_LOCKS:
        text = (ROOT / f"include/syncopate/locks/{name}_lock.h").read_text(encoding="utf-8")
        assert "node()" in text or "node_of" in text


def test_a_low_limit_is_told_only_where_it_stands_in_the_way(monkeypatch):
    tiny = SimpleNamespace(**{name: getattr(machine.resource, name) for name in
                              ("RLIM_INFINITY", "RLIMIT_NPROC", "RLIMIT_NOFILE")},
                           getrlimit=lambda _: (8, 8))  # fmt: skip
    monkeypatch.setattr(machine, "resource", tiny)
    assert {each.name for each in machine.limits() if each.state == "warn"} == {
        "processes", "open files"
    }  # fmt: skip


def test_what_is_set_is_shown_as_it_can_be_read():
    """A variable may hold what moves a terminal's cursor."""
    shown = run_cli("options", "LOCK", environ={"SYNCOPATE_LOCK": "\x1b[31mred\r"}).stdout
    assert "set: \\x1b[31mred\\r" in shown and "\x1b" not in shown
