"""What several simulated processes count in memory that they share is counted exactly."""

import os
import subprocess

from modeled import build

PROGRAM = r"""
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct common {
  std::atomic<unsigned> here;
  std::atomic<std::uint64_t> added, exchanged;
  std::atomic<std::uint16_t> small;
  std::atomic<int> turned;
};
constexpr unsigned rounds = 20000;

static void count(common& all) {
  for (++all.here; all.here != 3;) usleep(10);
  for (unsigned i = 0; i < rounds; ++i) {
    all.added.fetch_add(1, std::memory_order_relaxed);
    all.small.fetch_add(1, std::memory_order_relaxed);
    all.turned.fetch_xor(1 << i % 31, std::memory_order_relaxed);
    std::uint64_t old = all.exchanged.load(std::memory_order_relaxed);
    while (!all.exchanged.compare_exchange_weak(old, old + 1, std::memory_order_relaxed)) {}
  }
}
int main() {
  auto& all = *static_cast<common*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  for (int i = 0; i < 2; ++i)
    if (fork() == 0) {
      count(all);
      _exit(0);
    }
  count(all);
  while (wait(nullptr) > 0) {}
  std::printf("%lu %lu %u\n", (unsigned long)all.added, (unsigned long)all.exchanged, +all.small);
}
"""


def test_no_count_of_another_process_is_lost(tmp_path):
    program = build(tmp_path, "counts", PROGRAM)
    environ = {**os.environ, "SYNCOPATE_MACHINE": "test-4c", "SYNCOPATE_QUIET": "1"}
    done = subprocess.run([program], env=environ, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, f"60000 60000 {60000 % 65536}\n"), done.stderr
