// auto_parts_check.cpp -- the parts of auto_lock, each by itself: its word, its queue of sleepers,
// and the slot of the successor. (The spinners' part: spinner_check.cpp.)
#include <syncopate/locks/auto/lock_word.h>
#include <syncopate/locks/auto/sleeper_queue.h>
#include <syncopate/locks/auto/successor_slot.h>
#include <syncopate/machine.h>

#include <string_view>

#include "check.h"

namespace {

using namespace syncopate::auto_parts;
namespace machine = syncopate::machine;

// ---- the word: with a futex of the simplest kind it is glibc's mutex ----------------------------

struct plain_mutex {
  lock_word word;
  int value = 0;  // guarded by word

  void section() {
    if (!word.take(lock_word::held)) {
      while (!word.take_or_mark()) machine::park(word.futex(), lock_word::held_sleepers);
    }
    ++value;
    leave();
  }
  void leave() {
    const void* const futex = word.futex();
    if (word.release_held()) return;
    int prepared = 0;
    const bool wakes = word.release([&prepared] { ++prepared; });
    assert(wakes && prepared == 1);
    machine::wake(futex, 1);
  }
};

void word_two_threads() {
  auto* const m = new plain_mutex;
  auto twice = [m] { m->section(), m->section(); };
  auto once = [m] { m->section(); };
  check::together(twice, once);
  assert(m->value == 3 && m->word.is_free());
  delete m;
}

void word_three_threads() {
  auto* const m = new plain_mutex;
  auto a = [m] { m->section(); };
  auto b = a, c = a;
  check::together(a, b, c);
  assert(m->value == 3 && m->word.is_free());
  delete m;
}

// Whoever leaves last frees the word at once.
void word_destroy_after_release() {
  auto* const m = new plain_mutex;
  auto leave = [m] {
    if (!m->word.take(lock_word::held))
      while (!m->word.take_or_mark()) machine::park(m->word.futex(), lock_word::held_sleepers);
    const bool last = ++m->value == 2;
    m->leave();
    if (last) delete m;
  };
  auto other = leave;
  check::together(leave, other);
}

// ---- the queue: nobody who has joined is left behind --------------------------------------------

struct gate {
  sleeper_queue queue;
  std::atomic<int> is_open{0};

  // Sleeps once, until anything happens to the queue; not where the gate is open.
  void wait() {
    const sleeper_queue::ticket mine = queue.join();
    if (is_open.load(std::memory_order_relaxed) == 0) (void)queue.sleep(mine, nullptr);
    queue.leave();
  }
  void open(int sleepers) {
    is_open.store(1, std::memory_order_relaxed);
    const sleeper_queue::ticket seen = queue.announce_wake();
    if (sleeper_queue::counts_sleepers(seen)) machine::wake(queue.futex(), sleepers);
  }
};

void queue_one_sleeper() {
  auto* const g = new gate;
  auto sleeper = [g] { g->wait(); };
  auto opener = [g] { g->open(1); };
  check::together(sleeper, opener);
  assert(!g->queue.has_sleepers() && g->queue.was_used());
  delete g;
}

void queue_two_sleepers() {
  auto* const g = new gate;
  auto sleeper = [g] { g->wait(); };
  auto another = sleeper;
  auto opener = [g] { g->open(2); };
  check::together(sleeper, another, opener);
  assert(!g->queue.has_sleepers());
  delete g;
}

// ---- the slot -----------------------------------------------------------------------------------

// Of those who want the slot one at most has it, called or not.
void slot_one_successor() {
  struct contended_slot {
    successor_slot slot;
    std::atomic<int> successors{0};
  };
  auto* const s = new contended_slot;
  auto occupies = [s] {
    successor_slot::state before;
    if (!s->slot.occupy(before)) return;
    const int others = s->successors.fetch_add(1, std::memory_order_relaxed);
    assert(others == 0);
    s->successors.fetch_sub(1, std::memory_order_relaxed);
    s->slot.leave(0);
  };
  auto another = occupies;
  auto calls = [s] {
    successor_slot::state seen = s->slot.look();
    if (successor_slot::role_of(seen) == successor_slot::nobody) s->slot.call(seen, 0);
    seen = s->slot.look();
    if (successor_slot::role_of(seen) == successor_slot::called) s->slot.call(seen, 1u << 20);
    s->slot.uncall();
  };
  check::together(occupies, another, calls);
  assert(!s->slot.is_taken());
  delete s;
}

struct inheritance {
  successor_slot slot;
  successor_slot::state waiting = 0;
  int value = 0;  // of whoever has the lock: the holder, and behind a grant the successor
  bool granted = false, has_lock = false;

