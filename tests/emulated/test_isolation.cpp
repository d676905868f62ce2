// test_isolation.cpp -- transactions against code outside of any: it never sees a write that is not
// committed, and its own accesses abort what they exclude.
#include <atomic>
#include <cstring>

#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>

#include "check.h"

using htm::cause;

namespace {

alignas(64) long word = 1;
alignas(64) std::atomic<long> atomic_word{1};
alignas(64) std::atomic<unsigned __int128> wide{1};
alignas(64) char bytes[256];

void aborts(const htm::status& s) { CHECK(s.why == cause::conflict && s.may_retry); }

void plain() {
  aborts(while_inside([] { word = 2; }, [] { CHECK(word == 1); }));
  aborts(while_inside([] { CHECK(word == 1); }, [] { word = 3; }));
  CHECK(word == 3);
  aborts(while_inside([] { word = 2; }, [] { word = 4; }));
  CHECK(word == 4);
  CHECK(while_inside([] { CHECK(word == 4); }, [] { CHECK(word == 4); }).started());
  word = 1;
}

void atomics() {
  const auto writes = [] { atomic_word.store(2); };
  const auto reads = [] { CHECK(atomic_word.load() == 1); };
  aborts(while_inside(writes, [] { CHECK(atomic_word.load() == 1); }));
  aborts(while_inside(reads, [] { atomic_word.store(1); }));
  aborts(while_inside(reads, [] { CHECK(atomic_word.exchange(1) == 1); }));
  aborts(while_inside(writes, [] { CHECK(atomic_word.fetch_add(5) == 1); }));
  CHECK(atomic_word.load() == 6);
  atomic_word = 1;
  aborts(while_inside([] { atomic_word.fetch_or(8); },
                      [] {
                        long expected = 1;
                        CHECK(atomic_word.compare_exchange_strong(expected, 1));
                      }));
  CHECK(while_inside(reads, [] { CHECK(atomic_word.load() == 1); }).started());
  aborts(while_inside([] { wide.store(7); }, [] { CHECK(wide.load() == 1); }));
  CHECK(attempt([] {
          long expected = 5;
          CHECK(!atomic_word.compare_exchange_strong(expected, 6) && expected == 1);
          CHECK(atomic_word.compare_exchange_strong(expected, 6));
          wide.store(wide.load() + 1);
        }).started());
  CHECK(atomic_word == 6 && wide.load() == 2);
}

void ranges() {
  aborts(while_inside([] { bytes[200] = 1; },
                      [] {
                        char copy[256];
                        std::memcpy(copy, bytes, 256);
                        CHECK(copy[200] == 0);
                      }));
  aborts(while_inside([] { CHECK(bytes[100] == 0); }, [] { std::memset(bytes, 0, 256); }));
}

// Across the end of a line: both belong to the transaction.
void unaligned() {
  struct [[gnu::packed]] packed {
    long value;
  };
  auto* const across = reinterpret_cast<packed*>(bytes + 60);
  aborts(while_inside([=] { across->value = -1; }, [] { CHECK(bytes[66] == 0); }));
  aborts(while_inside([=] { across->value = -1; }, [] { CHECK(bytes[61] == 0); }));
  aborts(while_inside([=] { CHECK(across->value == 0); }, [] { bytes[64] = 0; }));
  CHECK(across->value == 0);
}

// By a thread that writes nothing else.
void frees() {
  static long* block;
  block = new long[8]{};
  aborts(while_inside([] { CHECK(block[0] == 0); }, [] { delete[] block; }));
}

// A counter that transactions and atomic operations share loses nothing.
void mixed_counter() {
  alignas(64) static std::atomic<long> counter{0};
  constexpr long turns = 5'000;
  std::atomic<long> committed{0};
  run_threads(4, [&](unsigned index) {
    for (long i = 0; i < turns; ++i) {
      if (index % 2 == 0) counter.fetch_add(1);
      else if (attempt([] { counter.store(counter.load() + 1); }).started()) committed.fetch_add(1);
    }
  });
  CHECK(counter == 2 * turns + committed && committed > 0);
}

// Transactions that write the counter and abort take nothing of it back.
void undone_beside_atomics() {
  alignas(64) static std::atomic<long> counter{0};
  constexpr long turns = 60'000;
  run_threads(2, [](unsigned index) {
    for (long i = 0; i < turns; ++i) {
      if (index == 0) {
        counter.fetch_add(1);
        continue;
      }
      attempt([] {
        counter.store(counter.load() + 1);
        htm::abort<1>();
      });
    }
  });
  CHECK(counter == turns);
}

// Two words that every transaction changes together: a load of both in one order may see an old and
// a new one, never one that was not committed (they are multiples of three).
void nothing_uncommitted() {
  alignas(64) static std::atomic<long> a{0};
  unseen stop;
  std::thread watcher([&] {
    while (stop.get() == 0) CHECK(a.load() % 3 == 0);
  });
  for (int i = 0; i < 20'000; ++i) {
    attempt([&] {
      a.store(a.load() + 1);
      a.store(a.load() + 1);
      if (i % 2 == 0) htm::abort<1>();
      a.store(a.load() + 1);
    });
  }
  stop.set(1);
  watcher.join();
}

// Who holds the lock copies plainly, long after the check of the range, while another thread
// speculates beside it: what speculation writes is neither seen nor brings old bytes back. The
// holder's zeros come from and go to pages that are not there yet, so that its copies are slow.
void speculation_beside_plain_copies() {
  constexpr int rounds = 40;
  constexpr std::size_t bytes = 256 << 10;
  alignas(64) static char shared[bytes];
  const auto fresh_pages = [] {
    void* const pages =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED);
    return static_cast<char*>(pages);
  };
  std::atomic<bool> stop{false};
  unseen speculates;
  std::thread speculator([&] {
    while (!stop.load()) {
      attempt(
          [&] {
            shared[bytes - 1] = 7;
            speculates.set(1);
          },
          htm::mode::always_abort);
    }
  });
  speculates.await(1);
  for (int round = 0; round < rounds; ++round) {
    char* const from = fresh_pages();
    char* const to = fresh_pages();
    shared[bytes - 1] = 1;
    std::memcpy(shared, from, bytes);
    CHECK(shared[bytes - 1] == 0);
    std::memcpy(to, shared, bytes);
    CHECK(to[bytes - 1] == 0);
    munmap(from, bytes);
    munmap(to, bytes);
  }
  stop = true;
  speculator.join();
}

