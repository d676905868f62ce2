"""The table of rooms (scripts/check_rooms.py): breaches planted in a copy, each to be caught."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from planted_breaches import PLANTED
from rooms.build import Build, parse_dependencies, read_links
from rooms.house import list_files, read_house
from rooms.includes import check_includes
from rooms.symbols import check_symbols

ROOT = Path(__file__).resolve().parents[2]
EXCEPTION = """
[[exceptions]]
from = "src/record/file.cpp"
to = "src/tm/core/engine.h"
reason = "nothing needs it"
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkout without git, build and figures' data."""
    root = tmp_path_factory.mktemp("house")
    for path in list_files(ROOT):
        if not path.startswith("docs/"):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, root / path)
    return root


def check(root: Path, *options: str) -> subprocess.CompletedProcess:
    command = [sys.executable, root / "scripts/check_rooms.py", *options, root]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_planted_breaches(copy: Path) -> None:
    for path, text, _ in PLANTED:
        (copy / path).parent.mkdir(exist_ok=True)
        assert not (copy / path).exists(), path
        (copy / path).write_text(text + "\n", encoding="utf-8")
    table = (copy / "scripts/rooms.toml").read_text(encoding="utf-8")
    (copy / "scripts/rooms.toml").write_text(table + EXCEPTION, encoding="utf-8")
    try:
        result = check(copy)
    finally:
        for path, _, _ in PLANTED:
            (copy / path).unlink()
        (copy / "src/elsewhere").rmdir()
        (copy / "scripts/rooms.toml").write_text(table, encoding="utf-8")
    assert result.returncode == 1
    said = result.stdout.splitlines()
    wanted = [(path, message) for path, _, message in PLANTED if message]
    wanted.append(("exceptions: src/record/file.cpp -> src/tm/core/engine.h", "is not needed"))
    for path, message in wanted:
        matching = [line for line in said if path in line and message in line]
        assert len(matching) == 1, (path, message, result.stdout)
        said.remove(matching[0])
    assert not said


SMALL = """
[rooms.low]
holds = ["low/"]
uses = []
paths = ["."]

[rooms.high]
holds = ["high/"]
uses = ["low"]
paths = ["."]

[outside.system]
headers = ["map"]
"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('uses = ["low"]', "uses = []", "high/b.h:1: room 'high' includes low/a.h of room 'low'"),
        ("[rooms.low]", '[rooms.attic]\nholds = ["attic/"]\nuses = []\n[rooms.low]', "is empty"),
        ('holds = ["low/"]\nuses = []', 'holds = ["low/"]\nuses = ["high"]', "rooms in a circle"),
        ('uses = ["low"]', 'uses = ["low", "roof"]', "room 'high' uses 'roof', which is no room"),
        ('uses = ["low"]', 'uses = ["low"]\noutside = ["z"]', "which is not under [outside]"),
        ('headers = ["map"]', "headers = []", "nothing is known of 'map'"),
        ("[outside.system]", EXCEPTION + "[outside.system]", "is not needed"),
        (
            "[outside.system]",
            EXCEPTION.replace("nothing needs it", " ") + "[outside.system]",
            "no reason is given",
        ),
        (
            "[rooms.high]",
            '[rooms.mid]\nholds = ["low/mid.h"]\nuses = ["low"]\npaths = []\n[rooms.high]',
            "room 'mid' does not use 'low'",
        ),
    ],
)
def test_a_table_that_is_wrong(tmp_path: Path, old: str, new: str, message: str) -> None:
    files = {
        "low/a.h": "#include <map>",
        "low/mid.h": "",
        "high/b.h": '#include "low/a.h" /*\n#include "gone.h" */',
    }
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text + "\n", encoding="utf-8")
    shutil.copytree(ROOT / "scripts/rooms", tmp_path / "scripts/rooms")
    shutil.copy(ROOT / "scripts/check_rooms.py", tmp_path / "scripts")
    scripts = '[rooms.scripts]\nholds = ["scripts/"]\nuses = []\npython = ["scripts"]\n'
    assert old in SMALL
    for table, status in ((SMALL, 0), (SMALL.replace(old, new), 1)):
        path = tmp_path / "scripts/rooms.toml"
        path.write_text(scripts + table, encoding="utf-8")
        result = check(tmp_path)
        assert result.returncode == status, result.stdout + result.stderr
    assert message in result.stdout + result.stderr


# ---- What a build shows: its files, copied with the checkout and changed.


def moved(text: str, copy: Path) -> str:
    """The text of a build with the copy's path, also where ninja or a shell escapes a blank."""
    for blank in (" ", "$ ", r"\\ "):
        text = text.replace(str(ROOT).replace(" ", blank), str(copy))
    return text


@pytest.fixture(scope="module")
def built(copy: Path) -> Path:
    """A copy of the build folder's description, for the copy of the checkout."""
    folder = Path(os.environ["SYNCOPATE_BUILD_DIR"])
    target = copy / folder.relative_to(ROOT)
    target.mkdir(parents=True)
    for name in ("build.ninja", "compile_commands.json", "CMakeCache.txt"):
        text = (folder / name).read_text(encoding="utf-8")
        (target / name).write_text(moved(text, copy), encoding="utf-8")
    for entry in json.loads((folder / "compile_commands.json").read_text(encoding="utf-8")):
        source = Path(entry["file"])
        if source.is_relative_to(folder):  # generated: one out of several
            place = copy / source.relative_to(ROOT)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(moved(source.read_text(encoding="utf-8"), copy), encoding="utf-8")
    return target


