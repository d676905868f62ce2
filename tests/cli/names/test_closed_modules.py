"""Libraries that a program closes, whose addresses the next one would have: an address in a record
is of one function and of one lock."""

import json
import subprocess

import pytest
from conftest import HERE, run_cli

from syncopate.symbols.symbols import Symbolizer


def built(folder, compiler="gcc", *flags) -> list:
    """The program, and its libraries in the order in which it is to load them."""
    libraries = [folder / f"lib{name}.so" for name in ("one", "two")]
    for library, name in zip(libraries, ("one", "two"), strict=True):
        subprocess.run(
            [compiler, "-g", "-O1", "-shared", "-fPIC", "-pthread", f"-DNAME={name}",
             *flags, HERE / "closed_part.c", "-o", library], check=True
        )  # fmt: skip
    program = folder / "parts"
    subprocess.run(["gcc", "-O1", HERE / "closed_parts.c", "-o", program], check=True)
    return [program, *libraries, libraries[0]]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "made",
    [(), ("gcc", "-DLARGE=100000"), ("gcc", "-DLARGE=1000000"), ("clang", "-O3", "-DLARGE=70000")],
)
def test_who_comes_after_a_closed_library_is_not_taken_for_it(tmp_path, made):
    """Also where there is room for what the recorder maps itself."""
    command = built(tmp_path, *made)
    places = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert len(set(places)) == 1, "they come to lie elsewhere by themselves: this shows nothing"
    done = run_cli("record", "-q", "-o", tmp_path / "r", "--", *command)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(set(done.stdout.split())) == 3
    (found,) = json.loads(run_cli("report", "--json", tmp_path / "r").stdout)["records"]
    locks = {lock["name"]: lock for lock in found["locks"] if lock["lost_ns"]}
    assert {name: lock["contended"] for name, lock in locks.items()} == {
        "lock_of_one": 2,
        "lock_of_two": 1,
    }
    for name, lock in locks.items():
        frames = [frame["function"] for frame in lock["waiters"][0]["frames"]]
        assert name.replace("lock_of_", "wait_in_") in frames


def test_a_recorder_that_sees_them_at_one_place_says_so():
    lines = [
        "7f0000000000-7f0000001000 r--p 00000000 00:00 1    /x/libone.so",
        "7f0000001000-7f0000002000 r-xp 00001000 00:00 1    /x/libone.so",
        "7f0000001000-7f0000002000 r-xp 00001000 00:00 1    /x/libone.so (deleted)",
        "7f0000000000-7f0000001000 r--p 00000000 00:00 2    /x/data",
    ]
    assert not any("same addresses" in note for note in Symbolizer("\n".join(lines)).notes)
    lines.append("7f0000001000-7f0000003000 r-xp 00001000 00:00 3    /x/libtwo.so")
    (said,) = (note for note in Symbolizer("\n".join(lines)).notes if "same addresses" in note)
    assert said.startswith("libone.so and then libtwo.so were at the same addresses")