// A thread whose destructors still access memory in the last round, when the machine's own is over;
// its thread-local variables are gone when it has ended.
pthread_key_t ends;
std::atomic<int> rounds_of_destructors{0};

void access_again(void* data) {
  attempt([] { ++word; });
  if (++rounds_of_destructors < PTHREAD_DESTRUCTOR_ITERATIONS) pthread_setspecific(ends, data);
}

void threads_that_have_ended() {
  CHECK(pthread_key_create(&ends, access_again) == 0);
  constexpr std::size_t stack_bytes = 1 << 20;
  void* const stack =
      mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(stack != MAP_FAILED);
  pthread_attr_t given;
  pthread_attr_init(&given);
  CHECK(pthread_attr_setstack(&given, stack, stack_bytes) == 0);
  pthread_t thread;
  word = 0;
  CHECK(pthread_create(
            &thread, &given,
            [](void* data) -> void* {
              pthread_setspecific(ends, data);
              return nullptr;
            },
            &word) == 0);
  CHECK(pthread_join(thread, nullptr) == 0);
  munmap(stack, stack_bytes);
  CHECK(rounds_of_destructors == PTHREAD_DESTRUCTOR_ITERATIONS);
  // Whoever asks what others access asks that one no longer.
  const long before = word;
  attempt([before] { word = before + 1; }, htm::mode::always_abort);
  CHECK(word == before);
  word = 1;
}

}  // namespace

int main() {
  threads_that_have_ended();
  for (int i = 0; i < 20; ++i) {
    plain();
    atomic_word = 1;
    wide = 1;
    atomics();
    ranges();
    unaligned();
    frees();
  }
  mixed_counter();
  undone_beside_atomics();
  nothing_uncommitted();
  speculation_beside_plain_copies();
}
