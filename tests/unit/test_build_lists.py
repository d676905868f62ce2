"""Lists of what is tested are never kept in CMake's cache: a build folder that is there already
would go on with the list of the day on which it was made, and leave new tests out."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHED = re.compile(r"\bset\(\s*(\w+)\s+([^()]*?)\s*CACHE\s+(?:STRING|PATH|BOOL)\b", re.S)


def test_no_list_is_cached() -> None:
    files = [ROOT / "CMakeLists.txt", *(ROOT / "cmake").glob("*.cmake")]
    for folder in ("src", "products", "papers", "bench", "tests"):
        files += (ROOT / folder).rglob("CMakeLists.txt")
    found = {
        match[1]: match[2].split() for file in files for match in CACHED.finditer(file.read_text())
    }
    assert "SYNCOPATE_TEST_SECONDS" in found  # else the pattern finds nothing at all
    assert not {name for name, values in found.items() if len(values) > 1}, found
