// Producers and consumers on a small queue under one elided lock: the three ways to wait on a
// condition in a transaction, by how their sections end. No wake-up is lost: each run ends.
#include <syncopate/elide/condition.h>
#include <syncopate/elide/elided_lock.h>
#include <syncopate/elide/lockset.h>
#include <syncopate/locks/futex_lock.h>
#include <syncopate/locks/tatas_lock.h>

#include <chrono>
#include <mutex>

#include "elision.h"

namespace {

using namespace elision;
namespace elide = syncopate::elide;
using elide::wait_variant;

constexpr unsigned items = 150, room = 4;

template <class Lock, wait_variant Variant>
struct queue {
  alignas(64) Lock lock;
  alignas(64) elide::basic_condition<Variant> not_empty;
  alignas(64) elide::basic_condition<Variant> not_full;
  alignas(64) unsigned long slots[room] = {};
  unsigned long first = 0, last = 0;

  // Both return whether the last part of the section was a transaction, and count the waits.
  bool put(unsigned long item, std::uint64_t& waits) {
    const std::lock_guard hold(lock);
    while (last - first == room) {
      elide::on_commit([&waits] { ++waits; });
      not_full.wait(lock);
    }
    slots[last++ % room] = item;
    not_empty.notify_one();
    return section::active();
  }
  bool take(unsigned long& item, std::uint64_t& waits) {
    const std::lock_guard hold(lock);
    while (last == first) {
      elide::on_commit([&waits] { ++waits; });
      not_empty.wait(lock);
    }
    item = slots[first++ % room];
    not_full.notify_one();
    return section::active();
  }
};

template <class Lock, wait_variant Variant>
std::pair<counts, std::uint64_t> pass_items(const char* name, unsigned pairs) {
  queue<Lock, Variant> q;
  std::vector<unsigned long> sums(2 * pairs);
  std::vector<std::uint64_t> waits(2 * pairs);
  const counts c = run(2 * pairs, [&](unsigned me, counter& count) {
    for (unsigned i = 0; i < items; ++i) {
      if (me % 2 == 0) {
        syncopate::machine::spin(200);  // work on the item, so that consumers have to wait
        count.ended(q.put(i, waits[me]));
      } else {
        unsigned long item = 0;
        count.ended(q.take(item, waits[me]));
        sums[me] += item;
      }
    }
  });
  unsigned long sum = 0;
  for (const unsigned long s : sums) sum += s;
  std::uint64_t waited = 0;
  for (const std::uint64_t n : waits) waited += n;
  assert(sum == pairs * (items * (items - 1) / 2) && q.first == q.last);
  std::printf("%lu waits; ", waited);
  c.print(name);
  return {c, waited};
}

using elided = elide::elided_lock<syncopate::futex_lock>;

void variants(unsigned pairs) {
  const auto [aware, aware_waits] =
      pass_items<elided, wait_variant::transaction_aware>("transaction-aware", pairs);
  const auto [abort, abort_waits] = pass_items<elided, wait_variant::abort>("abort", pairs);
  const auto [busy, busy_waits] = pass_items<elided, wait_variant::busy_wait>("busy-wait", pairs);
  // The first half commits, and so does the signal: none asks for the lock.
  assert(aware_waits != 0 && aware.aborted(abort_code::needs_lock) == 0);
  assert(busy_waits != 0 && busy.aborted(abort_code::needs_lock) == 0);
  // Every section of this program signals, so every one runs under the lock.
  assert(abort_waits != 0 && abort.transactions == 0);
  assert(abort.aborted(abort_code::needs_lock) != 0);
  assert(aware.transactions > aware.sections() / 2);
}

// Waiting in a section within another one: the outer one cannot be committed by half.
void nested_wait() {
  elided outer, inner;
  elide::condition changed;
  bool ready = false;
  const counts c = run(2, [&](unsigned me, counter& count) {
    if (me == 0) {
      const std::lock_guard hold(outer);
      const std::lock_guard also(inner);
      changed.wait(inner, [&] { return ready; });
      assert(outer.is_locked());
      count.ended(section::active());
    } else {
      for (syncopate::machine::spin(2000); !outer.is_locked();) syncopate::machine::spin(100);
      const std::lock_guard hold(inner);
      ready = true;
      changed.notify_all();
      count.ended(section::active());
    }
  });
  c.print("nested wait");
  assert(c.aborted(abort_code::needs_lock) == 1);
}

// A wait in a lockset, with a deadline that passes, and one that does not.
void timed_wait_in_a_lockset() {
  elided a, b;
  elide::condition changed;
  bool ready = false;
  using namespace std::chrono_literals;
  elide::lockset both(a, b);
  both.lock();
  assert(section::active());
  assert(changed.wait_for(both, 10us) == syncopate::cv_status::timed_out);
  assert(section::active());
  both.unlock();
  (void)run(2, [&](unsigned me, counter&) {
    elide::lockset mine(a, b);
    const std::lock_guard hold(mine);
    if (me == 0) {
      assert(
          changed.wait_until(mine, syncopate::machine::after(10'000'000), [&] { return ready; }));
    } else {
      ready = true;
      changed.notify_all();
    }
  });
}

// A plain lock: the same program, without transactions.
void plain_lock() {
  const auto [plain, waits] =
      pass_items<syncopate::futex_lock, wait_variant::transaction_aware>("plain lock", 2);
  assert(waits != 0 && plain.transactions == 0);
}

constexpr check::scenario scenarios[] = {
    {"variants_2_threads", [] { variants(1); }},
    {"variants_4_threads", [] { variants(2); }},
    {"plain_lock", plain_lock},
    {"nested_wait", nested_wait},
    {"timed_wait_in_a_lockset", timed_wait_in_a_lockset},
};

}  // namespace

int main(int argc, char** argv) { return check::main(argc, argv, scenarios); }