PRELOAD = r"(build (?:\S|\$ )+/libsyncopate-pthread\.so\.\S+: [^\n]*?LINKER__\S+)"
# What is found in build.ninja, what it is made into, and what has to be said.
LINKS = [
    (
        PRELOAD + r"(.*?LINK_LIBRARIES = )",
        r"\1\2-lstdc++ ",
        "linked with stdc++, which its row does not name",
    ),
    (
        PRELOAD,
        r"\1 src/tm/CMakeFiles/syncopate-tm.dir/libc/format.cpp.o",
        "linked of room 'tm_library', which its row does not name",
    ),
    (PRELOAD, r"\1 src/elsewhere.o", "linked of src/elsewhere.o, whose source is in no room"),
    (
        r"(build papers/workloads/nas/\S+: C_EXECUTABLE_LINKER__.*?LINK_LIBRARIES = )",
        r"\1-lhwloc ",
        "room 'workloads' may not use hwloc ('hwloc')",
    ),
    (
        r"(build bench/locks_bench: .*?LINK_LIBRARIES = )(\S+ +)(\S+)libsyncopate\.so\.[0-9.]+",
        r"\1\2\3libsyncopate-pthread.so.0.1.0",
        "room 'bench' may not be linked with /lib/libsyncopate-pthread.so.0.1.0",
    ),
    (
        r"(build bench/tm_bench: \S+)",
        r"\1 products/libitm/CMakeFiles/itm.dir/accesses.cpp.o",
        "room 'bench' links products/libitm/accesses.cpp of room 'libitm'",
    ),
    (
        r"(build (?:\S|\$ )+/libsyncopate-openmp\.so\.\S+: [^\n]*?LINKER__.*?LINK_FLAGS = )",
        r"\1-Wl,-z,now,-lelf ",
        "openmp.so.0.1.0: linked with elf, which its row does not name",
    ),
    (
        r"(build (?:\S|\$ )+/tm/libitm\.so\S*: [^\n]*?LINKER__.*?LINK_FLAGS = )",
        r"\1-fopenmp ",
        "linked with gomp, which its row does not name",
    ),
    (
        r"(COMMAND = cd (?:\S+|\"[^\"]+)/tests/openmp\"? && [^\n]* -fopenmp )",
        r"\1-I 'ROOT/attic' '-IROOT/papers/figures' ",
        "tests/openmp/CMakeLists.txt: compiles with the include path papers/figures",
    ),
    (
        r"(COMMAND = cd (?:\S+|\"[^\"]+)/src/record/kernel\"? && /\S+/clang )",
        r"\1 'ROOT/src/tm/core/adaptive.cpp' ",
        "room 'kernel_view' compiles src/tm/core/adaptive.cpp of room 'tm'",
    ),
    (
        r"build ((?:\S|\$ )+)/bin/syncopate-native: ",
        r"build \1/bin/attic: ",
        "/bin/attic: this product is not under [products]",
    ),
]


@pytest.mark.long
def test_planted_links_and_include_paths(copy: Path, built: Path) -> None:
    links, commands = built / "build.ninja", built / "compile_commands.json"
    before = [path.read_text(encoding="utf-8") for path in (links, commands)]
    text = before[0]
    for old, new, _ in LINKS:
        text, count = re.subn(old, new.replace("ROOT", str(copy)), text, count=1, flags=re.S)
        assert count == 1, old
    links.write_text(text, encoding="utf-8")
    text, count = re.subn(
        r"""(-I[^\n]+?/src[\\"]*)( [^\n]*/src/record/file\.cpp)""",
        rf"\1 -I{copy}/papers/workloads\2",
        before[1].replace("src/tm/tables/tiny", "src/tm/tables/large"),
        count=1,
    )
    assert count == 1
    # A product that chooses another machine, that reads a file first, and that reads unseen.
    text, count = re.subn(
        r"""(-I[^\n]+?/src[\\"]*)( [^\n]*/products/openmp/teams/barriers\.cpp)""",
        rf"\1 -I{copy}/src/model/front/include -imacros y.h"
        rf" -include {copy}/papers/workloads/common.h\2",
        text,
        count=1,
    )
    assert count == 1
    commands.write_text(text, encoding="utf-8")
    try:
        result = check(copy, "--build", str(built))
    finally:
        links.write_text(before[0], encoding="utf-8")
        commands.write_text(before[1], encoding="utf-8")
    said = result.stdout.splitlines()
    large = "with the include path src/tm/tables/large, which its room does not have"
    assert sum(line.endswith(large) for line in said) > 10
    said = [line for line in said if not line.endswith(large)]
    wanted = [message for _, _, message in LINKS]
    wanted.append("the include path papers/workloads, which its room does not have")
    wanted.append("the include path src/model/front/include, which its room does not have")
    wanted.append("with papers/workloads/common.h first, which its room does not have")
    wanted.append("with -imacros, and nothing looks at what that reads")
    wanted.append("room 'tests' has no need of src/tm/tables/tiny")
    wanted.append("seams: nothing includes src/tm/tables/tiny/tm_tables.h")
    wanted.append("products: nothing makes /bin/syncopate-native")
    for message in wanted:
        matching = [line for line in said if line.endswith(message)]
        assert len(matching) == 1, (message, result.stdout + result.stderr)
        said.remove(matching[0])
    assert not said


