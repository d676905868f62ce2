// The granularity controller, by tables and against a model; batches under a real lock.
#include <gtest/gtest.h>
#include <syncopate/elide/coarsen.h>
#include <syncopate/elide/elided_lock.h>
#include <syncopate/locks/futex_lock.h>

#include <array>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

using namespace syncopate::elide;
using syncopate::machine::htm::cause;
using syncopate::machine::htm::status;

constexpr status of(cause why) { return {why, 0, false, false}; }

void commit(granularity& g, unsigned batches) {
  for (unsigned i = 0; i < batches; ++i) g.committed();
}

TEST(Granularity, DoublesUntilTheFirstAbortThenGrowsByAQuarter) {
  granularity g;
  for (const unsigned expected : {2u, 4u, 8u, 16u, 32u}) {
    commit(g, granularity::clean_batches(g.size()) - 1);
    EXPECT_EQ(g.size(), expected / 2);
    commit(g, 1);
    EXPECT_EQ(g.size(), expected);
  }
  g.aborted(of(cause::conflict));
  EXPECT_EQ(g.size(), 24u);
  commit(g, granularity::clean_batches(g.size()));
  EXPECT_EQ(g.size(), 30u);
}

TEST(Granularity, LongBatchesGrowLaterThanShortOnes) {
  struct row {
    unsigned size, commits;
  };
  for (const row& r : std::initializer_list<row>{{1, 2}, {16, 2}, {24, 3}, {64, 8}, {512, 64}})
    EXPECT_EQ(granularity::clean_batches(r.size), r.commits) << r.size;
}

TEST(Granularity, EachCauseHasItsStep) {
  struct row {
    cause why;
    unsigned before, after;
  };
  for (const row& r : std::initializer_list<row>{{cause::conflict, 16, 12},
                                                 {cause::other, 16, 12},
                                                 {cause::conflict, 3, 2},
                                                 {cause::conflict, 2, 1},
                                                 {cause::conflict, 1, 1},
                                                 {cause::capacity, 16, 8},
                                                 {cause::capacity, 3, 1},
                                                 {cause::capacity, 1, 1},
                                                 {cause::explicit_, 16, 16}}) {
    granularity g(r.before);
    g.aborted(of(r.why));
    EXPECT_EQ(g.size(), r.after) << static_cast<int>(r.why) << " at " << r.before;
  }
}

TEST(Granularity, StaysBelowALengthThatDidNotFit) {
  granularity g(64);
  g.aborted(of(cause::capacity));
  EXPECT_EQ(g.size(), 32u);
  for (unsigned i = 0; i < granularity::forget_after - 1; ++i) {
    g.committed();
    ASSERT_LE(g.size(), 48u);
  }
  EXPECT_EQ(g.size(), 48u);
  commit(g, 2 * granularity::clean_batches(g.size()));  // then the limit is forgotten
  EXPECT_GT(g.size(), 48u);
}

TEST(Granularity, KeepsItsBounds) {
  granularity g(3, 10);
  commit(g, 1000);
  EXPECT_EQ(g.size(), 10u);
  for (int i = 0; i < 100; ++i) g.aborted(of(i % 2 == 0 ? cause::conflict : cause::capacity));
  EXPECT_EQ(g.size(), 1u);
}

TEST(Granularity, FixedNeverChanges) {
  granularity g = granularity::fixed(7);
  commit(g, 100);
  g.aborted(of(cause::conflict));
  g.aborted(of(cause::capacity));
  EXPECT_EQ(g.size(), 7u);
}

