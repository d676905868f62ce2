"""The public headers that C programs include compile without a warning under each of C's standards,
the strict ones too, in which the C library has fewer names."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
INCLUDE = ROOT / "include"
OF_CPP = {"atomically.h"}
OF_GCC = {"word_lock.h"}  # has transactions
HEADERS = [
    path for path in sorted((INCLUDE / "syncopate/tm").glob("*.h")) if path.name not in OF_CPP
]
STANDARDS = ("c89", "c99", "c11", "c17", "c2x", "gnu89", "gnu99", "gnu17")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("standard", STANDARDS)
@pytest.mark.parametrize("header", [*HEADERS, INCLUDE / "syncopate/gil.h"], ids=lambda p: p.name)
def test_compiles(tmp_path: Path, header: Path, standard: str) -> None:
    source = tmp_path / "h.c"
    includes = ["pthread.h", "stdlib.h", "string.h", header.relative_to(INCLUDE)]
    text = "".join(f"#include <{name}>\n" for name in includes)
    source.write_text(f"{text}int main(void) {{ return 0; }}\n")
    commands = [["gcc", "-fgnu-tm"], *([] if header.name in OF_GCC else [["clang"]])]
    for command in commands:
        flags = [f"-std={standard}", "-Wall", "-Werror", "-fsyntax-only", f"-I{INCLUDE}"]
        done = subprocess.run([*command, *flags, source], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
