// spinner_check.cpp -- who spins on auto_lock: one newcomer at most is announced and learns, and
// nobody spins while the holder cannot run.
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

constexpr check::scenario scenarios[] = {
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
