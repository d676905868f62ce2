// lockset_check.cpp -- sets of locks, and locks taken with a prefetch function, under every
// interleaving: sets in conflicting orders do not deadlock, and exclude sets and single locks.
#include <syncopate/elide/elided_lock.h>
#include <syncopate/elide/lockset.h>
#include <syncopate/locks/futex_lock.h>
#include <syncopate/locks/lock_with_prefetch.h>
#include <syncopate/locks/speculating_lock.h>
#include <syncopate/locks/tatas_lock.h>
#include <syncopate/locks/ticket_lock.h>

#include <mutex>

#include "check.h"

namespace {

namespace elide = syncopate::elide;

template <class First, class Second>
struct pair {
  First a;
  Second b;
  int under_a = 0, under_b = 0;
};

template <class First, class Second>
void conflicting_orders() {
  auto* const s = new pair<First, Second>;
  auto forth = [s] {
    const elide::lockset_guard hold(s->a, s->b);
    ++s->under_a, ++s->under_b;
  };
  auto back = [s] {
    const elide::lockset_guard hold(s->b, s->a);
    ++s->under_a, ++s->under_b;
  };
  check::together(forth, back);
  assert(s->under_a == 2 && s->under_b == 2);
  delete s;
}

template <class First, class Second>
void against_single_locks() {
  auto* const s = new pair<First, Second>;
  auto both = [s] {
    const elide::lockset_guard hold(s->b, s->a);
    ++s->under_a, ++s->under_b;
  };
  auto each = [s] {
    s->a.lock();
    ++s->under_a;
    s->a.unlock();
    s->b.lock();
    ++s->under_b;
    s->b.unlock();
  };
  check::together(both, each);
  assert(s->under_a == 2 && s->under_b == 2);
  delete s;
}

void try_takes_all_or_none() {
  using lock = syncopate::futex_lock;
  auto* const s = new pair<lock, lock>;
  bool got = false;
  auto trier = [s, &got] {
    elide::lockset set(s->a, s->b);
    if (!set.try_lock()) return;
    got = true;
    ++s->under_a, ++s->under_b;
    set.unlock();
  };
  auto single = [s] {
    s->b.lock();
    ++s->under_b;
    s->b.unlock();
  };
  check::together(trier, single);
  assert(s->under_a == (got ? 1 : 0) && s->under_b == (got ? 2 : 1));
  assert(!s->a.is_locked() && !s->b.is_locked());
  delete s;
}

void busy_ones_last() {
  using lock = syncopate::futex_lock;
  struct item {
    lock guard;
    int visits = 0;
  };
  auto* const items = new item[2];
  auto visit = [items] {
    (void)elide::visit_free_first(
        std::span(items, 2), [](item& i) -> lock& { return i.guard; }, [](item& i) { ++i.visits; });
  };
  auto also = visit;
  check::together(visit, also);
  assert(items[0].visits == 2 && items[1].visits == 2);
  delete[] items;
}

// Prefetching waits for the lock like lock() does, and excludes like it.
template <class Lock>
void with_prefetch() {
  struct shared {
    Lock lock;
    int value = 0;
  };
  auto* const s = new shared;
  auto prefetching = [s] {
    const auto hold =
        syncopate::locked_with_prefetch(s->lock, [](std::size_t step) { return step < 1; });
    ++s->value;
  };
  auto plain = [s] {
    s->lock.lock();
    ++s->value;
    s->lock.unlock();
  };
  auto again = prefetching;
  check::together(prefetching, plain, again);
  assert(s->value == 3);
  delete s;
}

using elided = elide::elided_lock<syncopate::futex_lock>;
using tatas = syncopate::tatas_lock<>;
using ticket = syncopate::ticket_lock<>;
constexpr check::scenario scenarios[] = {
    {"conflicting_orders", conflicting_orders<tatas, tatas>},
    {"conflicting_orders_mixed", conflicting_orders<ticket, syncopate::futex_lock>},
    {"conflicting_orders_elided", conflicting_orders<elided, elided>},
    {"against_single_locks", against_single_locks<tatas, ticket>},
    {"against_single_locks_elided", against_single_locks<elided, elided>},
    {"try_takes_all_or_none", try_takes_all_or_none},
    {"busy_ones_last", busy_ones_last},
    {"prefetch_tatas", with_prefetch<tatas>},
    {"prefetch_ticket", with_prefetch<ticket>},
    {"prefetch_futex", with_prefetch<syncopate::futex_lock>},
    {"prefetch_speculating", with_prefetch<syncopate::speculating_lock<ticket>>},
};

}  // namespace

int main(int argc, char** argv) { return check::main(argc, argv, scenarios); }
