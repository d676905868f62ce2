"""Names for addresses, checked on programs compiled here with known functions and variables."""

import shlex
import subprocess
from pathlib import Path

import pytest
from conftest import compile_c
from make_record import RecordBuilder

from syncopate.records.analysis import Analysis
from syncopate.records.naming import name_locks, telling
from syncopate.records.recordfile import Record
from syncopate.records.recordformat import CREATED, Lock
from syncopate.symbols import names
from syncopate.symbols.demangling import demangle
from syncopate.symbols.names import MISSING, PAGE, PF_W, PF_X, Names
from syncopate.symbols.symbols import Frame, Symbolizer
from syncopate.symbols.symboltable import SymbolTable

SOURCE = """
#include <pthread.h>
static pthread_mutex_t hot_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t warm_lock = {{0, 0, 0, 1}};
pthread_mutex_t stripes[8];
struct { pthread_mutex_t first, second; } pair;
static inline __attribute__((always_inline)) void inner(void) {
  pthread_mutex_lock(&hot_lock);
}
__attribute__((noinline)) void outer(void) {
  inner();
  pthread_mutex_unlock(&hot_lock);
}
int main(void) { outer(); return 0; }
"""
BASE = 0x5555_0000_0000


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compile_c(SOURCE, tmp_path_factory.mktemp("program") / "prog", "-g", "-O2", "-pie")


def maps_of(path) -> str:
    """/proc/self/maps lines as the loader would make them, with the program at BASE."""
    lines = []
    for offset, address, size, flags in Names().identity(str(path)).loads:
        start = (address & -PAGE) + BASE
        end = (address + size + PAGE - 1 & -PAGE) + BASE
        rights = "r" + "-w"[bool(flags & PF_W)] + "-x"[bool(flags & PF_X)] + "p"
        lines.append(f"{start:x}-{end:x} {rights} {offset & -PAGE:08x} 08:01 7   {path}\n")
        lines.append(f"{end:x}-{end + PAGE:x} rw-p 00000000 00:00 0 \n")
    return "".join(lines)


def symbol(path, name) -> int:
    listed = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
    (line,) = [line for line in listed.splitlines() if line.endswith(f" {name}")]
    return int(line.split()[0], 16)


def call_in(path, function: str) -> int:
    """The return address of the first call in a function, at run time."""
    listed = subprocess.run(
        ["objdump", "-d", f"--disassemble={function}", path], capture_output=True, text=True
    ).stdout.splitlines()
    at = next(index for index, line in enumerate(listed) if "call" in line)
    return BASE + int(listed[at + 1].partition(":")[0], 16)


def test_inlined_frames(program):
    frames = Symbolizer(maps_of(program)).frames(call_in(program, "outer"))
    assert [(frame.function, frame.inlined) for frame in frames] == [
        ("inner", True),
        ("outer", False),
    ]
    assert [frame.line for frame in frames] == [8, 11]
    assert frames[0].module == str(program)


def test_return_addresses_name_the_call_before_them(program):
    (frame,) = Symbolizer(maps_of(program)).frames(call_in(program, "main"))
    assert (frame.function, frame.line) == ("main", 14)


@pytest.mark.parametrize("name", ["hot_lock", "warm_lock", "stripes", "pair"])
def test_variables_in_data_and_bss(program, name):
    address = BASE + symbol(program, name)
    named = Symbolizer(maps_of(program)).variable(address + 8)
    assert named == (name, 8, str(program))


def test_addresses_outside(program):
    symbolizer = Symbolizer(maps_of(program))
    assert symbolizer.variable(0x1000) is None
    assert symbolizer.variable(0x7FFF_0000_0000) is None
    assert symbolizer.frames(0x1234) == [Frame("0x1234", "", 0, "", False)]


def test_without_debug_information(program, tmp_path):
    bare = tmp_path / "bare"
    subprocess.run(["strip", "-g", "-o", bare, program], check=True)
    call = call_in(program, "outer")
    (frame,) = Symbolizer(maps_of(bare)).frames(call)
    offset = call - 1 - BASE - symbol(program, "outer")
    assert (frame.function, frame.file) == (f"outer+{offset:#x}", "")
    assert frame.place() == "bare"


# That writes no .debug_aranges, without which libdw finds no line.
def test_lines_of_what_clang_compiled(tmp_path):
    by_clang = tmp_path / "by_clang"
    (tmp_path / "prog.c").write_text(SOURCE)
    subprocess.run(["clang", "-g", "-O2", tmp_path / "prog.c", "-o", by_clang], check=True)
    asked = Symbolizer(maps_of(by_clang))
    inlined, outer = asked.frames(call_in(by_clang, "outer"))
    assert (inlined.function, inlined.place(), inlined.inlined) == ("inner", "prog.c:8", True)
    assert (outer.function, outer.place(), outer.inlined) == ("outer", "prog.c:11", False)
    assert not asked.notes


