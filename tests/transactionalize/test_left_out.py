"""What a lock and its section are besides: an expression with effects, a question, a wait for
others, something of a signal's handler or of another library. There, leaving the lock out would be
wrong."""

import json

import pytest
from rewriting import run, run_rewritten, transactionalize

from syncopate.transactionalize.callgraph import WAITING

HEAD = """\
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#define M PTHREAD_MUTEX_INITIALIZER
long n;
"""


def made_of(tmp_path, body: str, *more: str) -> tuple[dict, dict, str]:
    """Lock -> its sections and transactions; lock -> why it stays; what is written."""
    (tmp_path / "p.c").write_text(HEAD + body)
    done = transactionalize(
        "--atomic",
        *more,
        "--json",
        tmp_path / "done.json",
        "-o",
        tmp_path / "out",
        tmp_path / "p.c",
    )
    assert done.returncode in (0, 3), done.stderr
    made = json.loads((tmp_path / "done.json").read_text())
    locks = {name: (k["sections"], k["rewritten"]) for name, k in made["locks"].items()}
    why: dict[str, list[str]] = {}
    for entry in made["not_done"]:
        why.setdefault(entry["what"], []).append(" ".join([entry["why"], *entry["chain"]]))
    return locks, why, (tmp_path / "out/p.c").read_text()


NAMED = """\
struct part { pthread_mutex_t of_part, pure, slow; long n; } parts[4];
int asked, next_one;
static struct part* made(int i) { asked++; return &parts[i]; }
static struct part* found(unsigned key) {
  unsigned hash = 7;
  while (key) { hash = hash * 31 + (key & 15); key >>= 4; }
  return &parts[hash & 3];
}
#define PLACE(k) ((k) & 3)
static int in_static(int i) { static int last; last = i; return last; }
void a(int i) { pthread_mutex_lock(&made(i)->of_part); n++;
  pthread_mutex_unlock(&made(i)->of_part); }
void b(int i) { pthread_mutex_lock(&found(i)->pure); n++;
  pthread_mutex_unlock(&found(i)->pure); }
void c(int i) { pthread_mutex_lock(&parts[PLACE(i)].pure); n++;
  pthread_mutex_unlock(&parts[PLACE(i)].pure); }
void d(int i) { pthread_mutex_lock(&parts[in_static(i)].slow); n++;
  pthread_mutex_unlock(&parts[in_static(i)].slow); }
"""


def test_what_names_a_lock_may_do_more(tmp_path):
    """Its calls and its ++ would be gone with it; what only computes may go."""
    locks, why, _ = made_of(tmp_path, NAMED)
    assert locks == {"part.of_part": (1, 0), "part.pure": (2, 2), "part.slow": (1, 0)}
    assert all("does more than that" in why[name][0] for name in ("part.of_part", "part.slow"))
    once = "void e(void) { pthread_mutex_lock(&parts[next_one++].pure); n++;"
    once += " pthread_mutex_unlock(&parts[next_one++].pure); }\n"
    locks, why, _ = made_of(tmp_path, NAMED + once)
    assert locks["part.pure"] == (3, 0)


ASKED = """\
pthread_mutex_t asked = M, held = M, waited = M, used = M;
static int is_held(void) {
  if (pthread_mutex_trylock(&asked) == 0) { pthread_mutex_unlock(&asked); return 0; }
  return 1;
}
static void must_be_held(void) {
  if (pthread_mutex_trylock(&held) == 0) { n--; pthread_mutex_unlock(&held); abort(); }
}
int main(void) {
  pthread_mutex_lock(&asked); if (!is_held()) abort(); n++; pthread_mutex_unlock(&asked);
  pthread_mutex_lock(&held); must_be_held(); n++; pthread_mutex_unlock(&held);
  pthread_mutex_lock(&waited); n++; pthread_mutex_unlock(&waited);
  pthread_mutex_lock(&waited); pthread_mutex_unlock(&waited);
  if (pthread_mutex_trylock(&used) == 0) { n++; pthread_mutex_unlock(&used); }
  printf("%ld\\n", n);
  return 0;
}
"""


