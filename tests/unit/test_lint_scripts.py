"""The scripts that check memory-order tags and the README, on good and bad samples."""

import json
import subprocess
import sys
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