def test_without_any_symbol(program, tmp_path):
    bare = tmp_path / "bare"
    subprocess.run(["strip", "-o", bare, program], check=True)
    symbolizer = Symbolizer(maps_of(bare))
    call = call_in(program, "outer")
    assert symbolizer.frames(call)[0].function == f"bare+{call - 1 - BASE:#x}"
    hot = symbol(program, "warm_lock")
    assert symbolizer.variable(BASE + hot) == (f"bare+{hot:#x}", 0, str(bare))


def test_without_the_tool_it_says_so_once(program, monkeypatch):
    maps, call = maps_of(program), call_in(program, "main")
    monkeypatch.setattr(names.paths, "find", lambda part: None)
    symbolizer = Symbolizer(maps)
    symbolizer.resolve([call_in(program, "outer")])
    symbolizer.resolve([call])
    assert symbolizer.frames(call)[0].function.startswith("prog+0x")
    assert symbolizer.notes == [MISSING]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("echo", "Exec format error"),
        ("#!/nowhere/sh\n", "No such file or directory"),
        ("#!/bin/sh\necho 'libdw.so.1: not there' >&2; exit 127\n", "libdw.so.1: not there"),
        ("#!/bin/sh\n", "it is of another version, or no such program"),
        ("#!/bin/cat\n", "it is of another version, or no such program"),
        ("#!/bin/sh\nyes ''\n", "it does not end"),
        ("#!/bin/sh\nexec sleep 600\n", "no answer in 0.5 s"),
        (None, "Permission denied"),
    ],
)
def test_a_tool_that_does_not_run_is_one_line(program, tmp_path, monkeypatch, content, why):
    tool = tmp_path / "syncopate-names"
    tool.write_text(content or "")
    tool.chmod(0o755 if content else 0o644)
    maps, call = maps_of(program), call_in(program, "main")
    monkeypatch.setattr(names.paths, "find", lambda part: str(tool))
    monkeypatch.setattr(names, "SECONDS", 0.5)
    symbolizer = Symbolizer(maps)
    assert symbolizer.frames(call)[0].function.startswith("prog+0x")
    assert symbolizer.notes == [f"{tool} does not run ({why}): no names of code and data"]


def but_for(tmp_path: Path, line: str) -> str:
    """A program that is the tool, but for what a line of bash does of a question, $line."""
    tool, other = names.paths.find(names.paths.NAMES_TOOL), tmp_path / "other"
    other.write_text(f'#!/bin/bash\necho "{names.GREETING.strip()}"; IFS= read -rd "" hello\n'
                     f'IFS= read -rd "" line\n{line}\n'
                     f'exec {shlex.quote(tool)} < <(printf "%s\\0" "$line"; cat)\n')  # fmt: skip
    other.chmod(0o755)
    return str(other)


def test_a_file_that_ends_the_tool_takes_no_name_from_others(program, tmp_path, monkeypatch):
    """Asked of a damaged file it may crash: then another one is started."""
    fragile = but_for(tmp_path, "case $line in *bad) kill -9 $$ ;; esac")
    bad = tmp_path / "bad"
    bad.write_bytes(program.read_bytes())
    monkeypatch.setattr(names.paths, "find", lambda part: fragile)
    asked = Names()
    assert asked.identity(str(bad)) is None
    start = symbol(program, "outer")
    assert asked.ask(str(program), [f"f {start:x}"]) == [[f"{start:x}", "outer"]]
    assert asked.ask(str(bad), [f"f {start:x}"]) == [[]]
    assert asked.notes == [f"syncopate-names broke off at {bad}: names of it are missing"]


def test_a_file_that_silences_the_tool_is_not_waited_for_without_end(
    program, tmp_path, monkeypatch
):
    silent = but_for(tmp_path, "exec sleep 600")
    monkeypatch.setattr(names.paths, "find", lambda part: silent)
    monkeypatch.setattr(names, "SECONDS", 0.5)
    asked = Names()
    assert asked.identity(str(program)) is None
    assert asked.notes == [f"syncopate-names took over 0.5 s on {program}: no names of it"]


def test_many_questions_at_once(program):
    """More than both pipes hold."""
    start = symbol(program, "outer")
    told = Names().ask(str(program), [f"f {start + n % 2:x}" for n in range(50_000)])
    assert told == [[f"{start:x}", "outer"]] * 50_000


