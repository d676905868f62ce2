// invariants.cpp -- data under elided locks on the simulated machine: nothing is lost, and where
// threads touch different lines, they run at the same time.
#include <syncopate/elide/elided_rwlock.h>
#include <syncopate/locks/all.h>

#include <list>
#include <map>
#include <set>
#include <vector>

#include "scenarios.h"

using namespace scenarios;

namespace {

constexpr unsigned threads = 4;
constexpr int rounds = 400;

struct random_numbers {
  std::uint64_t state;
  std::uint64_t below(std::uint64_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % n;
  }
};

// A load and a store, each time.
void add_one(long& counter) {
  volatile long& seen = counter;
  seen = seen + 1;
}

// Transfers between accounts keep their sum.
template <class Lock>
void bank_under() {
  constexpr unsigned accounts = 64;
  static apart<Lock> lock;
  static apart<long> balance[accounts];
  for (auto& account : balance) account.value = 100;
  run_together(threads, [&](unsigned me) {
    random_numbers random{me + 1};
    for (int i = 0; i < rounds; ++i) {
      const auto from = random.below(accounts), to = random.below(accounts);
      lock.value.lock();
      balance[from].value -= 5;
      balance[to].value += 5;
      lock.value.unlock();
    }
  });
  long sum = 0;
  for (const auto& account : balance) sum += account.value;
  REQUIRE(sum == 100 * long{accounts});
  REQUIRE(!lock.value.is_locked());
}
void bank() { bank_under<plain_elided>(); }
void bank_auto() {
  bank_under<elide::elided_lock<syncopate::auto_lock, elide::policies::adaptive>>();
}
void bank_mcs() { bank_under<elide::elided_lock<syncopate::mcs_lock<syncopate::waits::park>>>(); }
void bank_ticket() { bank_under<elide::elided_lock<syncopate::ticket_lock<>>>(); }
void bank_clh() { bank_under<elide::elided_lock<syncopate::clh_lock<>>>(); }
void bank_one_spinner() { bank_under<elide::elided_lock<syncopate::one_spinner_lock<>>>(); }
void bank_fb_aahtm() {
  bank_under<elide::elided_lock<syncopate::speculative_tatas_lock, elide::policies::htm_10>>();
}
void bank_wait_inside() {
  bank_under<elide::elided_lock<
      fall_back, elide::retry_policy{.attempts = 10, .on_held = elide::when_held::wait_inside}>>();
}

// One counter for all: every increment conflicts.
void one_counter() {
  static apart<plain_elided> lock;
  static apart<long> counter;
  run_together(threads, [](unsigned) {
    for (int i = 0; i < rounds; ++i) {
      lock.value.lock();
      ++counter.value;
      lock.value.unlock();
    }
  });
  REQUIRE(counter.value == long{threads} * rounds);
}

// A counter for each: the time that they take under an elided lock and under a plain one.
template <class Lock>
std::uint64_t time_own_counters() {
  static apart<Lock> lock;
  static apart<long> counters[threads];
  const std::uint64_t took = run_together(threads, [](unsigned me) {
    for (int i = 0; i < rounds; ++i) {
      lock.value.lock();
      for (int k = 0; k < 20; ++k) add_one(counters[me].value);
      lock.value.unlock();
    }
  });
  for (const auto& counter : counters) REQUIRE(counter.value == 20L * rounds);
  return took;
}
void own_counters() {
  tell("elided", static_cast<long>(time_own_counters<plain_elided>()));
  tell("plain", static_cast<long>(time_own_counters<fall_back>()));
}

// A sorted list and a tree with allocation inside the sections.
template <class Container, class Insert, class Erase>
void container(Insert insert, Erase erase) {
  static apart<plain_elided> lock;
  Container data;
  long inserted = 0, erased = 0;
  std::vector<apart<long>> ins(threads), del(threads);
  run_together(threads, [&](unsigned me) {
    random_numbers random{me + 7};
    for (int i = 0; i < rounds / 4; ++i) {
      const int key = static_cast<int>(random.below(64));
      lock.value.lock();
      if (random.below(2) == 0) ins[me].value += insert(data, key);
      else del[me].value += erase(data, key);
      lock.value.unlock();
    }
  });
  for (unsigned i = 0; i < threads; ++i) inserted += ins[i].value, erased += del[i].value;
  REQUIRE(static_cast<long>(data.size()) == inserted - erased);
  int last = -1;
  for (const int key : data) {
    REQUIRE(key > last);
    last = key;
  }
}
void list() {
  container<std::list<int>>(
      [](std::list<int>& l, int key) {
        auto at = l.begin();
        while (at != l.end() && *at < key) ++at;
        if (at != l.end() && *at == key) return 0;
        l.insert(at, key);
        return 1;
      },
      [](std::list<int>& l, int key) {
        for (auto at = l.begin(); at != l.end() && *at <= key; ++at)
          if (*at == key) return l.erase(at), 1;
        return 0;
      });
}
void tree() {
  container<std::set<int>>(
      [](std::set<int>& s, int key) { return s.insert(key).second ? 1 : 0; },
      [](std::set<int>& s, int key) { return static_cast<int>(s.erase(key)); });
}

// Readers find two halves equal that writers change together; readers run beside readers.
void rwlock() {
  static apart<elide::elided_rwlock<>> lock;
  static apart<long> halves[2];
  static std::atomic<long> torn{0};
  run_together(threads, [](unsigned me) {
    for (int i = 0; i < rounds; ++i) {
      if (me == 0 && i % 4 == 0) {
        lock.value.lock();
        ++halves[0].value;
        ++halves[1].value;
        lock.value.unlock();
      } else {
        lock.value.lock_shared();
        lock.value.lock_shared();  // recursive
        if (halves[0].value != halves[1].value) ++torn;
        lock.value.unlock_shared();
        lock.value.unlock_shared();
      }
    }
  });
  REQUIRE(torn == 0);
  REQUIRE(halves[0].value == rounds / 4);
  REQUIRE(!lock.value.is_locked());
}

constexpr scenario all[] = {
    {"bank", bank},
    {"bank_auto", bank_auto},
    {"bank_mcs", bank_mcs},
    {"bank_ticket", bank_ticket},
    {"bank_clh", bank_clh},
    {"bank_one_spinner", bank_one_spinner},
    {"bank_fb_aahtm", bank_fb_aahtm},
    {"bank_wait_inside", bank_wait_inside},
    {"one_counter", one_counter},
    {"own_counters", own_counters},
    {"list", list},
    {"tree", tree},
    {"rwlock", rwlock},
};

}  // namespace

int main(int argc, char** argv) { return scenarios::main(argc, argv, all); }
