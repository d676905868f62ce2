"""Every function of the C library that a header declares with an argument it may write through is
known: a line of call_table.cpp, a function that is written by hand, or listed here with the reason
why a race with what it writes need not be seen, or is not."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from modeled import BUILD, ROOT, build

LIBRARIES = ("/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6")
TABLE = ROOT / "src/model/explored/run/call_table.cpp"
UNSEEN = ROOT / "src/model/front/names/unseen.cpp"
LIBRARY = Path(BUILD) / "lib/libsyncopate-explored.so"

# Headers that are no interface of their own.
PARTS = re.compile(r"(bits|gnu|asm|asm-generic|linux|rpc|protocols|scsi|finclude|fpu_control)\b")
# Pointers to these are handles: what is behind them is the library's, or a model here.
HANDLE = re.compile(
    r"\b(_*FILE|DIR|FTS|FTS64|FTSENT|FTSENT64|pthread_(mutex|cond|rwlock|barrier|spinlock|once)_?t?"
    r"|pthread_(rwlock|barrier|cond|mutex)_t|sem_t|mtx_t|cnd_t|tss_t|once_flag|obstack)\b"
)
NOT_WRITTEN = {
    "names of the C library's own": r"_.*",
    "for debuggers and auditors, which call or define them": r"td_.*|ps_.*|la_.*",
    "threads of the C library's own write": r"aio_.*|lio_.*|gai_.*|getaddrinfo_a",
    "names of the network's protocols, in libresolv": r"ns_.*|res_.*|dn_.*|inet6_.*|inet_nsap_.*",
    "the state of a whole program, before its threads": r"argp_.*|brk|s?profil|klogctl|on_exit",
    "another program, or a terminal for it": r"f?exec.*|forkpty|rcmd.*|rexec.*|.*resvport.*|gtty",
    "contexts and jumps, which the machine follows": r"(get|make|swap)context|longjmp|sigreturn"
    r"|clone|sigstack",
    "the argument is read only": r"(alpha|version)sort(64)?|(posix_)?madvise|msync|mprobe"
    r"|(pkey_)?mprotect|remap_file_pages|sem(timed)?op|lfind|pidfd_send_signal"
    r"|dlsym|dlvsym|putenv|malloc_usable_size|mmap(64)?|munmap|mremap|mount_setattr|setstate"
    r"|open_by_handle_at|thrd_sleep|epoll_ctl|pthread_exit|fmemopen",
    "kept, or handed to the program's own functions": r"tss_set|twalk_r|dl_iterate_phdr"
    r"|fopencookie|setv?buf(fer)?|thrd_create",
    "frees what it is given": r"free.*|tdestroy|dlclose|if_freenameindex",
    "not seen: rare, and not simply said": r"strfmon(_l)?|obstack_.*|printf_size_info|remque|dlinfo"
    r"|msgctl|shmctl|re_compile_fastmap|re_match_2|re_search_2|re_set_registers|getnetgrent(_r)?"
    r"|get(ali|rpc|sg)\w*_r|fgetsgent_r|sget(sg|sp)ent_r|get(ipv4)?sourcefilter|getutmpx?"
    r"|mbrtoc8|c8rtomb|msgrcv|pthread_mutexattr_[gs]etrobust_np",
}
# In model/front/libc, model/front/pthread and call_lists.cpp, call_results.cpp.
BY_HAND = set(
    """
    accept accept4 arc4random_buf asctime_r asprintf bcopy bzero clock_getres clock_gettime
    clock_nanosleep ctime_r epoll_pwait epoll_wait erand48 eventfd_read explicit_bzero fgets
    fgets_unlocked fread fread_unlocked fwscanf getaddrinfo getcpu getcwd getdelim getentropy
    gethostname getitimer getline getpeername getpwnam_r getpwuid_r getrandom getrusage getsockname
    getsockopt gettimeofday gmtime_r iconv inet_ntop inet_pton jrand48 localtime_r memccpy memcpy
    memmove mempcpy memset mktime nanosleep nrand48 pipe pipe2 poll posix_memalign ppoll pread
    pread64 prlimit prlimit64 pselect pthread_clockjoin_np pthread_create pthread_getaffinity_np
    pthread_getattr_np pthread_getcpuclockid pthread_getname_np pthread_getschedparam pthread_join
    pthread_key_create pthread_setcancelstate pthread_setcanceltype pthread_sigmask
    pthread_timedjoin_np pthread_tryjoin_np qsort qsort_r rand_r read realloc reallocarray recv
    recvfrom recvmsg sched_getaffinity select sem_getvalue setitimer sigaction sigaltstack
    sigpending sigprocmask sigtimedwait sigwait sigwaitinfo snprintf socketpair sprintf stpcpy
    strcat strcpy strerror_r strftime strncat strncpy strsep strtod strtof strtok strtok_r strtol
    strtold strtoll strtoul strtoull swab swprintf thrd_join time timer_create timer_gettime
    timer_settime timerfd_gettime timerfd_settime times timespec_get uname vasprintf vfwscanf
    vsnprintf vsprintf vswprintf wcscpy wmemcpy wmemmove wmemset
    """.split()  # noqa: SIM905
)


# POSIX's list of functions that need not be thread-safe (2.9.1), those of the C library.
UNSAFE = set(
    """
    asctime ctime dirname drand48 ecvt endgrent endpwent fcvt ftw gcvt getc_unlocked
    getchar_unlocked getdate getgrent getgrgid getgrnam gethostbyaddr gethostbyname gethostent
    getlogin getnetbyaddr getnetbyname getnetent getopt getprotobyname getprotobynumber getprotoent
    getpwent getpwnam getpwuid getservbyname getservbyport getservent getutxent getutxid
    getutxline gmtime hcreate hdestroy hsearch inet_ntoa l64a lgamma lgammaf lgammal localeconv
    localtime lrand48 mrand48 nftw nl_langinfo ptsname putc_unlocked putchar_unlocked putenv
    pututxline rand readdir setenv setgrent setpwent setutxent strerror strsignal strtok system
    ttyname unsetenv wcstombs wctomb basename catgets dlerror setlocale tmpnam
    """.split()  # noqa: SIM905
)
SAFE_HERE = {
    "each thread has its own, or there is nothing to write": r"basename|dlerror|strerror|strsignal"
    r"|inet_ntoa|system|catgets|nl_langinfo|n?ftw|gcvt|wcstombs",
    "a lock of the C library's own": r"rand|(set|end)(gr|pw)ent|setutxent|setlocale",
    "not seen: signgam, of which C++ knows nothing": r"lgamma[fl]?",
    "not seen: other names of getutent and its like": r"(get|put)utx\w+",
}
# What they keep is announced by hand (libc_calendar.cpp, libc_search.cpp, libc_process.cpp, ...).
KEPT_BY_HAND = set(
    """
    asctime ctime gmtime localtime getgrgid getgrnam gethostbyname getpwnam getpwuid hcreate
    hdestroy hsearch putenv setenv unsetenv strtok getc_unlocked getchar_unlocked putc_unlocked
    putchar_unlocked
    """.split()  # noqa: SIM905
)


def headers() -> list[str]:
    """Those of the C library that a program may include."""
    listed = subprocess.run(
        ["dpkg", "-L", "libc6-dev"], check=True, capture_output=True, text=True, timeout=60
    ).stdout.split()
    folder = re.compile(r"/usr/include/(?:x86_64-linux-gnu/)?(.*\.h)")
    names = [found[1] for path in listed if (found := folder.fullmatch(path))]
    return sorted({name for name in names if not PARTS.match(name)})


def preprocessed(names: list[str], *options: str) -> str | None:
    done = subprocess.run(
        ["gcc", *options, "-D_GNU_SOURCE", "-E", "-P", "-x", "c", "-"],
        input="".join(f"#include <{name}>\n" for name in names),
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.stdout if done.returncode == 0 else None


def without_calls_of(word: str, text: str) -> str:
    """Without __attribute__((...)) and its like, whose parentheses nest."""
    kept, at = "", 0
    for found in re.finditer(rf"\b{word}\s*\(", text):
        if found.start() < at:
            continue
        kept += text[at : found.start()]
        at, depth = found.end(), 1
        while depth:
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            at += 1
    return kept + text[at:]


def without_bodies(text: str) -> str:
    kept, depth = [], 0
    for part in re.split(r"([{}])", text):
        depth += {"{": 1, "}": -1}.get(part, 0)
        if depth == 0:
            kept.append("BODY;" if part == "}" else part)
    return "".join(kept)


def parameters(text: str) -> list[str]:
    found, depth = [""], 0
    for each in text:
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(each, 0)
        if each == "," and depth == 0:
            found.append("")
        else:
            found[-1] += each
    return [each.strip() for each in found]


def may_be_written(parameter: str) -> bool:
    if "(*" in parameter or HANDLE.search(parameter):
        return False
    levels = parameter.count("*") + parameter.count("[")
    if levels == 0:
        return False
    if levels == 1:
        return "const" not in re.split(r"[*\[]", parameter)[0]
    return re.search(r"\*\s*const\s*(\*|\w*\s*\[)", parameter) is None


def prototypes(text: str) -> dict[str, list[str]]:
    for word in ("__attribute__", "__asm__", "_Alignas", "__typeof"):
        text = without_calls_of(word, text)
    text = re.sub(
        r"\b(__extension__|__restrict|restrict|__inline|extern|static|inline)\b", " ", text
    )
    found = {}
    for each in without_bodies(text).split(";"):
        declared = " ".join(each.split())
        plain = re.fullmatch(r"([^()]*?[\s*])(\w+) ?\((.*)\)", declared)
        of_function = re.fullmatch(r"[^()]*?\(\*(\w+) ?\((.*?)\)\)\(.*\)", declared)
        if declared.startswith("typedef"):
            continue
        if plain:
            found[plain[2]] = parameters(plain[3])
        elif of_function:
            found[of_function[1]] = parameters(of_function[2])
    return found


def functions_that_write() -> set[str]:
    text = preprocessed([each for each in headers() if preprocessed([each]) is not None])
    assert text is not None
    found = prototypes(text)
    assert len(found) > 3000
    return {name for name, all_of in found.items() if any(map(may_be_written, all_of))}


def table() -> set[str]:
    return set(re.findall(r"^CALL\((\w+),", TABLE.read_text(encoding="utf-8"), re.M))


def reason_of(name: str) -> str | None:
    return next((why for why, what in NOT_WRITTEN.items() if re.fullmatch(what, name)), None)


def exported(library: Path = LIBRARY) -> set[str]:
    said = subprocess.run(
        ["nm", "-D", "--defined-only", library],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    ).stdout
    return {line.split()[-1].split("@")[0] for line in said.splitlines()}


@pytest.mark.long
def test_every_function_that_writes_is_known() -> None:
    declared = functions_that_write()
    # As a reader of headers would say it: this one sees what it looks for.
    assert {"frexp", "stat", "wcstombs", "getline", "regexec", "scandir", "iconv"} <= declared
    assert not {"strlen", "fclose", "pthread_mutex_lock", "puts", "execl"} & declared
    unknown = {n for n in declared if n not in table() | BY_HAND and reason_of(n) is None}
    assert not unknown, f"neither known nor reasoned away: {sorted(unknown)}"


@pytest.mark.long
def test_rare_functions_are_named_by_the_verdict() -> None:
    declared = {n for n in functions_that_write() if str(reason_of(n)).startswith("not seen: rare")}
    assert "strfmon" in declared
    declared -= {n for n in declared if n.endswith("_np")}  # others' names by the headers
    listed = UNSEEN.read_text(encoding="utf-8").split(" rare{")[1].split("};")[0]
    named = re.compile("|".join(re.findall(r'"(\w+\*?)"', listed)).replace("*", r"\w*"))
    assert not {n for n in declared if not named.fullmatch(n)}


def test_what_is_known_is_there() -> None:
    assert len(table()) > 400
    assert not table() & BY_HAND
    missing = (table() | BY_HAND) - exported()
    assert not missing, f"not in the library: {sorted(missing)}"
    twice = {n for n in table() | BY_HAND if reason_of(n)}
    assert not twice, f"known and reasoned away: {sorted(twice)}"


def test_every_function_that_keeps_something_is_known() -> None:
    safe = {name for name in UNSAFE if any(re.fullmatch(w, name) for w in SAFE_HERE.values())}
    unknown = UNSAFE - table() - KEPT_BY_HAND - safe
    assert not unknown, f"neither known nor reasoned away: {sorted(unknown)}"
    rows = (ROOT / "tests/explored_engine/verdicts/table.txt").read_text(encoding="utf-8")
    tried = set(re.findall(r"^kept_results.c +(\w+)", rows, re.M))
    assert {"asctime", "drand48", "readdir", "getopt", "strtok"} <= tried & (UNSAFE - safe)


# What getline() becomes, and whatever else a header defines inline where it is compiled with -O.
INLINE = re.compile(r"extern\s+(?:__)?inline\b[^;{(]*?(\w+)\s*\([^;{]*\)\s*\{(.*?)\n\}", re.S)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("machine", ["simulated", "explored"])
def test_what_headers_make_of_known_calls_is_known(machine):
    """Else a program that is optimized would go past the machine, which knows the calls' names."""
    ours = exported(Path(BUILD) / f"lib/libsyncopate-{machine}.so")
    (libc,) = (path for path in map(Path, LIBRARIES) if path.exists())
    theirs = exported(libc)
    text = "\n".join(filter(None, (preprocessed([name], "-O2") for name in headers())))
    found, unknown = set(), set()
    for each in INLINE.finditer(without_calls_of("__attribute__", text)):
        called = set(re.findall(r"\b(\w+)\s*\(", each[2])) & theirs
        found.add(each[1])
        if each[1] in ours and not called <= ours:
            unknown.add((each[1], *sorted(called - ours)))
    assert {"getline", "getchar", "vprintf"} <= found
    assert unknown == set()


LINES = r"""
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static int ends[2];
static void* send_lines(void* nothing) {
  for (int i = 0; i < 3; ++i) {
    usleep(1000);
    if (write(ends[1], "line\n", 5) != 5) return nothing;
    dprintf(ends[1], "line %d\n", i);
  }
  close(ends[1]);
  return nothing;
}
int main() {
  if (pipe(ends) != 0) return 1;
  FILE* lines = fdopen(ends[0], "r");
  pthread_t sender;
  pthread_create(&sender, nullptr, send_lines, nullptr);
  char* line = nullptr;
  size_t room = 0;
  int count = 0;
  while (getline(&line, &room, lines) > 0) ++count;
  pthread_join(sender, nullptr);
  printf("%d\n", count);
}
"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2", "-O3"])
def test_lines_of_an_own_pipe_come_under_every_compiler(tmp_path, compiler, level):
    """A getline() that waits in the kernel would keep the thread that sends from running."""
    program = build(tmp_path, "lines", LINES, options=(f"--compiler={compiler}", level))
    done = subprocess.run(
        [program], capture_output=True, text=True, timeout=100, check=False,
        env={**os.environ, "SYNCOPATE_QUIET": "1"},
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "6\n"), done.stderr
