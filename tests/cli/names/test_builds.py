"""Names come from the build that was recorded, wherever it is, and from no other."""

import http.server
import lzma
import re
import shlex
import subprocess
import sys
import threading

import pytest
from conftest import compile_c, run_cli
from test_symbols import BASE, SOURCE, call_in, maps_of, symbol

from syncopate.symbols import debugpackages
from syncopate.symbols.demangling import demangle, prepare
from syncopate.symbols.names import Names
from syncopate.symbols.symbols import Symbolizer
from syncopate.symbols.symboltable import SymbolTable


def run(*command) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def program(tmp_path):
    return compile_c(SOURCE, tmp_path / "prog", "-g", "-O2", "-pie")


def build_id_of(path: str) -> str | None:
    return Names().identity(path).build_id


def maps_with_build(path) -> str:
    """As the recorder writes them (src/record/build_ids.h)."""
    return f"{maps_of(path)}build-id {BASE:x} {BASE:x} {build_id_of(str(path))}\n"


def test_build_id_is_the_files(program):
    (told,) = re.findall(r"Build ID: ([0-9a-f]+)", run("readelf", "-n", program))
    assert SymbolTable(str(program)).build_id == told


def test_the_right_build_is_named_without_a_note(program):
    asked = Symbolizer(maps_with_build(program), recorded_at_ns=1)
    assert [f.function for f in asked.frames(call_in(program, "outer"))] == ["inner", "outer"]
    assert asked.variable(BASE + symbol(program, "hot_lock"))[0] == "hot_lock"
    assert asked.notes == []


def test_another_build_gives_no_name(program):
    maps, call, lock = maps_with_build(program), call_in(program, "outer"), symbol(program, "pair")
    compile_c(SOURCE.replace("outer", "wrong"), program, "-g", "-O2", "-pie")
    asked = Symbolizer(maps)
    (frame,) = asked.frames(call)
    assert (frame.function, frame.file) == (f"prog+{call - 1 - BASE:#x}", "")
    assert asked.variable(BASE + lock)[0] == f"prog+{lock:#x}"
    (note,) = asked.notes
    assert "is not the build that was recorded (" in note
    assert note.endswith("): no names from it")


@pytest.mark.parametrize("known", [True, False])
def test_without_the_file_places_in_it_are_told(program, known):
    maps = maps_with_build(program) if known else maps_of(program)
    call, lock = call_in(program, "outer"), symbol(program, "warm_lock")
    headers = run("readelf", "-lW", program)
    found = re.findall(r"LOAD +(0x\w+) (0x\w+).* RW ", headers)
    data = [int(number, 16) for number in found[0]]
    program.unlink()
    asked = Symbolizer(maps)
    assert asked.frames(call)[0].function == f"prog+{call - 1 - BASE:#x}"
    # Of old records the place in the file is known, of others that in the program's own numbering.
    expected = lock if known else lock - data[1] + data[0]
    assert asked.variable(BASE + lock)[0] == f"prog+{expected:#x}"
    assert asked.notes == [f"{program} cannot be read: no names from it"]


def test_a_deleted_program_that_is_there_again_is_checked(program):
    maps = maps_with_build(program).replace(str(program), f"{program} (deleted)")
    assert Symbolizer(maps).frames(call_in(program, "outer"))[0].function == "inner"


def split(program, *, link: bool):
    """Moves debug information and symbols into a file of their own."""
    debug = program.with_name("prog.debug")
    run("objcopy", "--only-keep-debug", program, debug)
    run("strip", program)
    if link:
        run("objcopy", f"--add-gnu-debuglink={debug}", program)
    return debug


def test_debug_link(program):
    call, lock = call_in(program, "outer"), symbol(program, "hot_lock")
    split(program, link=True)
    asked = Symbolizer(maps_with_build(program))
    assert [f.function for f in asked.frames(call)] == ["inner", "outer"]
    assert asked.variable(BASE + lock)[0] == "hot_lock"