// A model of a machine: a transaction costs 40 and an iteration 4; each iteration meets a conflict
// with probability `conflict`; more than `capacity` iterations never fit. After five aborts, or one
// of capacity, a batch runs under the lock, while four threads wait. Returns the time of one
// iteration.
template <class Size>
double cost(double conflict, unsigned capacity, Size& size) {
  std::uint64_t state = 1;
  const auto uniform = [&state] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state >> 11) * 0x1p-53;
  };
  double time = 0, done = 0;
  while (done < 200'000) {
    bool committed = false, fits = true;
    for (int attempt = 0; attempt < 5 && fits && !committed; ++attempt) {
      const unsigned n = size.size();
      unsigned i = 0;
      while (i < n && i < capacity && uniform() >= conflict) ++i;
      time += 40 + 4.0 * i;
      committed = i == n;
      fits = i < capacity || committed;
      if (committed) size.committed(), done += n;
      else size.aborted(of(fits ? cause::conflict : cause::capacity));
    }
    if (committed) continue;
    time += 4 * 4.0 * size.size() + 100;
    done += size.size();
  }
  return time / done;
}

TEST(Granularity, ComesNearTheBestFixedSize) {
  struct row {
    double conflict;
    unsigned capacity;
  };
  for (const row& r : std::initializer_list<row>{
           {0, 100'000}, {0.001, 100'000}, {0.01, 100'000}, {0.05, 100'000}, {0, 50}, {0.002, 9}}) {
    double best = std::numeric_limits<double>::infinity();
    unsigned best_size = 0;
    for (unsigned n = 1; n <= 1024; n = n + n / 4 + 1) {
      granularity fixed = granularity::fixed(n);
      if (const double c = cost(r.conflict, r.capacity, fixed); c < best) best = c, best_size = n;
    }
    granularity adaptive;
    const double found = cost(r.conflict, r.capacity, adaptive);
    EXPECT_LT(found, 1.25 * best) << r.conflict << ' ' << r.capacity << ": best fixed " << best_size
                                  << ", adaptive ends at " << adaptive.size();
  }
}

// Under a lock, as where no transaction commits: the same batches.
struct counting_lock {
  syncopate::futex_lock inner;
  unsigned begun = 0;
  void lock() { inner.lock(), ++begun; }
  void unlock() { inner.unlock(); }
};

TEST(Coarsener, LastBatchIsShorter) {
  struct row {
    unsigned iterations, size, batches;
  };
  for (const row& r : std::initializer_list<row>{
           {0, 4, 0}, {1, 4, 1}, {4, 4, 1}, {5, 4, 2}, {8, 4, 2}, {9, 1, 9}, {3, 100, 1}}) {
    counting_lock lock;
    unsigned done = 0;
    {
      coarsener batch(lock, r.size);
      for (unsigned i = 0; i < r.iterations; ++i) batch([&] { ++done; });
    }
    EXPECT_EQ(done, r.iterations);
    EXPECT_EQ(lock.begun, r.batches) << r.iterations << " by " << r.size;
    EXPECT_FALSE(lock.inner.is_locked());
  }
}

TEST(Coarsener, AnExceptionEndsTheBatchAndGoesOn) {
  counting_lock lock;
  coarsener batch(lock, 10);
  batch([] {});
  EXPECT_THROW(batch([] { throw std::runtime_error("x"); }), std::runtime_error);
  EXPECT_FALSE(lock.inner.is_locked());
  batch([] {});
  EXPECT_TRUE(lock.inner.is_locked());
  EXPECT_EQ(lock.begun, 2u);
  batch.finish();
  batch.finish();
  EXPECT_FALSE(lock.inner.is_locked());
}

TEST(Coarsener, ExcludesUnderAnElidedLock) {
  elided_lock<syncopate::futex_lock> lock;
  std::uint64_t sum = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 3; ++t)
      threads.emplace_back([&] {
        granularity size;
        coarsener batch(lock, size);
        for (int i = 0; i < 3000; ++i) batch([&] { ++sum; });
      });
  }
  EXPECT_EQ(sum, 9000u);
}

TEST(CoarseSection, WithoutTransactionsSectionsStandAlone) {
  elided_lock<syncopate::futex_lock> lock;
  for (int i = 0; i < 3; ++i) {
    const coarse_section merged;
    lock.lock();
    lock.unlock();
    EXPECT_FALSE(lock.is_locked());
  }
  EXPECT_FALSE(section::active());
}

}  // namespace