def test_tries_that_ask_and_sections_that_only_wait(tmp_path):
    """Transactions always begin, and an empty one waits for none."""
    locks, why, _ = made_of(tmp_path, ASKED)
    assert locks == {"asked": (2, 0), "held": (2, 0), "waited": (2, 0), "used": (1, 1)}
    assert all("it is empty" in why[name][0] for name in ("asked", "waited"))
    assert "a try by who holds it already" in why["held"][0]
    expected = run(tmp_path, ["p.c"], tmp_path / "locked")
    assert run_rewritten(tmp_path / "out", ["p.c"], tmp_path / "rewritten") == expected == "4\n"


HANDLED = """\
#include <signal.h>
static volatile sig_atomic_t stop;
static volatile int other;
pthread_mutex_t guard = M;
static void note(int s) { stop = s; }
static void on_signal(int s) { note(s); }
void install(void) { struct sigaction act = {0}; act.sa_handler = on_signal;
  sigaction(1, &act, 0); }
void a(void) { pthread_mutex_lock(&guard); if (stop || other) n++;
  pthread_mutex_unlock(&guard); }
void b(void) { other = 1; }
"""


def test_what_handlers_of_signals_use_is_in_no_transaction(tmp_path):
    locks, why, text = made_of(tmp_path, HANDLED)
    assert locks == {"guard": (1, 1)}
    assert "a signal's handler uses it" in why["stop"][0]
    assert "static void note(int s) { stop = s; }" in text
    assert "static volatile sig_atomic_t stop" in text
    locks, _, text = made_of(tmp_path, HANDLED.replace("= on_signal", "= SIG_IGN"))
    assert "note(int s) { __transaction_atomic { stop = s; } }" in text


THROUGH = """\
pthread_mutex_t stays = M, of_member = M, of_variable = M, of_thread = M, fine = M;
struct hooks { void (*taking)(int, void*); void (*counting)(int); } hooks;
long (*variable)(long, long, long);
int keep(int c) { pthread_mutex_lock(&stays); if (c) return 1; pthread_mutex_unlock(&stays);
  return 0; }
static void takes(int i, void* p) { pthread_mutex_lock(&stays); n += i;
  pthread_mutex_unlock(&stays); }
static void counts(int i) { n += i; }
static long sum(long a, long b, long c) { return a + b + c + keep(0); }
static void* thread(void* p) { keep(0); return p; }
void set(void) { pthread_t t; hooks.taking = takes; hooks.counting = counts; variable = sum;
  pthread_create(&t, 0, thread, 0); }
void a(void) { pthread_mutex_lock(&of_member); hooks.taking(1, 0);
  pthread_mutex_unlock(&of_member); }
void b(void) { pthread_mutex_lock(&of_variable); n = variable(1, n, 3);
  pthread_mutex_unlock(&of_variable); }
void c(void) { pthread_mutex_lock(&fine); hooks.counting(2); pthread_mutex_unlock(&fine); }
void d(void (*any)(void*)) { pthread_mutex_lock(&of_thread); any(0);
  pthread_mutex_unlock(&of_thread); }
int main(void) { return 0; }
"""


def test_whoever_a_pointer_calls_may_wait(tmp_path):
    """By the parameters that the pointer is declared with. A thread's first function is called by
    nobody else."""
    locks, why, _ = made_of(tmp_path, THROUGH)
    assert {name for name, (_, done) in locks.items() if not done} == {
        "stays", "of_member", "of_variable"}  # fmt: skip
    for name, whom in (("of_member", "takes"), ("of_variable", "sum")):
        assert f"waits for a lock that stays {whom} through a pointer at p.c:" in why[name][0]


LENT = """\
pthread_mutex_t lent = M, printed = M, shown = M;
struct box { pthread_mutex_t inside; } box;
extern void library_takes(const char*, void*);
static void show(pthread_mutex_t* m) { printf("%p", (void*)m); }
void set(struct box* b) { library_takes("a, b", &lent); library_takes("c", (void*)&b->inside); }
void other(void) { printf("%p", (void*)&printed); show(&shown); }
void a(void) { pthread_mutex_lock(&lent); n++; pthread_mutex_unlock(&lent); }
void b(void) { pthread_mutex_lock(&printed); n++; pthread_mutex_unlock(&printed); }
void c(void) { pthread_mutex_lock(&shown); n++; pthread_mutex_unlock(&shown); }
void d(struct box* b) { pthread_mutex_lock(&b->inside); n++; pthread_mutex_unlock(&b->inside); }
"""


