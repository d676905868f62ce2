// fork_join_check.cpp -- regions of a master and its members under every interleaving: the members
// see what the master did before, the master what they did; nobody misses a start, an end or a
// call.
#include <syncopate/barriers/fork_join.h>

#include <atomic>

#include "check.h"

namespace {

constexpr unsigned most = 2;
constexpr auto never = [] { return false; };

struct work {
  int value = 0;  // 0: end
};

struct shared {
  explicit shared(unsigned members) : meeting(members), members(members) {}
  syncopate::fork_join<work> meeting;
  const unsigned members;
  int before = 0;    // the master's, read by the members
  int done[most]{};  // each written by one member, read by the master
  std::atomic<bool> called{false};
  int calls = 0;
};

void work_on(shared& s, unsigned member) {
  for (std::uint64_t number = 1;; ++number) {
    const work* const what = s.meeting.next(number, never);
    assert(what != nullptr);
    if (what->value == 0) return;
    assert(s.before == what->value);
    s.done[member] = what->value;
    s.meeting.arrive(number);
  }
}

void lead(shared& s, int regions) {
  for (int r = 1; r <= regions; ++r) {
    s.before = r;
    s.meeting.fork({r});
    s.meeting.join(never);
    for (unsigned m = 0; m < s.members; ++m) assert(s.done[m] == r);
    s.meeting.check_invariants();
  }
  s.meeting.fork({});
}

void one_member() {
  auto* const s = new shared(1);
  auto member = [s] { work_on(*s, 0); };
  auto master = [s] { lead(*s, 3); };
  check::together(member, master);
  delete s;
}

void two_members() {
  auto* const s = new shared(2);
  auto first = [s] { work_on(*s, 0); };
  auto second = [s] { work_on(*s, 1); };
  auto master = [s] { lead(*s, 1); };
  check::together(first, second, master);
  delete s;
}

// One of the members has something for all, before it arrives: master and members leave their
// waits.
void called(unsigned members) {
  auto* const s = new shared(members);
  const auto is_called = [s] { return s->called.load(std::memory_order_acquire); };
  const auto work_once = [s, is_called](unsigned member) {
    const work* const what = s->meeting.next(1, never);
    assert(what->value == 1);
    if (member == 0) {
      s->calls = 1;
      s->called.store(true, std::memory_order_release);
      s->meeting.wake_called();
    } else {
      s->meeting.arrive(1);
      assert(s->meeting.next(2, is_called) == nullptr && s->calls == 1);
    }
  };
  auto first = [work_once] { work_once(0); };
  auto second = [work_once] { work_once(1); };
  auto master = [s, is_called] {
    s->meeting.fork({1});
    s->meeting.join(is_called);
    assert(is_called() && s->calls == 1);
  };
  if (members == 1) check::together(first, master);
  else check::together(first, second, master);
  delete s;
}

void one_calls() { called(1); }
void one_of_two_calls() { called(2); }

// A member is called away as a region begins: it gets all of the region's work, or none.
void called_as_it_begins() {
  auto* const s = new shared(1);
  auto member = [s] {
    const auto is_called = [s] { return s->called.load(std::memory_order_relaxed); };
    const work* const what = s->meeting.next(1, is_called);
    if (what == nullptr) {
      assert(is_called());
      return;
    }
    assert(what->value == 1 && s->before == 1);
    s->meeting.arrive(1);
  };
  auto master = [s] {
    s->before = 1;
    s->meeting.fork({1});
  };
  auto caller = [s] {
    s->called.store(true, std::memory_order_relaxed);
    s->meeting.wake_called();
  };
  check::together(member, master, caller);
  delete s;
}

constexpr check::scenario scenarios[] = {
    {"one_member", one_member},
    {"two_members", two_members},
    {"one_calls", one_calls},
    {"one_of_two_calls", one_of_two_calls},
    {"called_as_it_begins", called_as_it_begins},
};

}  // namespace

int main(int argc, char** argv) { return check::main(argc, argv, scenarios); }