def test_variables_that_were_prepared_are_not_asked_for_again(program, monkeypatch):
    """Of arrays of thousands of locks, each in memory that no file is mapped to: two questions, and
    none goes through what is known already."""

    class Known(dict):
        __iter__ = keys = items = values = None

    asked = []
    ask = Names.ask
    monkeypatch.setattr(
        Names, "ask", lambda of, path, words: asked.append(words) or ask(of, path, words)
    )
    addresses = [BASE + symbol(program, "stripes") + 40 * n for n in range(5)]
    addresses.append(BASE + symbol(program, "hot_lock"))
    symbolizer = Symbolizer(maps_of(program))
    symbolizer.prepare_variables(addresses)
    assert len(asked) == 1
    for module in symbolizer._modules.values():
        module.table._at = {kind: Known(known) for kind, known in module.table._at.items()}
    names = {symbolizer.variable(address)[0] for address in addresses}
    assert names == {"stripes", "hot_lock"}
    assert not any(asked[1:])


def test_changed_and_missing_modules_are_noted(program):
    changed = Symbolizer(maps_of(program), recorded_at_ns=1)
    changed.frames(call_in(program, "main"))
    assert changed.notes == [f"{program} changed after the recording: its names may be wrong"]
    gone = Symbolizer("1000-2000 r-xp 00000000 08:01 7 /no/such/lib.so\n")
    assert gone.frames(0x1234)[0].function.startswith("lib.so+0x")
    assert gone.notes == ["/no/such/lib.so cannot be read: no names from it"]
    # No code was in it: a server's log in memory, which it removes when it ends.
    data = Symbolizer("1000-2000 rw-s 00000000 08:01 7 /no/such/Log.888ab411b2dc6ae9\n")
    assert data.variable(0x1234) and data.notes == []


def test_cplusplus_names():
    assert demangle("_ZN3app5tableE") == "app::table"
    assert demangle("plain") == "plain"
    assert demangle("_Zbroken") == "_Zbroken"


def test_files_that_are_no_elf_have_no_symbols(tmp_path):
    text = tmp_path / "text"
    text.write_text("not an ELF file, though long enough to be taken for one" * 10)
    table = SymbolTable(str(text))
    assert (table.function(0), table.variable(0)) == (None, None)


def lock(number: int, address: int, flags=0, create=0, first=0) -> Lock:
    return Lock(number, address, 1, 0, flags, create, first, 0, 0, 0, 0, 0, (0,) * 46)


def test_locks_are_named_by_variable_array_and_place(program):
    stripes, pair = (BASE + symbol(program, name) for name in ("stripes", "pair"))
    frames = {
        1: [Frame("std::mutex::lock()", "std_mutex.h", 100, "prog", True),
            Frame("Cache::find", "/src/cache.cpp", 12, "prog", False)],
        2: [Frame("___pthread_mutex_init", "", 0, "/lib/libc.so.6", False),
            Frame("Pool::Pool", "/src/pool.cpp", 3, "prog", False)],
    }  # fmt: skip
    locks = [lock(1 + n, stripes + 40 * n) for n in range(5)]
    locks += [lock(6, pair), lock(7, pair + 40), lock(8, 0x10, first=1),
              lock(9, 0x20, CREATED, create=2, first=1), lock(10, 0x30)]  # fmt: skip
    names = name_locks(locks, Symbolizer(maps_of(program)), lambda stack: frames.get(stack, []))
    assert {names[number].text for number in range(1, 6)} == {"stripes[]"}
    assert [names[6].text, names[7].text] == ["pair", "pair+0x28"]
    assert (names[8].text, names[8].by) == ("Cache::find at cache.cpp:12", "first use")
    assert (names[9].text, names[9].by) == ("Pool::Pool at pool.cpp:3", "creation")
    assert (names[10].text, names[10].by) == ("0x30", "address")
    assert [names[n].site for n in (1, 6, 8, 9)] == ["stripes", "pair", "Cache::find", "Pool::Pool"]


def test_a_thread_that_is_joined_is_no_variable_though_its_handle_lies_in_one(program):
    """As handles of a machine's threads do, which stand in its own table."""
    handle = lock(1, BASE + symbol(program, "stripes"), first=1)._replace(object=8)
    frames = [Frame("main", "/src/main.cpp", 5, "prog", False)]
    names = name_locks([handle], Symbolizer(maps_of(program)), lambda stack: frames)
    assert (names[1].text, names[1].by) == ("main at main.cpp:5", "first use")


def test_the_site_of_a_policy_is_a_function_that_is_there(program):
    frames = [Frame("Pool::Pool", "/src/pool.cpp", 3, "prog", True),
              Frame("make_pools()+0x28", "", 0, "prog", False),
              Frame("main", "/src/main.cpp", 5, "prog", False)]  # fmt: skip
    names = name_locks([lock(1, 0x20, CREATED, create=2)], Symbolizer(""), lambda stack: frames)
    assert (names[1].text, names[1].site) == ("Pool::Pool at pool.cpp:3", "make_pools()")