def test_what_the_compiler_read(copy: Path, built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    house = read_house(copy, built=True)
    build = Build(house, check_includes(house), built)
    output = next(o for o, s in build.sources.items() if s == "src/record/file.cpp")
    known = f"{copy}/src/record/file.h"
    read = [(output, [f"{copy}/src/record/file.cpp", known, "/usr/include/stdio.h"])]
    monkeypatch.setattr("rooms.build.read_dependencies", lambda folder: read)
    assert build.check_compilations() == 1
    assert not house.findings
    read[0][1].append(f"{copy}/src/tm/core/engine.h")
    read[0][1].append(f"{built}/generated.h")
    build.check_compilations()
    assert list(house.findings) == [
        f"{output}: reads src/tm/core/engine.h, which no include explains",
        f"{output}: reads the generated {built}/generated.h, which has no room",
    ]


def test_dependencies_of_objects_that_are_older_than_a_source(tmp_path: Path) -> None:
    for name, when in (("a.h", 5), ("a.o", 9), ("b.h", 10), ("b.o", 9)):
        (tmp_path / name).write_text("")
        os.utime(tmp_path / name, (when, when))
    text = (
        "a.o: #deps 1, deps mtime 9 (VALID)\n    a.h\n\n"
        "b.o: #deps 2, deps mtime 9 (VALID)\n    a.h\n    b.h\n\n"
        "c.o: #deps 1, deps mtime 9 (STALE)\n    a.h\n"
    )
    assert parse_dependencies(tmp_path, text) == [("a.o", ["a.h"])]


def test_symbols_of_other_rooms(tmp_path: Path) -> None:
    """A function that is declared by hand, and one that assembly calls."""
    texts = {
        "recorder.cpp": "int written; void syncopate_planted() { ++written; }",
        "user.cpp": "void syncopate_planted(); void use() { syncopate_planted(); }",
        "begin.S": ".text\n.globl begin\nbegin: call _Z17syncopate_plantedv\nret\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text + "\n")
    subprocess.run(["c++", "-c", *texts], cwd=tmp_path, check=True)
    house = read_house(ROOT)
    sources = {
        "recorder.o": "src/record/recorder.cpp",
        "user.o": "products/preload/mutex/mutex.cpp",
        "begin.o": "products/libitm/begin_x86_64.S",
    }
    assert check_symbols(house, tmp_path, "product", sources)
    assert list(house.findings) == [
        "product: products/libitm/begin_x86_64.S: room 'libitm' (_Z17syncopate_plantedv) calls "
        "src/record/recorder.cpp of room 'record'"
    ]
    assert not check_symbols(house, tmp_path, "product", {"gone.o": "src/record/file.cpp"})


def test_symbols_that_a_lower_room_declares_by_hand(tmp_path: Path) -> None:
    """A room may call what a room above fills only by a declaration that both of them see."""
    (tmp_path / "low.cpp").write_text("void read_begins(int); void f() { read_begins(1); }\n")
    (tmp_path / "high.cpp").write_text("template <class T> void g(T); void read_begins(int) {}\n")
    subprocess.run(["c++", "-c", "low.cpp", "high.cpp"], cwd=tmp_path, check=True)
    sources = {"low.o": "src/record/file.cpp", "high.o": "products/preload/mutex/mutex.cpp"}
    declares, others = "src/record/recorder.h", "src/record/format.h"
    for seen, findings in (({declares, others}, 0), ({others}, 1), (set(), 1)):
        house = read_house(ROOT)
        assert check_symbols(house, tmp_path, "p", sources, lambda _, seen=seen: frozenset(seen))
        assert len(house.findings) == findings, house.findings
    assert list(house.findings) == [
        "p: src/record/file.cpp: room 'record' (_Z11read_beginsi) calls "
        "products/preload/mutex/mutex.cpp of room 'preload'"
    ]


def test_link_lines_of_a_folder_with_a_blank(tmp_path: Path) -> None:
    path = tmp_path / "build.ninja"
    path.write_text(
        "build /a$ b/lib/libx.so | w/libx.so: CXX_SHARED_LIBRARY_LINKER__x one$ two.o y.o | dep.o\n"
        '  LINK_LIBRARIES = -Wl,-rpath,"/a b/lib" "/a b/lib/liby.so" -ldl\n'
    )
    (link,) = read_links(path)
    assert link.output == "/a b/lib/libx.so"
    assert link.objects == ["one two.o", "y.o"]
    assert link.libraries == ["/a b/lib/liby.so", "-ldl"]