@pytest.mark.parametrize("more", [(), ("--words", ".")])
def test_locks_that_other_libraries_get_stay(tmp_path, more):
    locks, why, text = made_of(tmp_path, LENT, *more)
    for name in ("lent", "box.inside"):
        assert locks[name] == (1, 0)
        assert "goes to library_takes, which is not in these files" in str(why[name])
    assert "pthread_mutex_lock(&lent)" in text and "pthread_mutex_lock(&b->inside)" in text
    if not more:
        assert locks["printed"] == locks["shown"] == (1, 1)


SPELLED = """\
struct server { pthread_mutex_t of_server; long n; } server;
pthread_mutex_t real = M, second = M;
#define also_real real
#define stats_lock (server.of_server)
#define member of_server
#define THE_LOCK &second
int a(int c) { pthread_mutex_lock(&also_real); n++; if (c) return 1;
  pthread_mutex_unlock(&also_real); return 0; }
void b(void) { pthread_mutex_lock(&real); n++; pthread_mutex_unlock(&real); }
int c(int c) { pthread_mutex_lock(&stats_lock); n++; if (c) return 1;
  pthread_mutex_unlock(&stats_lock); return 0; }
void d(struct server* s) { pthread_mutex_lock(&s->member); n++;
  pthread_mutex_unlock(&s->member); }
void e(void) { pthread_mutex_lock(THE_LOCK); n++; pthread_mutex_unlock(&second); }
"""


def test_a_lock_under_a_macros_name_is_that_lock(tmp_path):
    """Else one use of it would be a transaction and the other one a lock."""
    locks, _, text = made_of(tmp_path, SPELLED)
    assert locks == {"real": (2, 0), "server.of_server": (2, 0), "second": (1, 1)}
    assert "pthread_mutex_lock(&also_real)" in text and "(&s->member)" in text


KEPT = """\
struct link { struct link* next; long value; };
static struct link* first;
pthread_mutex_t direct = M, deep = M, within = M, asked = M;
static void push(struct link* l) { l->next = first; first = l; }
static void pass(struct link* l, int k) { if (k) push(l); }
static void ask(struct link* l) { n += l->value; }
static long sum(void) { long s = 0; for (; first; first = first->next) s += first->value;
  return s; }
static void spoil(void) { volatile char c[96]; for (int i = 0; i < 96; i++) c[i] = 77; }
long a(long v) { pthread_mutex_lock(&direct); struct link l; l.value = v; push(&l);
  pthread_mutex_unlock(&direct); char c[64]; for (int i = 0; i < 64;
  i++) ((volatile char*)c)[i] = 9; return sum(); }
long b(long v) { pthread_mutex_lock(&deep); struct link l; l.value = v; pass(&l, 1);
  pthread_mutex_unlock(&deep); char c[64]; for (int i = 0; i < 64;
  i++) ((volatile char*)c)[i] = 9; return sum(); }
long c(long v) { pthread_mutex_lock(&within); struct link l[v]; l->value = v; push(l);
  pthread_mutex_unlock(&within); return sum(); }
long d(long v) { pthread_mutex_lock(&asked); struct link l = {0, v}; ask(&l);
  pthread_mutex_unlock(&asked); return sum(); }
int main(void) { printf("%ld %ld %ld %ld\\n", a(1), b(2), c(3), d(4)); return 0; }
"""


def test_a_variable_that_a_called_function_keeps(tmp_path):
    """It lives as long as its block did: behind the section, too."""
    locks, why, text = made_of(tmp_path, KEPT)
    assert locks == {"direct": (1, 1), "deep": (1, 1), "within": (1, 0), "asked": (1, 1)}
    assert "l, declared in line" in why["within"][0] and "is pointed to" in why["within"][0]
    assert text.count("struct link l; __transaction_atomic {") == 2
    expected = run(tmp_path, ["p.c"], tmp_path / "locked")
    assert run_rewritten(tmp_path / "out", ["p.c"], tmp_path / "rewritten") == expected


