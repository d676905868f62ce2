// test_mutex_million.cpp -- a million mutexes, each locked once: no memory beyond the objects.
#include <fstream>

#include "thread.h"

namespace {

constexpr long count = 1000000;

long resident_kb() {
  std::ifstream status("/proc/self/statm");
  long size = 0;
  long resident = 0;
  status >> size >> resident;
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

void lock_each_once(pthread_mutex_t* mutexes) {
  int errors = 0;
  for (long i = 0; i < count; ++i) {
    errors += pthread_mutex_lock(&mutexes[i]) != 0;
    errors += pthread_mutex_unlock(&mutexes[i]) != 0;
  }
  CHECK_EQ(errors, 0);
}

}  // namespace

int main() {
  check_begin();
  const size_t bytes = count * sizeof(pthread_mutex_t);
  auto* mutexes = static_cast<pthread_mutex_t*>(
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  MUST(mutexes != MAP_FAILED);
  run_threads(2, [](int) {});  // so that thread stacks are in the first figure
  memset(static_cast<void*>(mutexes), 0, bytes);
  const long before = resident_kb();
  lock_each_once(mutexes);
  run_threads(2, [&](int) { lock_each_once(mutexes); });
  const long grown = resident_kb() - before;
  printf("resident memory grew by %ld KB\n", grown);
  fflush(stdout);
  CHECK(grown < 2048);
  return check_end();
}
