"""Which calls of the C library count as such: those that enter the kernel, by whatever name a
compiler calls them; and none that does not."""

import json

import pytest
from test_advise import MACHINE, syncopate

HEADERS = (
    "fcntl poll pthread sched semaphore signal stdarg stdio stdlib sys/epoll sys/eventfd sys/file"
    " sys/mman sys/select sys/socket sys/syscall sys/uio threads time unistd"
)
# By what `advise` calls each: "open2" is `open` once more.
CALLS = {
    "accept": "accept(file, 0, 0);",
    "bind": "bind(file, 0, 0);",
    "chdir": 'if (chdir(".")) nothing();',
    "clock_nanosleep": "clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &no_time, 0);",
    "close": "close(-1);",
    "connect": "connect(file, 0, 0);",
    "creat": 'creat("/dev/null", 0);',
    "dprintf": 'dprintf(file, "%d", 3);',
    "dup": "dup(file);",
    "epoll_create1": "epoll_create1(0);",
    "eventfd": "eventfd(0, 0);",
    "fcntl": "fcntl(file, F_GETFL);",
    "fflush": "fflush(stdout);",
    "fgets": "if (fgets(text, sizeof text, stdin)) nothing();",
    "flock": "flock(file, LOCK_UN);",
    "fopen": 'fopen("/dev/null", "r");',
    "fsync": "fsync(file);",
    "fwrite": "fwrite(text, 4, 1, stderr);",
    "getline": "if (getline(&line, &room, stdin) > 0) nothing();",
    "getsockname": "getsockname(file, 0, 0);",
    "kill": "kill(getpid(), 0);",
    "listen": "listen(file, 1);",
    "memfd_create": 'memfd_create("it", 0);',
    "open": 'open("/dev/null", O_RDONLY);',
    "openat": 'openat(AT_FDCWD, "/dev/null", O_RDONLY);',
    "pipe": "if (pipe(ends)) nothing();",
    "poll": "poll(0, 0, 0);",
    "pread": "if (pread(file, text, 1, 0)) nothing();",
    "pthread_create": "thrd_create(&thread, returns, 0);",
    "pthread_join": "thrd_join(thread, 0);",
    "putc": "putchar('x');",
    "puts": 'puts("x");',
    "raise": "raise(SIGUSR1);",
    "read": "if (read(file, text, 1)) nothing();",
    "recv": "recv(file, text, 1, 0);",
    "sched_yield": "sched_yield();",
    "select": "select(0, 0, 0, 0, &no_timeval);",
    "send": 'send(file, "", 0, 0);',
    "setsockopt": "setsockopt(file, 0, 0, 0, 0);",
    "sleep": "usleep(1);",
    "socket": "socket(AF_INET, SOCK_STREAM, 0);",
    "socketpair": "socketpair(AF_UNIX, SOCK_STREAM, 0, ends);",
    "syscall": "syscall(SYS_getpid);",
    "thrd_yield": "thrd_yield();",
    "vdprintf": 'list_of(file, "%d", 3);',
    "vfprintf": 'print_list("%d", 3);',
    "write": 'if (write(file, "", 0)) nothing();',
    "writev": "if (writev(file, &part, 1)) nothing();",
}
NO_CALLS = {
    "clock_gettime": "clock_gettime(CLOCK_REALTIME, &no_time); no_time = (struct timespec){0};",
    "free": "free(malloc(100));",
    "getenv": 'getenv("NOTHING");',
    "pthread_cond_signal": "pthread_cond_signal(&condition);",
    "pthread_self": "pthread_self();",
    "sem_post": "sem_post(&semaphore);",
    "snprintf": 'snprintf(text, sizeof text, "%d", 3);',
    "time": "time(0);",
}
SHARED = r"""
static int file, ends[2];
static char text[40], *line;
static size_t room;
static thrd_t thread;
static sem_t semaphore;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static struct timespec no_time;
static struct timeval no_timeval;
static struct iovec part;
static void nothing(void) {}
static void ignore(int number) { (void)number; }
static int returns(void* argument) { return argument != NULL; }
static void list_of(int to, const char* format, ...) {
  va_list list;
  va_start(list, format);
  vdprintf(to, format, list);
  va_end(list);
}
static void print_list(const char* format, ...) {
  va_list list;
  va_start(list, format);
  vprintf(format, list);
  va_end(list);
}
"""


def program() -> str:
    includes = "".join(f"#include <{name}.h>\n" for name in HEADERS.split())
    every = {**CALLS, **NO_CALLS}
    locks = "".join(
        f"static pthread_mutex_t lock_{name} = PTHREAD_MUTEX_INITIALIZER;\n"
        f"static void with_{name}(void) {{\n  pthread_mutex_lock(&lock_{name});\n  {call}\n"
        f"  pthread_mutex_unlock(&lock_{name});\n}}\n"
        for name, call in every.items()
    )
    calls = "".join(f"  with_{name}();\n" for name in every)
    begin = '  file = open("/dev/null", O_RDWR);\n  signal(SIGUSR1, ignore);\n'
    main = f"int main(void) {{\n{begin}{calls}}}\n"
    return f"#define _GNU_SOURCE\n{includes}{SHARED}{locks}{main}"


@pytest.fixture(scope="module", params=["gcc -O0", "gcc -O2", "gcc -O3", "clang -O2"])
def sections(request, tmp_path_factory) -> dict[str, dict]:
    """What is seen of each section, by its call."""
    compiler, level = request.param.split()
    folder = tmp_path_factory.mktemp("calls")
    (folder / "calls.c").write_text(program())
    words = ("--machine=simulated", f"--compiler={compiler}", level, "calls.c", "-o", "calls")
    compiled = syncopate("cc", *words, cwd=folder)
    assert compiled.returncode == 0, compiled.stderr
    done = syncopate("advise", "-m", MACHINE, "--json", "it.json", "./calls", cwd=folder)
    assert done.returncode == 0, done.stderr
    locks = json.loads((folder / "it.json").read_text())["locks"]
    return {lock["name"].removeprefix("lock_"): lock for lock in locks}


@pytest.mark.sampled(2)
def test_calls_that_enter_the_kernel_are_seen(sections):
    unseen = {name for name in CALLS if sections[name]["calling"] != 1}
    assert unseen == set()
    for name in CALLS:
        named = {each["function"] for each in sections[name]["calls"]}
        # What compilers and headers make of a call is another one.
        of_it = {name, *"putchar fputc fputs fwrite printf vprintf".split()}  # noqa: SIM905
        assert named & of_it, (name, named)


def test_other_calls_are_none(sections):
    seen = {name for name in NO_CALLS if sections[name]["calling"] != 0}
    assert seen == set()
