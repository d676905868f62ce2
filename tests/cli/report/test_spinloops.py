"""Which loops spin, read from functions that were compiled here in several ways."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import compile_c

from syncopate.symbols import spinloops
from syncopate.symbols.names import Names

# Compilers order and duplicate loops as they like: it is their instructions that are looked at.
SPINS = r"""
#include <stdatomic.h>
#include <immintrin.h>
atomic_int flag;
volatile int plain;
void pauses(void) { while (atomic_load(&flag)) _mm_pause(); }
void pauses_a_while(int n) { for (int i = 0; i < n && atomic_load(&flag); i++) _mm_pause(); }
void yields_at_times(void) {
  for (int i = 0; atomic_load(&flag); i++)
    if (i % 64 == 0) sched_yield(); else _mm_pause();
}
void relaxes(void) { _mm_pause(); }
void loads(atomic_int* at) { while (atomic_load_explicit(at, memory_order_acquire)) {} }
void is_volatile(void) { while (!plain) {} }
void exchanges(atomic_int* at) { while (atomic_exchange(at, 1)) {} }
void compares(atomic_int* at) {
  for (int none = 0; !atomic_compare_exchange_weak(at, &none, 1);) none = 0;
}
void looks_before(atomic_int* at) {
  while (atomic_load_explicit(at, memory_order_relaxed) || atomic_exchange(at, 1)) {}
}
void two(atomic_int* at) { while (at[0] && at[16] != 7) {} }
void masked(atomic_int* at, int i) { while (at[i] & 1) {} }
void lets_pass(int n) { for (int i = 0; i < n; i++) __asm__ volatile(""); }
void counts_down(void) { for (volatile int i = 1000; i; --i) {} }
void till(unsigned long end) { while (__builtin_ia32_rdtsc() < end) {} }
"""
WORKS = r"""
#include <stdatomic.h>
#include <stddef.h>
struct node { struct node* next; int key; };
int counts(atomic_int* at, int n) {
  int all = 0;
  for (int i = 0; i < n; i++) all += atomic_load_explicit(at, memory_order_relaxed);
  return all;
}
int sums(int* at, int n) { int all = 0; for (int i = 0; i < n; i++) all += at[i]; return all; }
void adds(atomic_int* at, int n) { for (int i = 0; i < n; i++) atomic_fetch_add(at, 1); }
int takes_number(atomic_int* at) {
  int old = *at;
  while (!atomic_compare_exchange_weak(at, &old, old + 1)) {}
  return old;
}
struct node* pushes(_Atomic(struct node*)* top, struct node* n) {
  n->next = *top;
  while (!atomic_compare_exchange_weak(top, &n->next, n)) {}
  return n;
}
struct node* finds(struct node* n, int key) { while (n && n->key != key) n = n->next; return n; }
int bits(unsigned n) { int all = 0; for (; n; n >>= 1) all += n & 1; return all; }
int triangle(int n) { int all = 0; for (int i = 0; i < n; ++i) all += i * i % 7; return all; }
size_t length(const char* s) { const char* end = s; while (*end) end++; return end - s; }
unsigned long collatz(unsigned long n) { while (n != 1) n = n & 1 ? 3 * n + 1 : n / 2; return n; }
void fills(volatile int* at) { for (;;) *at = 7; }
int searches(const int* at, int n, int key) {
  int low = 0;
  while (low < n) { int mid = (low + n) / 2; if (at[mid] < key) low = mid + 1; else n = mid; }
  return low;
}
int calls(int (*next)(void)) { while (next()) {} return 0; }
double iterates(const double* by) { double x = 1; while (x < 1e300) x *= *by; return x; }
"""
MAIN = "int main(void) { return 0; }\n"

needs_objdump = pytest.mark.skipif(not shutil.which("objdump"), reason="no objdump")


def heads(program, source) -> dict[str, list[bool]]:
    """Of each function the source defines, whether it spins at each of its instructions."""
    names = Names()
    code = names.program(str(program))
    defined = set(re.findall(r"(?m)^[a-z][^(\n]*?(\w+)\(", source))
    (told,) = names.ask(str(program), ["F"])
    starts = {symbol: int(start, 16) for start, symbol in zip(told[::3], told[2::3], strict=True)}
    return {
        name: [bool(spinloops.spinning(code, at)) for at in code.function(starts[name]).at]
        for name in defined
    }


WAYS = [("gcc", "-O1"), ("gcc", "-O2"), ("gcc", "-O3"), ("gcc", "-Os"), ("gcc", "-O0"),
        ("clang", "-O1"), ("clang", "-O2"), ("clang", "-O3"), ("clang", "-O0")]  # fmt: skip


@pytest.mark.sampled(4)
@needs_objdump
@pytest.mark.parametrize(("compiler", "level"), WAYS)
def test_loops_that_wait_for_memory_or_time_spin(tmp_path, compiler, level):
    source = "#include <sched.h>\n" + SPINS + MAIN
    program = compile_c(source, tmp_path / "p", level, compiler=compiler)
    found = heads(program, SPINS)
    assert len(found) == 14
    # Without optimization a comparison's operands pass through the stack.
    quiet = {name for name, spins in found.items() if not any(spins)}
    assert quiet == ({"compares"} if level == "-O0" else set())


@pytest.mark.sampled(3)
@needs_objdump
@pytest.mark.parametrize(("compiler", "level"), WAYS)
def test_loops_that_work_do_not(tmp_path, compiler, level):
    program = compile_c(WORKS + MAIN, tmp_path / "p", level, compiler=compiler)
    found = heads(program, WORKS)
    assert len(found) == 14
    assert not [name for name, spins in found.items() if any(spins)]


# Optimized code, whose %rbp is a pointer like others: the C library's strtol has the first.
POINTERS = """
__asm__(".type skips, @function\\nskips: mov %rdi, %rbp\\n1: add $1, %rbp\\ncmp %rsi, %rbp\\n"
        "je 2f\\ncmpb $0x30, 0(%rbp)\\nje 1b\\n2: ret\\n"
        ".type seeks, @function\\nseeks: movzbl -1(%rbp), %eax\\nadd $1, %rbp\\ncmp $37, %al\\n"
        "jne seeks\\nret\\n"
        ".type stores, @function\\nstores: mov (%rsi), %eax\\nmov %eax, 8(%rbp)\\n"
        "test %eax, %eax\\njne stores\\nret\\n");
