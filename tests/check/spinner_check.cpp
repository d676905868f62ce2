// spinner_check.cpp -- who spins on auto_lock: one newcomer at most is announced and learns, and
// nobody spins while the holder cannot run. And who is woken while the one that was called is late.
#include <syncopate/locks/auto/spinner_slot.h>
#include <syncopate/locks/auto_lock.h>

#include <atomic>

#include "lock_scenarios.h"

namespace {

using syncopate::auto_lock;
using syncopate::spin_tuning;
using syncopate::auto_parts::spinner_slot;

// What auto_lock keeps to itself: access is not checked in an explicit instantiation.
spinner_slot& spinner_of(auto_lock&);
template <auto Spinner>
struct exposed {
  friend spinner_slot& spinner_of(auto_lock& lock) { return lock.*Spinner; }
};
template struct exposed<&auto_lock::spinner_>;

using syncopate::auto_parts::sleeper_queue;
using syncopate::auto_parts::successor_slot;
sleeper_queue& queue_of(auto_lock&);
successor_slot& slot_of(auto_lock&);
template <auto Queue, auto Slot>
struct exposed_waiters {
  friend sleeper_queue& queue_of(auto_lock& lock) { return lock.*Queue; }
  friend successor_slot& slot_of(auto_lock& lock) { return lock.*Slot; }
};
template struct exposed_waiters<&auto_lock::queue_, &auto_lock::successor_>;

struct counted {
  spinner_slot slot;
  std::atomic<int> spinners{0};
};

// Nobody is announced while another one is; and the tuning is that of the one before.
void announce_once(counted& s) {
  spin_tuning learned;
  if (!s.slot.announce(learned)) return;
  const int others = s.spinners.fetch_add(1, std::memory_order_relaxed);
  assert(others == 0);
  s.spinners.fetch_sub(1, std::memory_order_relaxed);
  s.slot.withdraw({learned.budget + 1, learned.pace});
}

void one_spinner() {
  auto* const s = new counted;
  auto twice = [s] { announce_once(*s), announce_once(*s); };
  auto other = twice;
  check::together(twice, other);
  spin_tuning learned;
  assert(s->slot.announce(learned));  // the last one has withdrawn
  assert(learned.budget >= 2 && learned.budget <= 4);
  delete s;
}

void one_spinner_of_three() {
  auto* const s = new counted;
  auto once = [s] { announce_once(*s); };
  auto second = once, third = once;
  check::together(once, second, third);
  spin_tuning learned;
  assert(s->slot.announce(learned));
  assert(learned.budget >= 1 && learned.budget <= 3);
  delete s;
}

// Threads that do nothing, so that the next one gets the processor of the calling thread.
void pass_over_the_other_processors() {
  const unsigned here = syncopate::machine::processor();
  for (bool is_next = false; !is_next;) {
    auto looks = [&is_next, here] {
      is_next = (syncopate::machine::processor() + 1) % syncopate::machine::processors() == here;
    };
    auto nothing = [] {};
    check::together(looks, nothing);
  }
}

// A waiter on the holder's processor goes to sleep at once: whoever spins leaves what it learned.
void sleeps_on_the_processor_of_the_holder() {
  auto* const s = new check::shared<auto_lock>;
  pass_over_the_other_processors();
  s->lock.lock();
  auto waits = [s] { check::section(*s); };
  auto holds = [s] {
    ++s->value;
    s->lock.unlock();
  };
  check::together(waits, holds);
  assert(s->value == 2);
  assert(spinner_of(s->lock).tuning() == spin_tuning::from_bits(0));
  delete s;
}

// A section beside a holder, while a sleeper that was called at `called_at` does not come before
// all others are done. Nobody is left behind, and the late one finds no trace.
template <class Hold>
void beside_a_late_one(std::uint64_t called_at, Hold hold) {
  auto* const s = new check::shared<auto_lock>;
  s->lock.lock();
  queue_of(s->lock).join();
  successor_slot::state seen = slot_of(s->lock).look();
  slot_of(s->lock).call(seen, called_at);
  auto waits = [s] { check::section(*s); };
  auto holds = [s, hold] {
    hold(s->lock);
    ++s->value;
    s->lock.unlock();
  };
  check::together(waits, holds);
  assert(s->value == 2);
  queue_of(s->lock).leave();
  slot_of(s->lock).uncall();
  check::check_at_rest(s->lock);
  delete s;
}

// A holder that finds much time gone calls the other sleeper.
void one_that_was_called_is_late() {
  beside_a_late_one(0, [](auto_lock&) {
    for (int i = 1; i < 16; ++i)
      (void)syncopate::machine::now_and_then(16);  // the next one is true
  });
}

// A newcomer spins though a called waiter is late; if it slept, its processor might be idle. The
// holder keeps the lock until it does.
void spins_beside_a_late_one_on_two_processors() {
  beside_a_late_one(syncopate::machine::ticks() - (1u << 25), [](auto_lock& lock) {
    while (!spinner_of(lock).was_used()) syncopate::machine::relax();
  });
}

constexpr check::scenario scenarios[] = {
    {"one_that_was_called_is_late", one_that_was_called_is_late},
    {"spins_beside_a_late_one_on_two_processors", spins_beside_a_late_one_on_two_processors},
    {"one_spinner", one_spinner},
    {"one_spinner_of_three", one_spinner_of_three},
    {"sleeps_on_the_processor_of_the_holder", sleeps_on_the_processor_of_the_holder},
};

}  // namespace

// As scenarios of the lock `auto`: its name comes first.
int main(int argc, char** argv) {
  for (const check::scenario& s : scenarios) {
    if (argc < 3) std::printf("auto %.*s\n", static_cast<int>(s.name.size()), s.name.data());
    else if (s.name == argv[2]) return s.run(), 0;
  }
  return argc < 3 ? 0 : 2;
}