def test_debug_link_to_another_build_is_not_followed(program, tmp_path):
    lock = symbol(program, "hot_lock")
    debug = split(program, link=True)
    other = compile_c(SOURCE.replace("outer", "wrong"), tmp_path / "other", "-g", "-O2", "-pie")
    run("objcopy", "--only-keep-debug", other, debug)
    assert SymbolTable(str(program)).variable(lock) is None


def with_debug_file_of_packages(program, folder):
    build = build_id_of(str(program))
    place = folder / ".build-id" / build[:2] / f"{build[2:]}.debug"
    place.parent.mkdir(parents=True)
    split(program, link=False).rename(place)


@pytest.mark.parametrize("becomes", ["gone", "stripped", "another"])
def test_debug_file_by_build_id_stands_in_for_the_program(program, tmp_path, becomes, monkeypatch):
    call, lock = call_in(program, "outer"), symbol(program, "pair")
    maps = maps_with_build(program)
    with_debug_file_of_packages(program, tmp_path / "debug")
    if becomes != "stripped":
        program.unlink()
    if becomes == "another":
        compile_c(SOURCE.replace("outer", "wrong"), program, "-g", "-O2", "-pie")
    monkeypatch.setattr(Names, "debuginfo_path", f":.debug:{tmp_path}/debug")
    asked = Symbolizer(maps)
    assert [f.function for f in asked.frames(call)] == ["inner", "outer"]
    assert asked.variable(BASE + lock)[0] == "pair"
    assert asked.notes == []


def test_debug_files_of_packages_are_found(program, tmp_path):
    """In their folder, as seen by a namespace of its own, where the system allows one."""
    build = build_id_of(str(program))
    with_debug_file_of_packages(program, tmp_path / "debug")
    asking = (
        "from syncopate.symbols.names import Names\n"
        f"print(Names().ask({str(program)!r}, ['g', 'b {build}']))"
    )
    folder, python = shlex.quote(f"{tmp_path}/debug"), shlex.quote(sys.executable)
    command = f'mount --bind {folder} /usr/lib/debug && exec {python} -c "$0"'
    unshare = ("unshare", "-rm", "sh", "-c")
    try_it = [*unshare, "mount --bind /tmp /usr/lib/debug"]
    tried = subprocess.run(try_it, capture_output=True, text=True)
    if tried.returncode != 0:
        pytest.skip(f"no folder of packages of its own: {tried.stderr.strip()}")
    place = f"/usr/lib/debug/.build-id/{build[:2]}/{build[2:]}.debug"
    assert run(*unshare, command, asking) == f"{[[place], [place]]}\n"


def test_packed_symbols(program, tmp_path):
    call, lock = call_in(program, "outer"), symbol(program, "hot_lock")
    small, packed = tmp_path / "small", tmp_path / "small.xz"
    run("strip", "-g", "-o", small, program)
    packed.write_bytes(lzma.compress(small.read_bytes()))
    run("strip", program)
    run("objcopy", f"--add-section=.gnu_debugdata={packed}", program)
    asked = Symbolizer(maps_with_build(program))
    assert asked.frames(call)[0].function.partition("+")[0] == "outer"
    assert asked.variable(BASE + lock)[0] == "hot_lock"


class Debuginfod(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        found = self.server.files.get(self.path)
        self.send_response(200 if found else 404)
        self.send_header("Content-Length", str(len(found or b"")))
        self.end_headers()
        self.wfile.write(found or b"")

    def log_message(self, *_):
        pass


def test_symbols_that_debuginfod_brings(program, tmp_path, monkeypatch):
    call, lock = call_in(program, "outer"), symbol(program, "hot_lock")
    debug = split(program, link=False)
    served = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Debuginfod)
    served.files = {f"/buildid/{build_id_of(str(program))}/debuginfo": debug.read_bytes()}
    debug.unlink()
    threading.Thread(target=served.serve_forever, daemon=True).start()
    monkeypatch.setenv("DEBUGINFOD_URLS", f"http://127.0.0.1:{served.server_port}")
    monkeypatch.setenv("DEBUGINFOD_CACHE_PATH", str(tmp_path / "cache"))
    try:
        asked = Symbolizer(maps_with_build(program))
        assert asked.variable(BASE + lock)[0] == "hot_lock"
        assert [f.function for f in asked.frames(call)] == ["inner", "outer"]
    finally:
        served.shutdown()