def test_sections_that_wait_for_input_or_signals(tmp_path):
    """All transactions would wait for what a thread between two of its own may have to send."""
    kinds = ("waits for input", "waits for a signal")
    names = {name: why for name, why in WAITING.items() if why in kinds}
    assert {"poll", "accept", "recv", "epoll_wait", "sigwait"} <= names.keys()
    body = "#include <poll.h>\n#include <sys/socket.h>\n#include <signal.h>\n" + (
        "pthread_mutex_t polls = M, receives = M, signals = M;\n"
        "void a(struct pollfd* p) { pthread_mutex_lock(&polls); n += poll(p, 1, -1);"
        " pthread_mutex_unlock(&polls); }\n"
        "void b(char* p) { pthread_mutex_lock(&receives); n += recv(0, p, 1, 0);"
        " pthread_mutex_unlock(&receives); }\n"
        "void c(sigset_t* s) { int got; pthread_mutex_lock(&signals); sigwait(s, &got); n += got;"
        " pthread_mutex_unlock(&signals); }\n"
    )
    locks, why, _ = made_of(tmp_path, body)
    assert all(done == 0 for _, done in locks.values())
    assert "waits for input poll at" in why["polls"][0]
    assert "waits for input recv at" in why["receives"][0]
    assert "waits for a signal sigwait at" in why["signals"][0]


ELSEWHERE = """\
#ifdef NO_SUCH_SYSTEM
#define flockfile(file) pthread_mutex_lock(&guard)
#define funlockfile(file) pthread_mutex_unlock(&guard)
#else
#define TAKE(lock) pthread_mutex_lock(lock)
#endif
pthread_mutex_t guard = M, other = M;
void a(void) { flockfile(stdout); n++; funlockfile(stdout); }
void b(void) { pthread_mutex_lock(&guard); n++; pthread_mutex_unlock(&guard); }
#undef unlocks
#define unlocks(lock) pthread_mutex_unlock(lock)
void c(void) { TAKE(&other); n++; unlocks(&other); }
#undef unlocks
"""


def test_macros_of_other_systems_mean_nothing(tmp_path):
    """Their names are functions of the C library here; a macro that ends is none of these."""
    locks, _, text = made_of(tmp_path, ELSEWHERE)
    assert locks == {"guard": (1, 1), "other": (1, 1)}
    assert "void a(void) { flockfile(stdout); n++; funlockfile(stdout); }" in text


UNREAD = """\
static int take(pthread_mutex_t* m) { return pthread_mutex_lock(m); }
pthread_mutex_t plain = M, wrapped = M, waits = M, stays = M;
pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static void a(int k) {
  (void) pthread_mutex_lock(&plain);
  n++;
  if (k) { (void)pthread_mutex_unlock(&plain); return; }
  (void)pthread_mutex_unlock(&plain);
}
static void b(void) { (void)take(&wrapped); n++; (void)pthread_mutex_unlock(&wrapped); }
static void c(void) {
  (void)pthread_rwlock_wrlock(&shared); n++; (void)pthread_rwlock_unlock(&shared);
}
static void d(void) {
  (void)pthread_mutex_lock(&waits);
  while (!n) (void)pthread_cond_wait(&changed, &waits);
  n--; (void)pthread_cond_signal(&changed); (void)pthread_mutex_unlock(&waits);
}
static int e(int k) {
  (void)pthread_mutex_lock(&stays); if (k) return 1;
  (void)take(&plain); n++; (void)pthread_mutex_unlock(&plain); (void)pthread_mutex_unlock(&stays);
  return 0;
}
int main(void) { a(0); a(1); b(); c(); d(); e(0); printf("%ld\\n", n); return 0; }
"""


def test_results_that_are_said_not_to_matter(tmp_path):
    """As lint wants it. What stays a lock is written as before."""
    locks, why, text = made_of(tmp_path, UNREAD)
    done = {name: made for name, (_, made) in locks.items()}
    assert done == {"plain": 2, "wrapped": 1, "shared": 1, "waits": 1, "stays": 0}
    assert why == {"stays": [why["stays"][0]]} and "returns with the lock held" in why["stays"][0]
    assert text.count("(void)pthread_mutex_lock(&stays)") == 1
    assert text.count("(void)pthread_mutex_unlock(&stays)") == 1
    assert text.count("(void)pthread") == 2
    expected = run(tmp_path, ["p.c"], tmp_path / "locked")
    assert run_rewritten(tmp_path / "out", ["p.c"], tmp_path / "rewritten") == expected == "4\n"


