"""A lock that is not in the catalogue does not exist: whatever can be locked is an entry of
locks/all.h, or named there with its reason, or made of another lock."""

import re
from pathlib import Path

import pytest
from rooms.text import without_comments

ROOT = Path(__file__).resolve().parents[2]
CATALOGUE = "include/syncopate/locks/all.h"
# A lock's function, and the loop of one that has none.
HAS_LOCK = re.compile(
    r"^[ \t]*(?:\[\[[\w:, ]+\]\]\s*)*(?:(?:inline|constexpr|static)\s+)*(?:void|bool|int|auto)\s+"
    r"(?:\w+::)*(?:lock|acquire)\((?:void)?\)"
    r"|\bwhile \([^;{}]*\b(?:exchange\([^()]*\bmemory_order_acquire|test_and_set\()",
    re.M,
)

# What takes other locks, or is a lock's other half: no algorithms of their own.
MADE_OF_OTHERS = {
    "include/syncopate/elide/coarsen.h",
    "include/syncopate/elide/elided_rwlock.h",
    "include/syncopate/elide/gil_recording.h",
    "include/syncopate/elide/lockset.h",
    "include/syncopate/locks/any_lock.h",
    "include/syncopate/locks/speculating_lock.h",
    "src/record/tiny_lock.cpp",
}


def test_every_lock_is_in_the_catalogue() -> None:
    catalogue = (ROOT / CATALOGUE).read_text()
    listed = {
        path if "/" in path else f"locks/{path}" for path in re.findall(r'"([\w/]+\.h)"', catalogue)
    }
    listed = {f"include/syncopate/{path}" for path in listed}
    reasons = catalogue.partition("#pragma once")[0]
    private = set(re.findall(r"^//   ([\w/]+\.(?:h|cpp))\b", reasons, re.M))
    found = {
        str(file.relative_to(ROOT))
        for folder in ("include", "src", "products")
        for suffix in ("h", "cpp")
        for file in (ROOT / folder).rglob(f"*.{suffix}")
        if HAS_LOCK.search(without_comments(file.read_text()))
    }
    found = {path for path in found if "/rwlocks/" not in path}  # those are another list
    assert len(found) > 20, "the pattern finds locks"
    assert found - listed - private <= MADE_OF_OTHERS
    assert all((ROOT / path).exists() for path in listed | private | MADE_OF_OTHERS)


# Their invariants are of transactions, which no look at the lock shows, or they have none.
UNCHECKED = {"htm_lock.h", "null_lock.h"}


def test_every_lock_checks_its_invariants() -> None:
    """As CONTRIBUTING.md says; who calls that, lock_check.cpp and lock_table.h say."""
    lacking = {
        file.name
        for file in (ROOT / "include/syncopate/locks").glob("*_lock.h")
        if not re.search(r"^  void check_invariants\(\) const noexcept", file.read_text(), re.M)
    }
    assert lacking - {"any_lock.h"} == UNCHECKED


@pytest.mark.parametrize(
    "form",
    [
        "  void lock() {}",
        "  void lock() noexcept;",
        "  [[gnu::always_inline]] inline void lock() noexcept {",
        "auto queue::lock() -> void {",
        "bool hidden::acquire() {",
        "static int lock(void) { return 0; }",
        "  while (word.exchange(1, std::memory_order_acquire) != 0) machine::relax();",
        "  while (flag.test_and_set(std::memory_order_acquire)) {}",
    ],
)
def test_each_form_of_a_lock_is_one(form: str) -> None:
    assert HAS_LOCK.search("class x {\n" + form + "\n")
