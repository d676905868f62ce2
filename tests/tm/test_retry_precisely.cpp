// A transaction that waits (SYNCOPATE_TM_RETRY) begins again when something that it read changes;
// where the algorithm knows what that was, not for others' commits.
// Stock: fails
#include "check.h"

#include <syncopate/tm/transaction.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <initializer_list>
#include <thread>

namespace {

alignas(4096) long ready, *list = nullptr;
alignas(4096) long other;
std::atomic<int> attempts{0}, retries{0};
[[gnu::transaction_pure]] void count_attempt() { ++attempts; }
[[gnu::transaction_pure]] void count_retry() { ++retries; }

void bump(int times) {
  for (int i = 0; i < times; ++i) {
    __transaction_atomic { ++other; }
  }
}

// The algorithms that have a log of what a transaction read.
bool has_log() {
  const char* const name = std::getenv("SYNCOPATE_TM");
  if (name == nullptr) return false;
  for (const char* logging : {"norec", "lazy", "tl2", "encounter_time"})
    if (std::strncmp(name, logging, std::strlen(logging)) == 0) return true;
  return false;
}

void check_others_do_not_matter() {
  std::thread waiting([] {
    __transaction_atomic {
      count_attempt();
      if (ready == 0) {
        count_retry();
        SYNCOPATE_TM_RETRY();
      }
    }
  });
  while (retries == 0) std::this_thread::yield();
  bump(2000);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  bump(1);
  // An attempt that has begun may be the last one: it may read what is written here.
  const int before = attempts, in_vain = retries;
  __transaction_atomic { ready = 1; }
  waiting.join();
  CHECK(attempts > in_vain);
  if (has_log()) CHECK(before <= 4);  // the first ones may meet a commit, or run without a log
}

// What it read is freed while it waits, and a transaction that runs alone wakes it.
void check_freed_memory() {
  ready = 0;
  list = static_cast<long*>(std::calloc(1, 1 << 20));
  attempts = 0;
  std::thread waiting([] {
    __transaction_atomic {
      count_attempt();
      if (list != nullptr && *list == 0) SYNCOPATE_TM_RETRY();
    }
  });
  while (attempts == 0) std::this_thread::yield();
  bump(10);
  __transaction_atomic {
    std::free(list);
    list = nullptr;
  }
  waiting.join();
  const int before = attempts;  // 1 where the first attempt read the list after it was freed
  std::thread again([] {
    __transaction_atomic {
      count_attempt();
      if (ready == 0) SYNCOPATE_TM_RETRY();
    }
  });
  while (attempts == before) std::this_thread::yield();
  __transaction_relaxed {
    std::fflush(stdout);  // makes it irrevocable
    ready = 1;
  }
  again.join();
}

}  // namespace

int main() {
  check_others_do_not_matter();
  check_freed_memory();
}