STORED = """\
#include <assert.h>
pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
pthread_mutex_t plain = M, stays = M, odd = M;
static long reads(void) {
  int bad;
  bad = pthread_rwlock_rdlock(&shared);
  assert(!bad);
  long got = n;
  bad = pthread_rwlock_unlock(&shared);
  assert(!bad);
  return got;
}
static void writes(long to) {
  int bad = pthread_rwlock_wrlock(&shared);
  if (bad) abort();
  n = to;
  bad = pthread_rwlock_unlock(&shared);
  if (bad) abort();
}
static int both(void) {
  int first = pthread_mutex_lock(&plain), second = 7;
  int last = pthread_mutex_unlock(&plain);
  return first + second + last;
}
static int kept(int k) {
  int r = pthread_mutex_lock(&stays);
  if (k) return r;
  r = pthread_mutex_unlock(&stays);
  return r;
}
static int headed(void) {
  int r = 1;
  for (int i = 0; r = pthread_mutex_lock(&odd), i < 1; i++) r = pthread_mutex_unlock(&odd);
  return r + pthread_mutex_unlock(&odd);
}
int main(void) {
  writes(5);
  printf("%ld %d %d %d\\n", reads(), both(), kept(0), headed());
  return 0;
}
"""


def test_results_that_can_only_be_0(tmp_path):
    """Of reader-writer locks as of others, unless the program has locks that check for mistakes."""
    locks, _, text = made_of(tmp_path, STORED)
    done = {name: made for name, (_, made) in locks.items()}
    assert done == {"shared": 2, "plain": 0, "stays": 0, "odd": 0}
    assert "int r = pthread_mutex_lock(&stays);" in text
    assert "int bad = 0; __transaction_atomic {" in text
    expected = run(tmp_path, ["p.c"], tmp_path / "locked")
    assert run_rewritten(tmp_path / "out", ["p.c"], tmp_path / "rewritten") == expected
    made = "pthread_mutexattr_t a; pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ERRORCHECK);"
    locks, _, _ = made_of(tmp_path, STORED.replace("int main(void) {", f"int main(void) {{ {made}"))
    assert locks["shared"] == (2, 0)


PANIC = """\
typedef void (*panic_t)(void*, const char*);
panic_t on_panic;
pthread_mutex_t stays = M, panics = M, cut = M;
#define PANIC(text) on_panic((void*)0, text)
int start_own_thread(void* (*of)(void*), void* with) {
  pthread_t t;
  return pthread_create(&t, 0, of, with);
}
static void* first(void* p) {
  pthread_mutex_lock(&stays);
  if (p) return p;
  pthread_mutex_unlock(&stays);
  return 0;
}
static void panic(void* p, const char* text) { n--; }
void set(void) { on_panic = panic; start_own_thread(first, 0); }
void a(void) {
  pthread_mutex_lock(&panics); if (n++ > 7) PANIC("much"); pthread_mutex_unlock(&panics);
}
int b(int k) {
#ifdef PANIC
  pthread_mutex_lock(&cut);
#endif
  if (k) {
#ifdef PANIC
    pthread_mutex_unlock(&cut);
#endif
    return 1;
  }
#ifdef PANIC
  pthread_mutex_unlock(&cut);
#endif
  return 0;
}
int main(void) { return 0; }
"""


def test_what_a_macro_calls_and_what_an_if_cuts(tmp_path):
    """A macro's pointer is called with that pointer's type; how a function behind an #if leaves is
    not said to be with the lock held."""
    locks, why, _ = made_of(tmp_path, PANIC)
    assert locks["panics"] == (1, 1) and locks["stays"] == (1, 0)
    assert "#if begins or ends" in why["cut"][0] and "held" not in str(why["cut"])
    waits = PANIC.replace("{ n--; }", "{ first(p); }")
    locks, why, _ = made_of(tmp_path, waits)
    assert locks["panics"] == (1, 0)
    assert "waits for a lock that stays panic through a pointer" in why["panics"][0]


def test_from_a_folder_below_the_one_of_all_files(tmp_path, monkeypatch):
    (tmp_path / "source").mkdir()
    (tmp_path / "p.h").write_text("long count(long);\n")
    (tmp_path / "source/p.c").write_text(
        HEAD + '#include "../p.h"\npthread_mutex_t m = M;\nlong count(long k) { return n += k; }\n'
        "void a(void) { pthread_mutex_lock(&m); count(1); pthread_mutex_unlock(&m); }\n"
    )
    monkeypatch.chdir(tmp_path / "source")
    done = transactionalize("--atomic", "p.c", "../p.h")
    assert done.returncode == 0, done.stderr
    assert "m: 1 of 1 sections, 1 atomic" in done.stderr
