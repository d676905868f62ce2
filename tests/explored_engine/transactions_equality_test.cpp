// A search that takes transactions for one step each finds what every interleaving finds.
#include <gtest/gtest.h>

#include <random>

#include "model.h"

namespace {
using namespace model;
using htm::mode;

struct access {
  int what, variable, target;
  std::memory_order order;
};
struct part {  // of a thread: one access, or a transaction
  bool transaction, aborts;
  std::vector<access> all;
};

// In a transaction that never commits.
void speculate(var& v, int n) {
  if (!begin(mode::always_abort).started()) return;
  v.store(n, rlx);
  if (n % 2 == 0) commit();
  else abort(2);
}

// `seen` gathers what the thread has read, also in transactions that abort: r is not rolled back.
void make(const access& i, int& seen) {
  var& v = i.variable == 0 ? x : i.variable == 1 ? y : z;
  const bool sc_only = i.order == sc;
  const auto note = [&](int value) { seen = seen * 31 + value + 1; };
  switch (i.what) {
    case 0: note(v.load(sc_only ? sc : i.order == rlx ? rlx : acq)); break;
    case 1: v.store(i.target + 1, sc_only ? sc : i.order == rlx ? rlx : rel); break;
    case 2: note(v.add(10, i.order)); break;
    case 3: note(v.cas(0, i.target + 1, i.order, sc_only ? sc : rlx)); break;
    case 4:
      if (on->in_transaction() && v.load(rlx) != 0) abort(5);
      if (!on->in_transaction()) fence(sc);
      break;
    case 5: z.await(1, acq); break;
    case 6:
      while (z.load(acq) != 1) z.park(0);
      break;
    case 7:
      while (z.load(acq) != 1) relax();
      break;
    case 8: speculate(v, i.target); break;
  }
}

void perform(const std::vector<part>& thread, int& seen) {
  for (const part& p : thread) {
    if (!p.transaction) {
      for (const access& i : p.all) make(i, seen);
      continue;
    }
    const htm::status s = begin();
    if (s.started()) {
      for (const access& i : p.all) make(i, seen);
      if (p.aborts) abort(9);
      commit();
    } else {
      seen = 100 * seen + 10 * static_cast<int>(s.why) + s.code;
    }
  }
}

std::string text(const std::vector<std::vector<part>>& program) {
  static const char* const names[] = {"load",      "store",          "add",
                                      "cas",       "fence or abort", "await z",
                                      "park on z", "spin on z",      "speculate"};
  std::string all;
  for (const auto& thread : program) {
    for (const part& p : thread) {
      if (p.transaction) all += "{ ";
      for (const access& i : p.all)
        all += std::string(names[i.what]) + " v" + std::to_string(i.variable) + " #" +
               std::to_string(i.target) + " " + syncopate::explored::name(i.order) + "; ";
      if (p.transaction) all += p.aborts ? "abort } " : "} ";
    }
    all += "|| ";
  }
  return all;
}

class RandomTransactions : public testing::TestWithParam<int> {};

TEST_P(RandomTransactions, reduced_search_equals_enumeration) {
  constexpr std::memory_order orders[] = {rlx, acq_rel, sc};
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  int compared = 0;
  for (int n = 0; n < 40; ++n) {
    const std::size_t threads = 2 + random() % 2;
    // Half of them: the first thread stores to z at its end, others wait for that.
    const bool waits = n % 4 >= 2;
    const unsigned variables = waits ? 2 : 3;
    std::vector<std::vector<part>> program(threads);
    int target = 0;
    const int values = n % 8 >= 4 ? 2 : 100;  // few: several messages have the same
    for (auto& thread : program)
      for (std::size_t k = threads == 2 ? 2 + random() % 2 : 1 + random() % 2; k > 0; --k) {
        part p{random() % 2 == 0, random() % 8 == 0, {}};
        for (std::size_t many = p.transaction ? 1 + random() % 3 : 1; many > 0; --many)
          p.all.push_back({static_cast<int>(random() % 5), static_cast<int>(random() % variables),
                           target++ % values, orders[random() % 3]});
        if (!p.transaction && random() % 8 == 0) p.all[0].what = 8;
        thread.push_back(p);
      }
    if (waits) {
      program[0].push_back({random() % 2 == 0, false, {{1, 2, 0, rel}}});
      program[1].push_back(
          {random() % 4 == 0, false, {{5 + static_cast<int>(random() % 3), 0, 0, acq}}});
      program[1].push_back({false, false, {{0, static_cast<int>(random() % 2), 0, rlx}}});
    }
    std::vector<body> bodies;
    for (const auto& thread : program)
      bodies.push_back([&thread, me = bodies.size(), waits] {
        perform(thread, r[me]);
        if (me != 0 || !waits) return;
        if (z.load(rlx) != 1) z.store(1, rel);  // the transaction has aborted
        z.wake(99);
      });
    const char* const extent =
        n % 2 == 0 ? "jumps=0,spurious=0,aborts=0" : "jumps=0,spurious=0,aborts=1";
    const found reduced = explore(bodies, with(extent));
    const std::string every = std::string(extent) + ",every_order=1,executions=20000";
    const found all = explore(bodies, with(every.c_str()));
    ASSERT_EQ(reduced.how.how, result::passed) << text(program) << reduced.how.what.text;
    if (all.how.how == result::bounded) continue;  // too many orders to compare with
    ++compared;
    ASSERT_EQ(all.how.how, result::passed) << text(program) << all.how.what.text;
    ASSERT_EQ(reduced.outcomes, all.outcomes) << text(program);
    ASSERT_LE(reduced.how.executions, all.how.executions) << text(program);
  }
  EXPECT_GE(compared, 20);
}
INSTANTIATE_TEST_SUITE_P(Seeds, RandomTransactions, testing::Range(0, 6));

}  // namespace