int main(void) { return 0; }
"""


@needs_objdump
def test_pointers_in_the_register_of_frames_are_no_counters(tmp_path):
    program = compile_c(POINTERS, tmp_path / "p", "-O2")
    names = Names()
    code = names.program(str(program))
    (told,) = names.ask(str(program), ["F"])
    starts = {symbol: int(start, 16) for start, symbol in zip(told[::3], told[2::3], strict=True)}
    for name in ("skips", "seeks", "stores"):
        at = code.function(starts[name]).at
        assert len(at) > 3
        assert not [each for each in at if spinloops.spinning(code, each)], name


@pytest.mark.long
@needs_objdump
def test_small_loops_of_the_c_library_hardly_spin():
    """Code that nobody wrote for this: it walks through text and lists, and does not let time pass;
    what spins there are its few locks."""
    maps = Path("/proc/self/maps").read_text()
    (library, *_) = re.findall(r"(/\S*/libc[.-]\S*)", maps)
    told = ["objdump", "-d", "--no-show-raw-insn", "-j", ".text", library]
    text = subprocess.run(told, capture_output=True, text=True, check=True).stdout
    jumps = re.findall(r"(?m)^ *([0-9a-f]+):\s+j\w+ +([0-9a-f]+) <", text)
    heads = {int(to, 16) for at, to in jumps if 0 < int(at, 16) - int(to, 16) < 64}
    looked_at = sorted(heads)[::7]
    assert len(looked_at) > 100
    code = Names().program(library)
    spins = [hex(at) for at in looked_at if spinloops.spinning(code, at)]
    assert len(spins) < 0.03 * len(looked_at), spins