  inheritance() {
    const bool sat = slot.occupy(waiting);
    assert(sat);
  }
  void hand_over_if_due() {
    ++value;
    successor_slot::state seen = slot.look();
    while (!granted && successor_slot::role_of(seen) >= successor_slot::due)
      granted = slot.grant(seen, 0);
    if (granted && successor_slot::role_of(seen) == successor_slot::due_asleep)
      machine::wake(slot.futex(), 1);
  }
  void succeed() {
    has_lock = true;
    ++value;
    slot.leave(0);
  }
};

// What the holder did is seen by a successor that polls.
void slot_grant_seen() {
  auto* const i = new inheritance;
  auto successor = [i] {
    i->slot.become_due(i->waiting);
    if (i->slot.is_granted()) i->succeed();
  };
  auto holder = [i] { i->hand_over_if_due(); };
  check::together(successor, holder);
  assert(i->granted || !i->has_lock);
  assert(i->value == (i->has_lock ? 2 : 1));
  delete i;
}

// A successor that sleeps, and whose time is up, has the lock exactly when it was granted.
void slot_grant_or_time_out() {
  auto* const i = new inheritance;
  auto successor = [i] {
    i->slot.become_due(i->waiting);
    successor_slot::state asleep;
    if (!i->slot.fall_asleep(asleep)) {
      assert(i->slot.is_granted());
      return i->succeed();
    }
    for (;;) {
      const machine::deadline soon = machine::after(1000);
      const bool is_late = i->slot.sleep(asleep, &soon) == machine::park_result::timed_out;
      if (i->slot.is_granted()) return i->succeed();
      if (is_late && i->slot.leave_unless_granted(asleep)) return;
    }
  };
  auto holder = [i] { i->hand_over_if_due(); };
  check::together(successor, holder);
  assert(i->has_lock == i->granted && !i->slot.is_taken());
  assert(i->value == (i->has_lock ? 2 : 1));
  delete i;
}

constexpr check::scenario word_scenarios[] = {
    {"two_threads", word_two_threads},
    {"three_threads", word_three_threads},
    {"destroy_after_release", word_destroy_after_release},
};
constexpr check::scenario queue_scenarios[] = {
    {"one_sleeper", queue_one_sleeper},
    {"two_sleepers", queue_two_sleepers},
};
constexpr check::scenario slot_scenarios[] = {
    {"one_successor", slot_one_successor},
    {"grant_seen", slot_grant_seen},
    {"grant_or_time_out", slot_grant_or_time_out},
};

}  // namespace

int main(int argc, char** argv) {
  int status = argc < 3 ? 0 : 2;
  const auto part = [&](const char* name, const auto& scenarios) {
    for (const check::scenario& s : scenarios) {
      if (argc < 3) std::printf("%s %.*s\n", name, static_cast<int>(s.name.size()), s.name.data());
      else if (std::string_view(argv[1]) == name && s.name == argv[2]) s.run(), status = 0;
    }
  };
  part("auto_word", word_scenarios);
  part("auto_queue", queue_scenarios);
  part("auto_slot", slot_scenarios);
  return status;
}
