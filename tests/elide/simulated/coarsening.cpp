// Histogram: the paper's listing 3. A batch of n iterations is one transaction, the last one is
// shorter; exceptions end a batch; the adaptive granularity comes close to the best fixed one.
#include <syncopate/elide/coarsen.h>
#include <syncopate/elide/elided_lock.h>
#include <syncopate/locks/tatas_lock.h>

#include <mutex>
#include <stdexcept>

#include "elision.h"

namespace {

using namespace elision;
namespace elide = syncopate::elide;
using lock_type = elide::elided_lock<syncopate::tatas_lock<>>;

struct alignas(64) bin {
  unsigned long count = 0;
};

std::uint64_t next_random(std::uint64_t& state) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return state >> 33;
}

unsigned long sum_of(const std::vector<bin>& bins) {
  unsigned long sum = 0;
  for (const bin& b : bins) sum += b.count;
  return sum;
}

// Counts how often lock() began a section, to see the batches from outside.
struct counting_lock {
  lock_type inner;
  std::uint64_t begun = 0, as_transaction = 0;
  void lock() {
    inner.lock();
    ++begun;
    if (section::active()) ++as_transaction;
  }
  void unlock() { inner.unlock(); }
};

void batches_of_n() {
  constexpr unsigned iterations = 100;
  for (const unsigned n : {1u, 2u, 7u, 16u, 100u, 1000u}) {
    counting_lock lock;
    std::vector<bin> bins(16);
    {
      elide::coarsener batch(lock, n);
      for (unsigned i = 0; i < iterations; ++i) batch([&] { ++bins[i % 16].count; });
    }
    assert(sum_of(bins) == iterations && !section::active() && !lock.inner.is_locked());
    assert(lock.begun == (iterations + n - 1) / n && lock.as_transaction == lock.begun);
    std::printf("%u iterations, %u a batch: %lu transactions\n", iterations, n, lock.begun);
  }
}

void exceptions_end_batches() {
  counting_lock lock;
  int done = 0;
  elide::coarsener batch(lock, 10);
  for (int i = 0; i < 12; ++i) try {
      batch([&] {
        ++done;
        if (i == 4) throw std::runtime_error("in the middle");
      });
    } catch (const std::runtime_error&) {
      assert(i == 4 && !section::active() && !lock.inner.is_locked());
    }
  assert(done == 12 && lock.begun == 2);  // 0 to 4, then 5 to 11 so far
  batch.finish();
  assert(!section::active() && !lock.inner.is_locked());
}

// Sections of several locks in one transaction; where that fails, each by itself.
void static_coarsening() {
  lock_type locks[4];
  std::vector<bin> bins(4);
  counts all;
  counter count(all);
  for (int round = 0; round < 10; ++round) {
    const std::uint32_t outside = section::depth();
    elide::coarse_section merged;
    for (int i = 0; i < 4; ++i) {
      const std::lock_guard hold(locks[i]);
      assert(outside == 0 && (section::depth() == 2 || round == 7));
      ++bins[static_cast<unsigned>(i)].count;
      if (round == 7 && section::depth() == 2) section::needs_lock();  // back to `merged`
      elide::on_commit([&] { count.ended(true); });
    }
  }
  assert(sum_of(bins) == 40 && all.transactions == 40);
  assert(all.aborted(abort_code::needs_lock) == 1);  // then without the merging scope
}

struct measured {
  counts how;
  std::uint64_t ticks;
};

template <class MakeBatch>
measured histogram(unsigned threads, unsigned bin_count, unsigned iterations, MakeBatch make) {
  lock_type lock;
  std::vector<bin> bins(bin_count);
  measured m{};
  m.how = run(
      threads,
      [&](unsigned me, counter&) {
        std::uint64_t state = me + 1;
        auto size = make();
        elide::coarsener batch(lock, size);
        for (unsigned i = 0; i < iterations; ++i) {
          const std::uint64_t where = next_random(state) % bin_count;
          batch([&] { ++bins[where].count; });
        }
      },
      &m.ticks);
  assert(sum_of(bins) == std::uint64_t{threads} * iterations);
  return m;
}

// The best fixed granularity depends on the number of bins; the adaptive one has to find it.
void adaptive(unsigned threads, unsigned bin_count) {
  constexpr unsigned iterations = 6000;
  std::uint64_t best = ~0ull;
  unsigned best_size = 0;
  for (const unsigned n : {1u, 4u, 16u, 64u, 256u}) {
    const measured m =
        histogram(threads, bin_count, iterations, [n] { return elide::granularity::fixed(n); });
    std::printf("  %3u a batch: %8lu cycles, %lu conflicts\n", n, m.ticks,
                m.how.aborted(htm::cause::conflict));
    if (m.ticks < best) best = m.ticks, best_size = n;
  }
  const measured m = histogram(threads, bin_count, iterations, [] { return elide::granularity(); });
  std::printf("%u threads, %u bins: best fixed %u (%lu cycles); adaptive %lu cycles (%.2f)\n",
              threads, bin_count, best_size, best, m.ticks,
              static_cast<double>(m.ticks) / static_cast<double>(best));
  assert(static_cast<double>(m.ticks) < 1.35 * static_cast<double>(best));
}

constexpr check::scenario scenarios[] = {
    {"batches_of_n", batches_of_n},
    {"exceptions_end_batches", exceptions_end_batches},
    {"static_coarsening", static_coarsening},
    {"adaptive_alone", [] { adaptive(1, 4096); }},
    {"adaptive_little_contention", [] { adaptive(4, 4096); }},
    {"adaptive_much_contention", [] { adaptive(4, 64); }},
};

}  // namespace

int main(int argc, char** argv) { return check::main(argc, argv, scenarios); }