def test_hints(program, monkeypatch):
    monkeypatch.delenv("DEBUGINFOD_URLS", raising=False)
    assert re.fullmatch(
        r"no symbols of memcached: install memcached-dbgsym"
        r"( \(from: deb http://\S+ \S+ main(; of updates that are new: [\w-]+)?\))?, or set "
        r"DEBUGINFOD_URLS=https://\S+",
        debugpackages.hint(["/usr/bin/memcached"]),
    )
    own = debugpackages.hint([str(program)])
    assert own == "no symbols of prog: build with -g and do not strip"


def test_hint_names_a_package_that_is_there(monkeypatch):
    """Debian's libc, Python and JDK have packages -dbg, two of them named after their source."""
    sources = "python3.11-minimal python3.11\nlibc6 glibc\nopenjdk-17-jre-headless openjdk-17\n"
    listed = "".join(
        f"{name}:\n  Installed: (none)\n  Candidate: {version}\n  Version table:\n"
        for name, version in (("libc6-dbg", "2.36-9"), ("openjdk-17-dbg", "17.0.21"),
                              ("python3.11-dbg", "3.11.2"), ("glibc-dbg", "(none)"))
    )  # fmt: skip
    told = {"dpkg-query": sources + "memcached memcached\n", "apt-cache": listed}
    monkeypatch.setattr(debugpackages.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(
        debugpackages.boundedtool, "output",
        lambda command, *_, **__: told[command[0].rpartition("/")[2]],
    )  # fmt: skip
    packages = ["python3.11-minimal", "libc6", "openjdk-17-jre-headless", "memcached", "unknown"]
    listed = ["python3.11-dbg", "libc6-dbg", "openjdk-17-dbg"]
    others = ["memcached-dbgsym", "unknown-dbgsym"]
    assert debugpackages.debug_packages(packages) == (listed, others)
    assert debugpackages.debug_packages(packages[:3]) == (listed, [])


@pytest.mark.parametrize(
    ("system", "listed", "said"),
    [
        ("ID=debian\nVERSION_CODENAME=trixie\n", False,
         "install p-dbgsym (from: deb http://deb.debian.org/debian-debug trixie-debug main), "
         "or set DEBUGINFOD_URLS=https://debuginfod.debian.net"),
        ("ID=debian\nVERSION_CODENAME=trixie\nUPDATED=\n", False,
         "install p-dbgsym (from: deb http://deb.debian.org/debian-debug trixie-debug main; of "
         "updates that are new: trixie-proposed-updates-debug), or set "
         "DEBUGINFOD_URLS=https://debuginfod.debian.net"),
        ('ID=ubuntu\nVERSION_CODENAME="noble"\n', False,
         "install p-dbgsym (from: deb http://ddebs.ubuntu.com noble main restricted universe "
         "multiverse), or set DEBUGINFOD_URLS=https://debuginfod.ubuntu.com"),
        ("ID=debian\nVERSION_CODENAME=trixie\n", True,
         "install p-dbgsym, or set DEBUGINFOD_URLS=https://debuginfod.debian.net"),
        ("ID=other\n", False,
         "install p-dbgsym, or set DEBUGINFOD_URLS=https://debuginfod.elfutils.org"),
    ],
)  # fmt: skip
def test_hint_tells_the_archive_of_packages_that_no_system_lists(
    monkeypatch, tmp_path, system, listed, said
):
    release = tmp_path / "os-release"
    release.write_text(system)
    monkeypatch.setattr(debugpackages, "RELEASE", release)
    monkeypatch.setattr(debugpackages, "packages_of", lambda paths: ["p"])
    monkeypatch.setattr(debugpackages, "_sources", lambda packages: {"p": "p"})
    version = "1:9.18.49-1~deb13u3" if "UPDATED" in system else "1.1-2"
    monkeypatch.setattr(debugpackages, "_versions", lambda packages: [version])
    monkeypatch.setattr(debugpackages, "_known", lambda names: {"p-dbgsym"} if listed else set())
    monkeypatch.delenv("DEBUGINFOD_URLS", raising=False)
    assert debugpackages.hint(["/usr/bin/p"]) == f"no symbols of p: {said}"


def test_report_gives_the_hint_once(program, tmp_path):
    contended = compile_c(CONTENDED, program, "-g", "-O2", "-pthread")
    run("strip", contended)
    assert run_cli("record", "-o", tmp_path / "two", "--", contended).returncode == 0
    told = run_cli("report", tmp_path / "two").stdout
    assert told.count("note: no symbols of prog: build with -g and do not strip") == 1
    assert re.search(r"^prog\+0x[0-9a-f]{4,6} ", told, re.MULTILINE), told
    contended.unlink()
    gone = run_cli("report", tmp_path / "two").stdout
    assert "no symbols of" not in gone
    assert re.search(r"^prog\+0x[0-9a-f]{4,6} ", gone, re.MULTILINE), gone


CONTENDED = """
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void* work(void* x) {
  for (int i = 0; i < 50; i++) {
    pthread_mutex_lock(&lock); usleep(200); pthread_mutex_unlock(&lock);
  }
  return x;
}
int main(void) {
  pthread_t t[3];
  for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, work, 0);
  for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
}
"""


def test_records_say_the_build(program, tmp_path):
    from syncopate.records.recordfile import Record

    record = tmp_path / "rec"
    assert run_cli("record", "-o", record, "--", program).returncode == 0
    assert record.stat().st_mode & 0o777 == 0o600
    maps = Record(str(record)).maps()
    start = re.search(rf"^([0-9a-f]+)-\S+ r--p 00000000 .*{program}$", maps, re.MULTILINE)[1]
    assert f"\nbuild-id {start} {start} {build_id_of(str(program))}\n" in maps


@pytest.mark.parametrize(
    ("mangled", "plain"),
    [
        ("_ZN1r14Cache$LT$T$GT$7look_up17h8757491572e60684E", "r::Cache<T>::look_up"),
        (
            "_RNvMCs6GmmlP4bgsG_1rINtB2_5CacheINtNtCslNYArtu3iFV_5alloc3vec3VechEE7look_upB2_",
            "<r::Cache<alloc::vec::Vec<u8>>>::look_up",
        ),
        ("_D3std5stdio7writelnFZv", "std.stdio.writeln()"),
        ("_ZN3app5tableE", "app::table"),
        ("_ZNSt5mutex4lockEv", "std::mutex::lock()"),
        ("_Z" + "x" * 100_000, "_Z" + "x" * 100_000),
        ("_Zbroken\n\x1b[31m", "_Zbroken\n\x1b[31m"),
        ("_", "_"),
    ],
)
def test_names_of_other_languages(mangled, plain):
    assert demangle(mangled) == plain


def test_many_names_at_once():
    names = [f"_ZN3app9name{number:05}Ev" for number in range(30_000)]
    prepare(names)
    assert [demangle(names[n]) for n in (7, 29_999)] == ["app::name00007()", "app::name29999()"]


def test_a_name_that_grows_without_end_stays_as_it_is():
    grown = "_Z1f" + "St4pairI" * 40 + "i" + "".join(f"S{n:X}_E" for n in range(40))
    assert len(demangle(grown)) <= 1100
    doubled = "_Z1fI" + "".join(f"1aI{'S_' * 2}E" for _ in range(60)) + "Evv"
    assert len(demangle(doubled)) <= 1100
