"""What a simulated program does in libraries that the machine cannot see: said, perhaps charged."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from modeled import build

# Half a second of processor time within the C library, or in the program's own code.
PROGRAM = r"""
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <random>
#include <string>
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/times.h>
#include <unistd.h>
#include <x86intrin.h>
volatile double sum;
volatile unsigned long spent;
void burn(unsigned long long turns) {
  for (unsigned long i = 0; i < turns % 1000; ++i) spent = spent + i;
}
unsigned processors(int way) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (way == 0) pthread_getaffinity_np(pthread_self(), sizeof set, &set);
  if (way == 1) sched_getaffinity(0, sizeof set, &set);
  if (way == 2 && syscall(SYS_sched_getaffinity, 0, sizeof set, &set) != 8) return 0;
  return static_cast<unsigned>(CPU_COUNT(&set));
}
double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}
double asked() {
  timespec t;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}
double used() {
  rusage all;
  getrusage(RUSAGE_SELF, &all);
  return static_cast<double>(all.ru_utime.tv_usec) * 1e-6;
}
unsigned long long stamp() {
  unsigned low, high;
  asm volatile("lfence; rdtsc" : "=a"(low), "=d"(high));
  return static_cast<unsigned long long>(high) << 32 | low;
}
unsigned long long stamp_here() {
  unsigned low, high, here;
  asm volatile("rdtscp" : "=a"(low), "=d"(high), "=c"(here));
  return here < 4 ? static_cast<unsigned long long>(high) << 32 | low : 0;
}
unsigned long long builtin_stamp() { return __rdtsc(); }
unsigned long long builtin_stamp_here() {
  unsigned here;
  return __rdtscp(&here);
}
// What a static constructor finds, as OpenMP's runtime does; and it waits by the clock.
struct early {
  unsigned seen[3] = {processors(0), processors(1), processors(2)};
  std::mt19937 generator{std::random_device{}()};
  early() {
    const double begun = now();
    while (now() < begun + 1e-6) {}
  }
} const found;
// Loops that touch no memory end, and take the machine's time.
void delay(int length) {
  float a = 0;
  for (int i = 0; i < length; ++i) a += static_cast<float>(i);
  if (a < 0) std::printf("%f\n", static_cast<double>(a));
}
int loops() {
  double lapsed = 0;
  int length = 0;
  while (lapsed < 1e-7) {  // EPCC's
    length = static_cast<int>(length * 1.1 + 1);
    const double begun = now();
    for (int i = 0; i < 1000; ++i) delay(length);
    lapsed = (now() - begun) / 1000;
  }
  std::printf("%d\n", length);
  for (auto* clock : {stamp, stamp_here, builtin_stamp, builtin_stamp_here}) {
    const unsigned long long begun = clock();
    while (clock() - begun < 10000) {}
  }
  for (auto* clock : {now, asked, used}) {
    const double begun = clock();
    while (clock() - begun < 1e-5) {}
  }
  const clock_t ticks = times(nullptr);
  while (times(nullptr) == ticks) delay(10000);
  return found.seen[0] == 4 && found.seen[1] == 4 && found.seen[2] == 4 ? 0 : 3;
}
// A request to cancel ends waits that are cancellation points; variables of threads may be large.
thread_local char large[3 << 20];
int pipes[2];
void* wait(void* how) {
  large[sizeof large - 1] = 1;
  if (how == nullptr) sleep(1000);
  else if (read(pipes[0], large, 1) == 1 || poll(nullptr, 0, -1) == 0) return nullptr;
  return nullptr;
}
int cancel() {
  pthread_t waiters[2];
  if (pipe(pipes) != 0) return 5;
  for (long i = 0; i < 2; ++i)
    pthread_create(&waiters[i], nullptr, wait, reinterpret_cast<void*>(i));
  usleep(100);
  for (pthread_t each : waiters) {
    void* result = nullptr;
    pthread_cancel(each);
    pthread_join(each, &result);
    if (result != PTHREAD_CANCELED) return 6;
  }
  return 0;
}
// Time passes by what the system, its files and the environment's place tell.
int tell() {
  for (const char* path : {"/proc/self/status", "/proc/meminfo", "/proc/self/status"}) {
    std::ifstream file(path);
    std::string line;
    while (std::getline(file, line)) {
      burn(line.size());
      if (line.find("kB") + 1 != 0) burn(std::stoull(line.substr(line.find(':') + 1)));
    }
    if (std::FILE* const stream = std::fopen(path, "r")) {
      char text[200];
      while (std::fgets(text, sizeof text, stream) != nullptr)
        if (std::strstr(text, "kB") != nullptr)
          burn(std::strtoul(std::strchr(text, ':') + 1, nullptr, 10));
      std::fclose(stream);
    }
  }
  std::ifstream random("/dev/urandom");
  unsigned number = 0;
  if (!random.read(reinterpret_cast<char*>(&number), sizeof number)) return 4;
  burn(number);
  burn(std::mt19937(found.generator)());
  burn(reinterpret_cast<unsigned long>(environ) >> 3);
  burn(reinterpret_cast<unsigned long>(new int) >> 4);
  unsigned long variable = 0;
  for (const char* at = getenv("TOLD"); *at != 0; ++at) variable = 31 * variable + *at;
  burn(variable);
  return 0;
}
// From each place that has random numbers, two.
int draw() {
  std::uint64_t all[12] = {};
  std::random_device device;
  for (int i = 0; i < 2; ++i) {
    if (getrandom(&all[i], 8, 0) != 8 || getentropy(&all[2 + i], 8) != 0) return 1;
    all[4 + i] = device();
    const char* const path = i ? "/dev/urandom" : "/dev/random";
    const int file = open(path, O_RDONLY), other = openat(AT_FDCWD, path, O_RDONLY);
    if (read(file, &all[6 + i], 8) != 8 || read(other, &all[8 + i], 8) != 8) return 1;
    close(file), close(other);
    FILE* const stream = fopen(path, "r");
    if (fread(&all[10 + i], 8, 1, stream) != 1) return 1;
    fclose(stream);
  }
  for (int i = 0; i < 12; ++i)
    for (int j = 0; j < i; ++j)
      if (all[i] == all[j]) return 2;
  for (auto each : all) std::printf("%016llx\n", static_cast<unsigned long long>(each));
  return 0;
}
int main(int count, char** words) {
  if (count > 1 && std::strcmp(words[1], "random") == 0) return draw();
  if (count > 1 && std::strcmp(words[1], "loops") == 0) return loops();
  if (count > 1 && std::strcmp(words[1], "cancel") == 0) return cancel();
  if (count > 2) {
    void* const library = dlopen(words[2], RTLD_NOW);
    return reinterpret_cast<int (*)()>(dlsym(library, "work"))();
  }
  if (count > 1 && std::strcmp(words[1], "tell") == 0) return tell();
  char text[2000];
  for (int i = 0; i < 5000; ++i) {
    if (count > 1) for (int j = 0; j < 5000; ++j) sum = sum + 1;
    else for (int j = 0; j < 10; ++j) std::snprintf(text, sizeof text, "%.1500f", 1e300 / (i + 3));
    sum = sum + 1;
  }
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Path:
    return build(tmp_path_factory.mktemp("unseen"), "unseen", PROGRAM)


def run(program: Path, *arguments: str, **variables: str) -> tuple[float, str]:
    """The simulated time in seconds, and the lines behind it."""
    environ = {**os.environ, "SYNCOPATE_MACHINE": "test-4c", **variables}
    done = subprocess.run(
        [str(program), *arguments], env=environ, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    first, *more = done.stderr.splitlines()
    return float(re.search(r"simulated time: ([\d.]+) s", first)[1]), "\n".join(more)


@pytest.mark.long
def test_much_that_was_not_seen_is_said(program):
    seconds, said = run(program)
    assert re.search(r"\d+ % of the program's own processor time, \d+ ms, passed in code", said)
    assert "libc.so" in said
    assert seconds < 0.01


@pytest.mark.long
def test_charged_as_measured(program):
    seconds, said = run(program, SYNCOPATE_CHARGE_NATIVE="1")
    charged = float(re.search(r"([\d.]+) ms were native code of libraries, charged", said)[1])
    assert charged > 20
    assert seconds > charged / 1000


@pytest.mark.long
def test_a_program_that_was_seen_is_left_alone(program):
    assert run(program, "seen")[1] == ""


def test_random_numbers_are_the_same_in_every_run(program):
    def drawn(seed: str) -> bytes:
        environ = {**os.environ, "SYNCOPATE_MACHINE": "test-4c", "SYNCOPATE_SEED": seed}
        return subprocess.run(
            [str(program), "random"], env=environ, capture_output=True, check=True, timeout=60
        ).stdout

    first = drawn("1")
    assert len(first.split()) == 12
    assert drawn("1") == first
    assert drawn("2") != first


def test_loops_without_accesses_end_in_the_machines_time(program):
    def looped() -> tuple[float, str]:
        return run(program, "loops")

    seconds, said = looped()
    assert said == ""
    assert 0.0001 < seconds < 0.02  # a hundredth of a second: the clock of times()
    assert looped() == (seconds, said)


def test_threads_that_sleep_or_read_are_canceled_at_once(program):
    seconds, said = run(program, "cancel")
    assert said == ""
    assert seconds < 0.001


def test_threads_of_a_native_openmp_are_refused(program, tmp_path):
    text = "int work(void) { int n = 0;\n#pragma omp parallel num_threads(2)\nn = 1;\nreturn n; }"
    library = tmp_path / "native.so"
    command = ["gcc", "-fopenmp", "-shared", "-fPIC", "-xc", "-", "-o", str(library)]
    subprocess.run(command, input=text, text=True, check=True, timeout=60)
    done = subprocess.run(
        [str(program), "open", str(library)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2
    assert done.stderr.startswith("syncopate: libgomp.so.1 makes threads, which would wait in ways")
    assert done.stderr.count("\n") == 1


# A process of the same user whose signals wait, as /proc/self/status tells all its processes.
QUEUES = """
import os, signal, time
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN])
for _ in range(1200): os.kill(os.getpid(), signal.SIGRTMIN)
print(flush=True)
time.sleep(600)
"""


def test_the_same_cycles_in_every_run(program, tmp_path):
    def cycles(index: int) -> str:
        """With another environment, folder and name of the program."""
        folder = tmp_path / ("x" * (10 * index + 1))
        folder.mkdir()
        name = folder / ("program" + index * "y")
        name.symlink_to(program)
        environ = {f"FILLS_{i}": (100 * i + 7) * "z" for i in range(index)}
        environ["HOME"] = "/" + 50 * index * "h"  # machine files are looked for there
        environ |= {"SYNCOPATE_MACHINE": "test-4c", "TOLD": "this", "PATH": os.environ["PATH"]}
        environ |= {key: value for key, value in os.environ.items() if key.startswith("SYNCOPATE")}
        done = subprocess.run(
            [str(name), "tell"], cwd=folder, env=environ, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return re.search(r"simulated time: ([\d.]+) s", done.stderr)[1]

    begun = cycles(0)
    with subprocess.Popen([sys.executable, "-c", QUEUES], stdout=subprocess.PIPE) as other:
        try:
            assert other.stdout.readline() == b"\n"
            assert {cycles(index) for index in range(1, 10)} == {begun}
        finally:
            other.kill()
