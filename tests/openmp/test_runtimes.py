"""Which runtime a call is for: renamed ones, several in a process, old versions, unknown ones."""

import subprocess

import pytest
from openmp_runs import compiled, renamed_runtime, run, source

WORK = """
#include <omp.h>
static omp_lock_t lock;
long work(void) {
  long sum = 0, inside = 0;
#pragma omp parallel num_threads(3)
  for (int r = 0; r < 200; ++r) {
    omp_set_lock(&lock);
    ++sum;
    omp_unset_lock(&lock);
#pragma omp critical(here)
    ++inside;
#pragma omp barrier
    if (sum != 3 * (r + 1L)) __builtin_abort();
#pragma omp barrier
  }
  return sum + inside;
}
"""
OPENER = """
#include <dlfcn.h>
#include <stdio.h>
long work(void);
int main(int argc, char **argv) {
  for (int i = 1; i < argc; ++i) {
    void *library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return puts(dlerror()), 1;
    long (*its_work)(void) = (long (*)(void))dlsym(library, "work");
    printf("%ld\\n", its_work());
    dlclose(library);
  }
  return 0;
}
"""
OLD = """
#include <stdio.h>
#include <string.h>
void old_init(void *), old_set(void *), old_unset(void *);
int old_test(void *);
void older_init(void *), older_set(void *), older_unset(void *);
__asm__(".symver old_init, omp_init_nest_lock@OMP_1.0");
__asm__(".symver old_set, omp_set_nest_lock@OMP_1.0");
__asm__(".symver old_unset, omp_unset_nest_lock@OMP_1.0");
__asm__(".symver old_test, omp_test_nest_lock@OMP_1.0");
__asm__(".symver older_init, omp_init_lock@OMP_1.0");
__asm__(".symver older_set, omp_set_lock@OMP_1.0");
__asm__(".symver older_unset, omp_unset_lock@OMP_1.0");
int main(void) {
  struct { int nest[2], guard[2]; } n = {{9, 9}, {7, 7}};
  struct { int lock, guard; } l = {9, 7};
  long sum = 0;
  old_init(&n.nest);
  older_init(&l.lock);
#pragma omp parallel num_threads(4)
  for (int r = 0; r < 1000; ++r) {
    old_set(&n.nest);
    if (old_test(&n.nest) != 2) __builtin_abort();
    older_set(&l.lock);
    ++sum;
    older_unset(&l.lock);
    old_unset(&n.nest);
    old_unset(&n.nest);
  }
  if (n.guard[0] != 7 || n.guard[1] != 7 || l.guard != 7) return 1;
  printf("%ld\\n", sum);
  return 0;
}
"""
# A runtime of one thread, that has a way to start regions which nobody here has heard of.
FUTURE = """
void GOMP_parallel(void (*f)(void *), void *data, unsigned n, unsigned flags) { f(data); }
void GOMP_parallel_of_next_year(void) {}
void GOMP_barrier(void) {}
int omp_get_level(void) { return 0; }
int omp_get_num_threads(void) { return 1; }
int omp_get_max_threads(void) { return 1; }
int omp_get_thread_num(void) { return 0; }
void omp_set_lock(void *lock) { ++*(int *)lock; }
void omp_unset_lock(void *lock) { --*(int *)lock; }
"""
FUTURE_VERSIONS = """
GOMP_1.0 { GOMP_barrier; }; GOMP_4.0 { GOMP_parallel; }; GOMP_9.9 { GOMP_parallel_of_next_year; };
OMP_1.0 { omp_get_num_threads; omp_get_max_threads; omp_get_thread_num; };
OMP_3.0 { omp_get_level; omp_set_lock; omp_unset_lock; };
"""
FUTURE_USER = """
#include <omp.h>
#include <stdio.h>
static omp_lock_t lock;
int main(void) {
#pragma omp parallel
  {
    omp_set_lock(&lock);
#pragma omp barrier
    printf("%d of %d\\n", omp_get_thread_num(), omp_get_num_threads());
    omp_unset_lock(&lock);
  }
  return 0;
}
"""
# Four threads of the program's own are the first to call, all at once.
AT_ONCE = """
#include <pthread.h>
#include <stdio.h>
static int come;
static void *start(void *sum) {
  __atomic_fetch_add(&come, 1, __ATOMIC_RELAXED);
  while (__atomic_load_n(&come, __ATOMIC_RELAXED) < 4) {
  }
#pragma omp parallel num_threads(2)
  __atomic_fetch_add((int *)sum, 1, __ATOMIC_RELAXED);
  return NULL;
}
int main(void) {
  pthread_t threads[4];
  int sum = 0;
  for (int t = 0; t < 4; ++t) pthread_create(&threads[t], NULL, start, &sum);
  for (int t = 0; t < 4; ++t) pthread_join(threads[t], NULL);
  printf("%d\\n", sum);
  return 0;
}
"""
# Finds our names, though it has no runtime: without us all of them would be null.
WEAK = """
#include <stdio.h>
__attribute__((weak)) void omp_set_lock(int *), omp_unset_lock(int *);
__attribute__((weak)) int omp_test_lock(int *);
__attribute__((weak)) void GOMP_barrier(void);
__attribute__((weak)) void GOMP_parallel(void (*)(void *), void *, unsigned, unsigned);
static void add(void *n) { __atomic_fetch_add((int *)n, 1, __ATOMIC_RELAXED); }
int main(void) {
  int lock = 0, ran = 0;
  if (omp_set_lock == NULL) return puts("no OpenMP"), 0;
  omp_set_lock(&lock);
  if (omp_test_lock(&lock)) return 1;
  omp_unset_lock(&lock);
  GOMP_barrier();
  GOMP_parallel(add, &ran, 3, 0);
  printf("%d ran\\n", ran);
  return 0;
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("runtimes")
    work = source(path, "work.c", WORK)
    opener = source(path, "opener.c", OPENER)
    renamed_runtime(path)
    stock = compiled(path / "stock.so", "-shared", "-fPIC", work)
    (path / "renamed.so").write_bytes(stock.read_bytes().replace(b"libgomp.so.1", b"libgomq.so.1"))
    subprocess.run(["gcc", "-o", path / "opener", opener], check=True)
    return path


def opened(folder, *libraries):
    done = run(
        [folder / "opener", *(folder / library for library in libraries)],
        LD_LIBRARY_PATH=str(folder),
        SYNCOPATE_VERBOSE="1",
    )
    assert done.stdout == "1200\n" * len(libraries)
    return done.stderr


def test_renamed_runtime(folder):
    said = opened(folder, "renamed.so")
    assert said.count("\n") == 1
    assert "libgomq.so.1 (libgomp): barrier auto" in said


def test_two_runtimes_in_one_process(folder):
    said = opened(folder, "renamed.so", "stock.so", "renamed.so")
    assert said.count("\n") == 2
    assert "libgomq.so.1 (libgomp)" in said and "libgomp.so.1 (libgomp)" in said


def test_one_line_for_a_runtime_that_several_threads_find_at_once(tmp_path):
    program = compiled(tmp_path / "at_once", source(tmp_path, "at_once.c", AT_ONCE))
    for _ in range(10):
        done = run([program], SYNCOPATE_VERBOSE="1")
        assert done.stdout == "8\n"
        assert done.stderr.count("\n") == 1, done.stderr


def test_symbol_versions_of_old_programs(tmp_path):
    program = compiled(tmp_path / "old", source(tmp_path, "old.c", OLD))
    assert run([program], ours=False).stdout == "4000\n"
    assert run([program]).stdout == "4000\n"
    assert run([program], SYNCOPATE_OMP_LOCK="mcs:park").stdout == "4000\n"


def test_unknown_runtime_runs_as_it_is(tmp_path):
    library = source(tmp_path, "future.c", FUTURE)
    versions = source(tmp_path, "future.map", FUTURE_VERSIONS)
    subprocess.run(
        ["gcc", "-shared", "-fPIC", library, f"-Wl,--version-script={versions}",
         "-Wl,-soname,libgomp.so.1", "-o", tmp_path / "libgomp.so.1"],
        check=True,
    )  # fmt: skip
    program = compiled(tmp_path / "user", source(tmp_path, "user.c", FUTURE_USER))
    done = run([program], LD_LIBRARY_PATH=str(tmp_path))
    assert done.stdout == "0 of 1\n"
    assert done.stderr.count("\n") == 1
    assert "of a version not known here (GOMP_parallel_of_next_year); it runs as it is" in (
        done.stderr
    )


def test_program_without_openmp():
    done = run(["true"], SYNCOPATE_VERBOSE="1")
    assert (done.stdout, done.stderr) == ("", "")


def test_names_that_a_program_finds_without_a_runtime(tmp_path):
    program = tmp_path / "weak"
    subprocess.run(["gcc", "-O2", source(tmp_path, "weak.c", WEAK), "-o", program], check=True)
    assert run([program], ours=False).stdout == "no OpenMP\n"
    assert run([program]).stdout == "3 ran\n"


def test_a_region_of_clang_may_share_any_number_of_variables(tmp_path):
    """Those in registers, an odd and an even number on the stack, and many."""
    lines = ["#include <stdio.h>"]
    for count in (0, 3, 4, 8, 9, 10, 1025):
        names = [f"v{i}" for i in range(count)]
        adds = [f"__atomic_fetch_add(&{v}, {i + 1}, 0);" for i, v in enumerate(names)]
        lines += [
            f"static int share_{count}(void) {{",
            f"  int ran = 0{''.join(f', {name} = 0' for name in names)};",
            f"#pragma omp parallel num_threads(2)\n  {{ {' '.join(adds)}",
            "#pragma omp barrier\n#pragma omp atomic\n    ran++;\n  }",
            *(f"  if ({v} != {2 * (i + 1)}) return {i + 1};" for i, v in enumerate(names)),
            "  return ran == 2 ? 0 : -1;\n}",
        ]
    calls = [line.split()[2].replace("(void)", "()") for line in lines if "static int" in line]
    shown = "".join(f'  printf("{call} %d\\n", {call});\n' for call in calls)
    code = source(tmp_path, "many.c", "\n".join([*lines, f"int main(void) {{\n{shown}}}", ""]))
    llvm = subprocess.run(
        ["clang", "-print-resource-dir"], capture_output=True, text=True, check=True
    ).stdout.partition("/lib/clang")[0]
    flags = [f"-L{llvm}/lib", f"-Wl,-rpath,{llvm}/lib"]
    program = compiled(tmp_path / "many", "-O0", code, *flags, compiler="clang")
    printed = "".join(f"{call} 0\n" for call in calls)
    assert run([program], ours=False).stdout == printed
    for variables in ({}, {"SYNCOPATE_OMP_BARRIER": "runtime"}, {"SYNCOPATE": "off"}):
        done = run([program], **variables)
        assert (done.stdout, done.stderr) == (printed, "")


def test_a_program_that_has_all_keys_keeps_them(tmp_path):
    text = """
    #include <dlfcn.h>
    #include <pthread.h>
    static void count(void *n) { __atomic_fetch_add((int *)n, 1, __ATOMIC_RELAXED); }
    int main(void) {
      pthread_key_t first, more;
      int n = 0;
      if (pthread_key_create(&first, NULL) != 0 || first != 0) return 2;
      if (dlopen("libgomp.so.1", RTLD_NOW | RTLD_GLOBAL) == NULL) return 3;
      while (pthread_key_create(&more, NULL) == 0) continue;
      void (*parallel)(void (*)(void *), void *, unsigned, unsigned) =
          (void (*)(void (*)(void *), void *, unsigned, unsigned))
          dlsym(RTLD_DEFAULT, "GOMP_parallel");
      pthread_setspecific(first, &n);
      parallel(count, &n, 3, 0);
      return n == 3 && pthread_getspecific(first) == &n ? 0 : 1;
    }
    """
    program = tmp_path / "keys"
    subprocess.run(["gcc", source(tmp_path, "keys.c", text), "-o", program], check=True)
    run([program])


def test_cxx_programs_keep_their_operator_new(tmp_path):
    text = """
    #include <new>
    #include <cstdio>
    int main() {
      try {
        (void)::operator new(1ul << 62);
      } catch (const std::bad_alloc&) {
        std::puts("caught");
      }
    }
    """
    program = tmp_path / "new"
    code = source(tmp_path, "new.cpp", text)
    subprocess.run(["g++", "-O0", "-w", "-fopenmp", code, "-o", program], check=True)
    assert run([program]).stdout == "caught\n"
