"""A lock that is not in the catalogue does not exist: whatever can be locked is an entry of
locks/all.h, or named there with its reason, or made of another lock."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CATALOGUE = "include/syncopate/locks/all.h"
HAS_LOCK = re.compile(r"^\s*(?:\[\[nodiscard\]\] )?(?:void|bool) lock\(\) ?(?:noexcept )?\{", re.M)

# What takes other locks, or is a lock's other half: no algorithms of their own.
MADE_OF_OTHERS = {
    "include/syncopate/elide/coarsen.h",
    "include/syncopate/elide/gil_recording.h",
    "include/syncopate/elide/lockset.h",
    "include/syncopate/locks/any_lock.h",
    "include/syncopate/locks/speculating_lock.h",
}


def test_every_lock_is_in_the_catalogue() -> None:
    catalogue = (ROOT / CATALOGUE).read_text()
    listed = {
        path if "/" in path else f"locks/{path}" for path in re.findall(r'"([\w/]+\.h)"', catalogue)
    }
    listed = {f"include/syncopate/{path}" for path in listed}
    reasons = catalogue.partition("#pragma once")[0]
    private = set(re.findall(r"^//   ([\w/]+\.h)\b", reasons, re.M))
    found = {
        str(file.relative_to(ROOT))
        for folder in ("include", "src", "products")
        for suffix in ("h", "cpp")
        for file in (ROOT / folder).rglob(f"*.{suffix}")
        if HAS_LOCK.search(file.read_text())
    }
    found = {path for path in found if "/rwlocks/" not in path}  # those are another list
    assert len(found) > 20, "the pattern finds locks"
    assert found - listed - private <= MADE_OF_OTHERS
    assert all((ROOT / path).exists() for path in listed | private | MADE_OF_OTHERS)
