"""Where what users get looks for libraries: beside itself, and where the system has them. Not in
the folder where a user happens to be, whose files may be others', nor at a place of the builder's.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT

BUILT = Path(os.environ.get("SYNCOPATE_NATIVE") or ROOT / "build").absolute()
FOLDERS = ("bin", "lib", "libexec/syncopate")
PRODUCTS = sorted(
    path
    for folder in FOLDERS
    for path in (BUILT / folder).iterdir()
    if path.is_file() and not path.is_symlink() and path.read_bytes()[:4] == b"\x7fELF"
)


def dynamic(product: Path, tag: str) -> list[str]:
    said = subprocess.run(["readelf", "-dW", product], capture_output=True, text=True, check=True)
    return re.findall(rf"\({tag}\).*\[(.*)\]", said.stdout)


def test_there_are_some():
    assert {"bin", "lib"} <= {path.parent.name for path in PRODUCTS}


@pytest.mark.parametrize("product", PRODUCTS, ids=lambda path: path.name)
def test_searches_beside_itself_alone(product):
    for searched in dynamic(product, "RUNPATH") + dynamic(product, "RPATH"):
        assert all(each.startswith("$ORIGIN/") for each in searched.split(":")), searched


@pytest.mark.parametrize("product", PRODUCTS, ids=lambda path: path.name)
def test_takes_nothing_from_the_current_folder(product, tmp_path):
    """The loader itself says what it would load where files of all these names lie around."""
    needed = dynamic(product, "NEEDED")
    for name in needed:
        (tmp_path / name).write_bytes((BUILT / "lib/libsyncopate-pthread.so.0").read_bytes())
    environ = {k: v for k, v in os.environ.items() if k not in ("LD_LIBRARY_PATH", "LD_PRELOAD")}
    said = subprocess.run(
        ["ldd", product], cwd=tmp_path, env=environ, capture_output=True, text=True
    )
    found = re.findall(r"^\s+(\S+) => (\S+)", said.stdout, re.M)
    assert found or not needed, said.stderr
    assert not [path for _, path in found if not path.startswith("/")], said.stdout
    assert str(tmp_path) not in said.stdout
