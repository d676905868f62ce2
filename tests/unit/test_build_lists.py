"""What a build folder that is there already would get wrong: lists of what is tested are never kept
in CMake's cache, or it would go on with those of the day on which it was made; and what is compiled
with a plugin of ours waits for it, though the plugin may be of a later day."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

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


def plugin_of(flags: str) -> str:
    option = "-fplugin="
    return next(word for word in shlex.split(flags) if word.startswith(option))[len(option) :]


def test_what_is_compiled_with_a_plugin_waits_for_it():
    build = Path(os.environ["SYNCOPATE_BUILD_DIR"])
    rules = build / "build.ninja"
    if not rules.exists():
        pytest.skip(f"{build} is not ninja's: it has no build.ninja")
    found = r"\nbuild (\S+\.o): [^\n]*\n(?:  [^\n]*\n)*?  FLAGS =([^\n]* [\"']?-fplugin=[^\n]*)"
    compiled = [(made, plugin_of(flags)) for made, flags in re.findall(found, rules.read_text())]
    if not compiled:
        assert not [*build.parent.glob("lib/libsyncopate-gcc*.so")]
        pytest.skip("gcc's headers for plugins were not there when this build was configured")
    for made, plugin in compiled[:: len(compiled) // 8 + 1]:
        words = ["ninja", "-C", build, "-t", "commands", made]
        before = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        assert plugin in shlex.split(before), made