def test_telling_frame_of_wrappers_only():
    only = [Frame("pthread_mutex_lock", "", 0, "libc.so.6", False)]
    assert telling(only) == only[0]
    assert telling([]) is None


@pytest.mark.parametrize("own", [True, False])
def test_a_lock_that_new_threads_wait_for_is_called_by_their_beginning(own):
    """pthread_create keeps one where it sets something of the thread from outside."""
    of_library = [
        Frame("futex_wait", "../sysdeps/nptl/futex-internal.h", 146, "/usr/lib/libc.so.6", True),
        Frame("__lll_lock_wait_private", "", 0, "/usr/lib/libc.so.6", False),
        Frame("start_thread", "./nptl/pthread_create.c", 348, "/usr/lib/libc.so.6", False),
        Frame("clone3", "", 0, "/usr/lib/libc.so.6", False),
    ]
    work = Frame("work", "/src/work.cpp", 5, "prog", False)
    frames = [*of_library[:2], *([work] if own else []), *of_library[2:]]
    assert telling(frames) == (work if own else of_library[2])
    assert telling(of_library[:2]) == of_library[0]


TAIL = """
#include <pthread.h>
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
__attribute__((noinline)) void last_act(void) {
  asm volatile("");
  pthread_mutex_unlock(&lock);  // a jump
}
__attribute__((noinline)) int plain(void) {
  pthread_mutex_lock(&lock);
  last_act();
  asm volatile("");
  return 0;
}
int main(void) { return plain(); }
"""


def calls_in(path, function: str) -> list[int]:
    """The return addresses of all calls in a function, at run time."""
    listed = subprocess.run(
        ["objdump", "-d", f"--disassemble={function}", path], capture_output=True, text=True
    ).stdout.splitlines()
    return [BASE + int(listed[index + 1].partition(":")[0], 16)
            for index, line in enumerate(listed) if "call " in line]  # fmt: skip


def test_what_a_call_entered(tmp_path):
    path = compile_c(TAIL, tmp_path / "tail", "-g", "-O2", "-pie")
    symbolizer = Symbolizer(maps_of(path))
    through_table, direct = calls_in(path, "plain")
    assert symbolizer.entered(through_table) is None
    assert symbolizer.entered(direct) == BASE + symbol(path, "last_act")
    assert symbolizer.entered(direct - 1) is None  # no call before it
    assert symbolizer.entered(0x1234) is None


def test_a_function_that_ends_by_unlocking_is_named(tmp_path):
    path = compile_c(TAIL, tmp_path / "tail", "-g", "-O2", "-pie")
    builder = RecordBuilder()
    builder.maps = maps_of(path)
    through_table, direct = calls_in(path, "plain")
    stacks = [builder.stack(address) for address in (direct, through_table)]
    builder.thread(11)
    analysis = Analysis(Record(str(builder.write(tmp_path / "rec"))))
    named = [[frame.function for frame in analysis.frames_of(stack)] for stack in stacks]
    assert named == [["last_act", "plain"], ["plain"]]


def test_what_may_not_be_written_holds_no_lock(tmp_path):
    """A file was mapped there for a while, as the loader maps its cache, and then other memory."""
    file = tmp_path / "cache"
    file.write_bytes(b"\0" * 8192)

    def variable(rights: str) -> tuple | None:
        return Symbolizer(f"10000-12000 {rights} 00000000 00:01 7 {file}").variable(0x10040)

    assert variable("r--p") is None
    assert variable("rw-p") == ("cache+0x40", 0, str(file))


def test_of_wrappers_alone_the_programs_outermost_tells():
    """A thread's body may have been moved into std::thread's own function, which has its name."""
    moved = "std::thread::_State_impl<std::thread::_Invoker<std::tuple<work()::{lambda()#1}> > >"
    frames = [
        Frame("___pthread_cond_wait", "", 0, "/lib/libc.so.6", False),
        Frame("std::condition_variable::wait+0xc", "", 0, "/lib/libstdc++.so.6", False),
        Frame("std::unique_lock<std::mutex>::lock()", "", 0, "/bin/program", False),
        Frame(f"{moved}::_M_run()", "", 0, "/bin/program", False),
        Frame("libstdc++.so.6+0xd44a2", "", 0, "/lib/libstdc++.so.6", False),
        Frame("start_thread", "", 0, "/lib/libc.so.6", False),
    ]
    assert telling(frames).function == f"{moved}::_M_run()"
    assert telling([*frames[:2], *frames[4:]]) == frames[0]
    own = Frame("work()", "", 0, "/bin/program", False)
    assert telling([*frames[:3], own, *frames[3:]]) == own
