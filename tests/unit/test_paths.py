"""The check of paths in pages and comments (scripts/check_paths.py): planted ones that are gone."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "check_paths.py"
LOCK = """\
// one_lock.h -- a sample.
//
// Checked by    tests/check/{one,two}_check.cpp (a few words), tests/posix under
//               SYNCOPATE_LOCK=one.
#pragma once
"""
HOUSE = {
    "scripts/foreign_paths.toml": "",
    "include/syncopate/locks/one_lock.h": LOCK,
    "include/syncopate/locks/all.h": "#include <syncopate/locks/one_lock.h>\n",
    "tests/check/one_check.cpp": "#include <syncopate/locks/one_lock.h>\n",
    "tests/check/two_check.cpp": "",
    "tests/check/lock_check.cpp": "",
    "tests/conformance/every_lock.h": "",
    "tests/posix/test_a.cpp": "#include <syncopate/locks/one_lock.h>\n",
    "docs/page.md": "[a](other.md) [b](../src/a.h) `locks/one_lock.h` src/*.h src/{a,b}.h\n"
    "[c](#a-page) [d](../docs) [e](https://example.org/gone#gone)\n# A page\n",
    "docs/linking.md": "[a](other.md) ![b](other.md#say-it-again-sams-way--)\n"
    "[c](other.md#twice) [d](other.md#twice-1) [e](other.md#a_b-and-link)\n",
    "docs/other.md": "build/x.cpp build/release/src/b ../build/lua build/ /etc/gone.c\n"
    "https://example.org/gone.c <gone.h> ~/gone.c src/b\n"
    "# Say *it* `again`, Sam's way: -\n## Twice\n### Twice\n#### a_b and [link](page.md)\n"
    "```\n# Gone\n[f](gone)\n```\n",
    "src/a.h": '// see b.h\nconst char* text = "gone.h // gone.c";\n',
    "src/b.h": "/* docs/other.md\n   and a.h */\n",
    "src/b.cpp": "// NAME.cpp\n",
    "src/list.txt": "gone.h  # a.h\n",
    "src/run.py": '"""As a.h says."""\nNAME = "gone.h"  # and b.h\n',
}
COVERED = LOCK.replace("tests/posix", "tests/check/lock_check.cpp, tests/conformance, tests/posix")


def check(root: Path, changes: dict[str, str]) -> list[str]:
    for path, text in {**HOUSE, "include/syncopate/locks/one_lock.h": COVERED, **changes}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    command = [sys.executable, SCRIPT, root]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert not result.stderr
    lines = result.stdout.splitlines()
    assert result.returncode == (0 if "all right" in lines[-1] else 1)
    return lines


def test_what_is_there(tmp_path: Path) -> None:
    assert check(tmp_path, {}) == [f"paths: {len(HOUSE)} files, all right"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("path", "text", "message"),
    [
        ("docs/page.md", "one\n[a](gone.md)", "docs/page.md:2: there is no gone.md"),
        ("docs/page.md", "[a](../gone)", "docs/page.md:1: there is no ../gone"),
        ("docs/page.md", "[a](src/a.h)", "docs/page.md:1: there is no src/a.h"),
        ("docs/page.md", '[a](gone.txt "a title")', "docs/page.md:1: there is no gone.txt"),
        ("docs/page.md", "see [a]\n\n[a]: gone.txt", "docs/page.md:3: there is no gone.txt"),
        ("docs/page.md", '<img src="gone.png">', "docs/page.md:1: there is no gone.png"),
        ("docs/page.md", "`src/gone.js`", "docs/page.md:1: there is no src/gone.js"),
        ("src/a.def", "// see gone.h", "src/a.def:1: there is no gone.h"),
        ("src/A.java", "// see gone.h", "src/A.java:1: there is no gone.h"),
        ("src/a.rb", "x = 1  # see gone.h", "src/a.rb:1: there is no gone.h"),
        ("docs/page.md", "[a](#gone)", "docs/page.md:1: docs/page.md has no heading #gone"),
        (
            "docs/page.md.in",
            "```\n\n```\n[a](other.md) [b](other.md#gone)",
            "docs/page.md.in:4: docs/other.md has no heading #gone",
        ),
        ("docs/page.md", "[a](../src/a.h#a)", "docs/page.md:1: src/a.h has no heading #a"),
        (
            "papers/results/page.md",
            "[a](../../docs/other.md#Twice)",
            "papers/results/page.md:1: docs/other.md has no heading #Twice",
        ),
        ("docs/page.md", "`src/gone.h`, b.h", "docs/page.md:1: there is no src/gone.h"),
        ("docs/page.md", "[a](../src/gone.h)", "docs/page.md:1: there is no ../src/gone.h"),
        ("docs/page.md", "src/gone/", "docs/page.md:1: there is no src/gone"),
        ("docs/page.md", "src/{a,gone}.h", "docs/page.md:1: there is no src/gone.h"),
        ("docs/page.md", "src/*.rb", "docs/page.md:1: there is no src/*.rb"),
        ("docs/page.md.in", "locks/two_lock.h", "docs/page.md.in:1: there is no locks/two_lock.h"),
        ("docs/page.md", "build/src/b", "docs/page.md:1: there is no build/src/b"),
        ("docs/page.md", "build/release/src/gone/b", "docs/page.md:1: there is no src/gone"),
        ("src/a.h", "int a;  // gone.cpp's", "src/a.h:1: there is no gone.cpp"),
        ("src/b.h", "/* a.h\n * gone.c */", "src/b.h:2: there is no gone.c"),
        ("src/b.S", "/* gone.h */", "src/b.S:1: there is no gone.h"),
        ("src/run.py", "def f():\n    '''Like gone.py.'''", "src/run.py:2: there is no gone.py"),
        ("src/run.py", "a = 1  # (src/gone)", "src/run.py:1: there is no src/gone"),
        ("src/run.py", "def = 1", "src/run.py: cannot be read: invalid syntax (<unknown>, line 1)"),
        ("src/run.sh", "ls a.h  # gone.sh", "src/run.sh:1: there is no gone.sh"),
        ("src/table.toml", "# gone.h", "src/table.toml:1: there is no gone.h"),
        (
            "scripts/foreign_paths.toml",
            '[[foreign]]\nin = "*"\nnames = ["their.c"]\nreason = "theirs"',
            "scripts/foreign_paths.toml: their.c is not named in *",
        ),
        (
            "include/syncopate/locks/one_lock.h",
            COVERED.replace("{one,two}", "two"),
            "include/syncopate/locks/one_lock.h: 'Checked by' does not name "
            "tests/check/one_check.cpp",
        ),
        (
            "include/syncopate/locks/one_lock.h",
            COVERED.replace("tests/conformance, ", ""),
            "include/syncopate/locks/one_lock.h: 'Checked by' does not name "
            "tests/conformance/every_lock.h",
        ),
    ],
)
def test_what_is_gone(tmp_path: Path, path: str, text: str, message: str) -> None:
    assert check(tmp_path, {path: text + "\n"}) == [message]


def test_names_of_other_projects(tmp_path: Path) -> None:
    rows = '[[foreign]]\nin = "docs/*"\nnames = ["their.c"]\nreason = "theirs"\n'
    changes = {"scripts/foreign_paths.toml": rows, "docs/page.md": "their.c\n"}
    assert "all right" in check(tmp_path, changes)[-1]
    changes["src/b.h"] = "// their.c\n"
    assert check(tmp_path, changes) == ["src/b.h:1: there is no their.c"]


def test_scripts_that_nobody_may_execute(tmp_path):
    script = {"src/run.sh": "#!/bin/sh\n# a.h\n"}
    assert check(tmp_path, script) == ["src/run.sh: begins with #! and is not executable"]
    (tmp_path / "src/run.sh").chmod(0o755)
    assert check(tmp_path, script) == [f"paths: {len(HOUSE) + 1} files, all right"]
