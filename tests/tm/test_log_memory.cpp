// A transaction whose log finds no memory runs alone instead, and nobody notices.
// Stock: fails
#include "check.h"

#include <thread>

#include <sys/mman.h>
#include <sys/resource.h>

namespace {

constexpr long words = 3l << 20;  // 24 MiB, and as much or more for a log
constexpr rlim_t room = 8u << 20;
long* area;
long before;

// Under the limit, what needs more memory than `room` gets none.
void limit_memory() {
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  unsigned long pages = 0;
  CHECK(file != nullptr && std::fscanf(file, "%lu", &pages) == 1);
  std::fclose(file);
  const rlim_t bytes = pages * 4096 + room;
  const rlimit limit{bytes, bytes};
  CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
}

void write_all() {
  __transaction_atomic {
    ++before;
    for (long i = 0; i < words; ++i) area[i] = area[i] + i;
  }
}
long read_all() {
  long sum = 0;
  __transaction_atomic {
    ++before;
    long found = 0;
    for (long i = 0; i < words; ++i) found += area[i];
    sum = found;
  }
  return sum;
}

}  // namespace

int main() {
  void* const mapped = mmap(nullptr, words * sizeof(long), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  CHECK(mapped != MAP_FAILED);
  area = static_cast<long*>(mapped);
  __transaction_atomic { before = 0; }
  std::thread([] {
    __transaction_atomic { ++before; }
  }).join();  // the library knows of threads
  limit_memory();
  write_all();
  CHECK(read_all() == words * (words - 1) / 2);
  write_all();
  CHECK(read_all() == words * (words - 1));
  CHECK(before == 5);
}
