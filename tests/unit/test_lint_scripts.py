"""The scripts that check memory-order tags and the README, on good and bad samples."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"

HEADER = """\
// sample_lock.h -- a sample.
//
// Source        none
// Fairness      none
// Space         4 B
// Uncontended   1 RMW
// Contended     1 RMW
//
// Invariants
//   I1  none
// Memory order
//   [A]  acquire: the previous section happens-before ours.
//   [R]  release: synchronizes with [A].
//
// Checked by    nothing
#pragma once
"""
BODY = """\
void lock() { while (word.exchange(1, std::memory_order_acquire)) {} }  // [A]
void unlock() { word.store(0, std::memory_order_release); }             // [R]
"""


def run(script: str, root: Path) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, SCRIPTS / script, root], capture_output=True, text=True, timeout=60
    )


def write(root: Path, path: str, text: str) -> None:
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")


def check_orders(root: Path, text: str, name: str = "sample_lock.h") -> subprocess.CompletedProcess:
    write(root, f"include/syncopate/locks/{name}", text)
    return run("check_memory_orders.py", root)


def test_orders_accept_tagged(tmp_path: Path) -> None:
    result = check_orders(tmp_path, HEADER + BODY)
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("  // [A]", "", "17: memory order without a [tag]"),
        ("// [R]", "// [Q]", "[Q] is used but not argued"),
        ("// [R]", "// [A]", "[R] is argued but stands nowhere"),
        ("// Fairness      none\n", "", "lacks 'Fairness'"),
        ("// Checked by    nothing\n", "", "lacks 'Checked by'"),
        ("#pragma once", "", "no #pragma once"),
    ],
)
def test_orders_refuse(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = HEADER + BODY
    assert old in text
    result = check_orders(tmp_path, text.replace(old, new))
    assert result.returncode == 1
    assert message in result.stdout


def test_orders_accept_a_tag_where_the_expression_ends(tmp_path: Path) -> None:
    text = HEADER + BODY.replace("release); }  ", "release)\n); }  ")
    assert text.count("\n") == (HEADER + BODY).count("\n") + 1
    result = check_orders(tmp_path, text)
    assert result.returncode == 0, result.stdout


def test_orders_leave_files_without_atomics_alone(tmp_path: Path) -> None:
    result = check_orders(tmp_path, "#pragma once\nstruct null_lock {};\n", "null_lock.h")
    assert result.returncode == 0, result.stdout


PRODUCT_HEADER = """\
// table.h -- a table.
//
// Memory order (each tag stands at its site)
//   [R]  release: synchronizes with [A].
//   [A]  acquire: the entry's fields.
#pragma once
inline void put() { at.store(1, std::memory_order_release); }  // [R]
"""
PRODUCT_SOURCE = """\
#include "table.h"
int get() { return at.load(std::memory_order_acquire); }  // [A]
"""


def check_product(root: Path, header: str, source: str) -> subprocess.CompletedProcess:
    write(root, "src/tm/core/table.h", header)
    write(root, "src/tm/core/table.cpp", source)
    return check_orders(root, HEADER + BODY)


def test_orders_of_a_product_file_are_argued_in_its_own_head_or_its_headers(tmp_path: Path) -> None:
    result = check_product(tmp_path, PRODUCT_HEADER, PRODUCT_SOURCE)
    assert result.returncode == 0, result.stdout
    assert "3 files" in result.stdout


@pytest.mark.parametrize("folder", ["machine", "wait", "elide", "tm", "."])
def test_orders_of_headers_that_are_no_algorithms_are_checked(tmp_path: Path, folder: str) -> None:
    path = f"include/syncopate/{folder}/table.h".replace("/./", "/")
    write(tmp_path, path, PRODUCT_HEADER.replace("  // [R]", ""))
    result = check_orders(tmp_path, HEADER + BODY)
    assert result.returncode == 1
    assert f"{path}:7: memory order without a [tag]" in result.stdout


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("  // [A]", "", "src/tm/core/table.cpp:2: memory order without a [tag]"),
        ("  // [R]", "", "src/tm/core/table.h:7: memory order without a [tag]"),
        ("  // [A]", "  // [B]", "src/tm/core/table.cpp: [B] is used but not argued"),
        ("  // [A]", "  // [B]", "src/tm/core/table.h: [A] is argued but stands nowhere"),
    ],
)
def test_orders_of_product_files_are_checked(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    texts = [text.replace(old, new) for text in (PRODUCT_HEADER, PRODUCT_SOURCE)]
    assert texts != [PRODUCT_HEADER, PRODUCT_SOURCE]
    result = check_product(tmp_path, *texts)
    assert result.returncode == 1
    assert message in result.stdout


# Each way to order memory; without a tag, and then with one.
FORMS = [
    "void f() { x.store(1, std::memory_order_release); }",
    "void f() { x.store(1, std::memory_order::release); }",
    "void f() { std::atomic_ref(x).store(1, std::memory_order_relaxed); }",
    "void f() { std::atomic_thread_fence(std::memory_order_seq_cst); }",
    "void f() { std::atomic_signal_fence(std::memory_order_seq_cst); }",
    "void f() { __atomic_store_n(&x, 1, __ATOMIC_RELEASE); }",
    "int f() { return __atomic_add_fetch(&x, 1, __ATOMIC_RELAXED); }",
    "void f() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }",
    "int f() { return __sync_fetch_and_add(&x, 1); }",
    "void f() { __sync_synchronize(); }",
    "int f() { return atomic_load_explicit(&x, memory_order_acquire); }",
    'void f() { asm volatile("lock; xaddl %0, %1" : "+r"(n), "+m"(x)); }',
    'void f() { asm volatile("mfence" ::: "memory"); }',
    'void f() { asm volatile("ldaxr %w0, %1" : "=r"(n) : "Q"(x)); }',
    "int f(int how) { return x.load(static_cast<std::memory_order>(how)); }",
    "int f() { return x.load(std::memory_order(2)); }",
    'void f() { say("// not a comment"), x.store(1, std::memory_order_release); }',
]
# An access whose order is left out: no tag makes it right.
BARE = [
    "int f() { return x.load(); }",
    "void f() { x.store(1); }",
    "int f() { return x->exchange(1); }",
    "void f() { x.fetch_add(g(1, 2)); }",
    "void f() { x.compare_exchange_strong(old, 1); }",
    "void f() { flag.test_and_set(); }",
    "int f() { return __atomic_load_n(&x, 5); }",
    "int f() { return atomic_load(&x); }",
    "std::atomic<int> x{0};\nvoid f() { x = 1; }",
    "std::atomic<int> x{0};\nvoid f() { ++x; }",
    "std::atomic<int> x{0};\nvoid f() { x |= 2; }",
]
ARGUES = "// table.cpp -- a table.\n//\n// Memory order\n//   [Z]  is needed.\n"


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("form", "name"),
    [(form, "table.cpp") for form in FORMS] + [(FORMS[5], f"table.{e}") for e in ("h", "c", "inc")],
)
def test_orders_in_each_form_need_a_tag(tmp_path: Path, form: str, name: str) -> None:
    for tag, status in (("", 1), ("  // [Z]", 0)):
        write(tmp_path, f"src/tm/core/{name}", (ARGUES if tag else "") + form + tag + "\n")
        result = check_orders(tmp_path, HEADER + BODY)
        assert result.returncode == status, result.stdout
        assert (f"src/tm/core/{name}:1: memory order without a [tag]" in result.stdout) != bool(tag)


@pytest.mark.parametrize("form", BARE)
def test_orders_that_are_left_out(tmp_path: Path, form: str) -> None:
    write(tmp_path, "src/tm/core/table.cpp", ARGUES + form + "  // [Z]\n")
    result = check_orders(tmp_path, HEADER + BODY)
    assert f":{5 + form.count(chr(10))}: an atomic access without an order" in result.stdout


def test_orders_by_another_name(tmp_path: Path) -> None:
    constant = "constexpr auto weak = std::memory_order_relaxed;  // [Z]\n"
    use = "int f() { return x.load(weak); }\n"
    write(tmp_path, "src/tm/core/table.cpp", ARGUES + constant + use)
    result = check_orders(tmp_path, HEADER + BODY)
    assert "src/tm/core/table.cpp:6: memory order without a [tag]" in result.stdout


def test_orders_of_assembly(tmp_path: Path) -> None:
    write(tmp_path, "products/libitm/begin.S", "  movl %eax, (%rdi)\n  lock cmpxchg %eax, (%rdi)\n")
    result = check_orders(tmp_path, HEADER + BODY)
    assert "begin.S:2: memory order without a [tag]" in result.stdout


def test_orders_are_looked_at_in_every_room_of_the_product(tmp_path: Path) -> None:
    rooms = tomllib.loads((SCRIPTS / "rooms.toml").read_text(encoding="utf-8"))["rooms"]
    folders = [
        folder
        for room in rooms.values()
        for folder in room["holds"]
        if folder.startswith(("include/", "src/", "products/")) and folder.endswith("/")
    ]
    assert len(folders) > 35
    for folder in folders:
        write(tmp_path, f"{folder}deep/planted.h", FORMS[5] + "\n")
    said = check_orders(tmp_path, HEADER + BODY).stdout
    for folder in folders:
        assert f"{folder}deep/planted.h:1: memory order without a [tag]" in said


def test_orders_as_data_of_the_machines_that_model_them(tmp_path: Path) -> None:
    text = "bool is_sc(std::memory_order o) { return o == std::memory_order_seq_cst; }\n"
    write(tmp_path, "src/model/explored/memory.cpp", text)
    assert check_orders(tmp_path, HEADER + BODY).returncode == 0


LOCK = {
    "name": "one",
    "header": "syncopate/locks/one_lock.h",
    "summary": "a | b",
    "fair": "FIFO",
    "size": 8,
    "waits": ["park", "spin"],
    "default_wait": "park",
    "preload": True,
    "preload_waits": ["spin"],
    "collapses_when_oversubscribed": ["spin"],
}
README = "before\n<!-- locks: begin -->\nold\n<!-- locks: end -->\nafter\n"


def readme(root: Path, *options: str) -> subprocess.CompletedProcess:
    write(root, "locks.json", json.dumps([LOCK]))
    return subprocess.run(
        [sys.executable, SCRIPTS / "readme_locks.py", *options, "locks.json", "README.md"],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_readme_is_checked_then_written(tmp_path: Path) -> None:
    write(tmp_path, "README.md", README)
    assert readme(tmp_path, "--check").returncode == 1
    assert (tmp_path / "README.md").read_text() == README
    assert readme(tmp_path).returncode == 0
    text = (tmp_path / "README.md").read_text()
    assert text.startswith("before\n") and text.endswith("\nafter\n") and "old" not in text
    assert "| a \\| b | FIFO | 8 B | **park**, spin | yes, but by park | spin |" in text
    assert readme(tmp_path, "--check").returncode == 0


def test_readme_without_the_markers_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, "README.md", "nothing\n")
    result = readme(tmp_path)
    assert result.returncode == 1
    assert "no lines" in result.stderr
