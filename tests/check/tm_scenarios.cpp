// tm_scenarios.cpp -- every algorithm of the transactional memory under every interleaving: what is
// read inside of transactions belongs together, also in those that will not commit; nothing written
// is lost; memory that a transaction made private is its own; and everybody comes to an end.
//
// SYNCOPATE_TM names the algorithm. Assertions in a body are executed by doomed transactions,
// too. Accesses outside of transactions that doomed ones may overlap with are relaxed atomic ones.
#include <syncopate/tm/atomically.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "check.h"

extern "C" void _ITM_changeTransactionMode(int);
// No scenario forks; and the C library's list of handlers would grow from execution to execution.
extern "C" int pthread_atfork(void (*)(), void (*)(), void (*)()) noexcept { return 0; }

namespace {

namespace stm = syncopate::tm;

// In a record of its own.
struct alignas(64) variable : stm::var<std::uint64_t> {
  [[nodiscard]] std::uint64_t peek() {
    return std::atomic_ref(const_cast<std::uint64_t&>(unsafe_get()))
        .load(std::memory_order_relaxed);
  }
  void poke(std::uint64_t value) {
    std::atomic_ref(const_cast<std::uint64_t&>(unsafe_get()))
        .store(value, std::memory_order_relaxed);
  }
};

struct shared {
  variable x, y, is_public;
  std::uint64_t plain = 0;
};

void add(variable& v, stm::tx& t, std::uint64_t n) { v.set(t, v.get(t) + n); }

// Runs them at once, the last on the calling thread. That has its descriptor by then, so that the
// search has less to do with the making of descriptors.
template <class... Functions>
void together(Functions&... functions) {
  stm::atomically([](stm::tx&) {});
  check::together(functions...);
}

// No lost update.
void lost_update() {
  auto* const s = new shared;
  auto one = [s] { stm::atomically([s](stm::tx& t) { add(s->x, t, 1); }); };
  auto other = one;
  together(one, other);
  assert(s->x.unsafe_get() == 2);
  delete s;
}

// The same while one of the two cannot roll back.
void beside_irrevocable() {
  auto* const s = new shared;
  auto alone = [s] {
    stm::atomically([s](stm::tx& t) {
      _ITM_changeTransactionMode(0);
      add(s->x, t, 1);
    });
  };
  auto other = [s] { stm::atomically([s](stm::tx& t) { add(s->x, t, 1); }); };
  together(alone, other);
  assert(s->x.unsafe_get() == 2);
  delete s;
}

void sees_both_alike(shared* s) {
  stm::atomically([s](stm::tx& t) {
    const std::uint64_t x = s->x.get(t);
    assert(x == s->y.get(t));
    assert(x == s->x.get(t));
  });
}

// Opacity: even a transaction that will not commit sees one state of memory.
void opacity() {
  auto* const s = new shared;
  auto writes = [s] {
    stm::atomically([s](stm::tx& t) {
      s->x.set(t, 1);
      s->y.set(t, 1);
    });
  };
  auto reads = [s] { sees_both_alike(s); };
  together(writes, reads);
  delete s;
}

// The same for one that writes, and so validates when it commits.
void opacity_of_writer() {
  auto* const s = new shared;
  auto writes = [s] {
    stm::atomically([s](stm::tx& t) {
      add(s->x, t, 1);
      add(s->y, t, 1);
    });
  };
  auto both = [s] {
    stm::atomically([s](stm::tx& t) {
      const std::uint64_t x = s->x.get(t);
      assert(x == s->y.get(t));
      s->y.set(t, x + 1);
      s->x.set(t, x + 1);
    });
  };
  together(writes, both);
  assert(s->x.unsafe_get() == 2 && s->y.unsafe_get() == 2);
  delete s;
}

// Each reads what the other writes: one of them comes first. In opposite order, so that two who
// lock wait for each other.
void write_skew() {
  auto* const s = new shared;
  auto left = [s] {
    stm::atomically([s](stm::tx& t) {
      if (s->y.get(t) == 0) s->x.set(t, 1);
    });
  };
  auto right = [s] {
    stm::atomically([s](stm::tx& t) {
      if (s->x.get(t) == 0) s->y.set(t, 1);
    });
  };
  together(left, right);
  assert(s->x.unsafe_get() + s->y.unsafe_get() == 1);
  delete s;
}

// Who has taken memory out of what is shared may use it plainly: nobody writes it later, and nobody
// takes what he finds there for a state of shared memory.
void privatization() {
  auto* const s = new shared;
  s->is_public.unsafe_set(1);
  auto takes = [s] {
    stm::atomically([s](stm::tx& t) { s->is_public.set(t, 0); });
    const std::uint64_t before = s->x.peek();
    assert(before == s->y.peek());
    s->x.poke(before + 10);
    s->y.poke(before + 10);
    assert(s->x.peek() == before + 10);
  };
  auto uses = [s] {
    stm::atomically([s](stm::tx& t) {
      if (s->is_public.get(t) == 0) return;
      const std::uint64_t x = s->x.get(t);
      s->x.set(t, x + 1);
      assert(x == s->y.get(t));
      s->y.set(t, x + 1);
    });
  };
  together(takes, uses);
  const std::uint64_t x = s->x.unsafe_get();
  assert(x == s->y.unsafe_get() && (x == 10 || x == 11));
  delete s;
}

// What was written plainly before a transaction made it public is there for all who find it so.
void publication() {
  auto* const s = new shared;
  auto makes = [s] {
    s->plain = 7;
    stm::atomically([s](stm::tx& t) { s->is_public.set(t, 1); });
  };
  auto uses = [s] {
    std::uint64_t is_public = 0;
    stm::atomically([&](stm::tx& t) { is_public = s->is_public.get(t); });
    if (is_public != 0) assert(s->plain == 7);
  };
  together(makes, uses);
  delete s;
}

// A long transaction among short ones that write what it reads, in the opposite order: after eight
// failures it runs alone. Under two_phase, it gives way to each other thread once, and then it is
// the oldest.
void starvation() {
  const char* const algorithm = std::getenv("SYNCOPATE_TM");
  const bool is_fair = algorithm != nullptr && std::strcmp(algorithm, "two_phase") == 0;
  constexpr int rounds = 3;
  auto* const s = new shared;
  int attempts = 0;
  auto is_long = [&] {
    stm::atomically([&](stm::tx& t) {
      ++attempts;
      s->plain = s->x.get(t) + s->y.get(t);
      add(s->y, t, 1);
    });
  };
  auto are_short = [s] {
    for (int i = 0; i < rounds; ++i)
      stm::atomically([s](stm::tx& t) {
        add(s->y, t, 1);
        add(s->x, t, 1);
      });
  };
  together(is_long, are_short);
  assert(attempts <= (is_fair ? 2 : 9));
  assert(s->x.unsafe_get() == rounds && s->y.unsafe_get() == rounds + 1);
  delete s;
}

// A local of a function that is older than the transaction, which another thread learns of.
void older_stack() {
  auto* const s = new shared;
  variable local;
  auto owns = [&] {
    stm::atomically([&](stm::tx& t) { local.set(t, 1); });  // may write in place from now on
    stm::atomically([&](stm::tx& t) {
      s->is_public.set(t, reinterpret_cast<std::uintptr_t>(&local));
      s->x.set(t, 1);
    });
    stm::atomically([&](stm::tx& t) {
      local.set(t, 2);
      s->x.set(t, 2);
    });
  };
  auto looks = [s] {
    stm::atomically([s](stm::tx& t) {
      auto* const known = reinterpret_cast<variable*>(s->is_public.get(t));
      if (known != nullptr) assert(s->x.get(t) == known->get(t));
    });
  };
  together(looks, owns);  // the owner on this stack
  delete s;
}

// A transaction that runs in hardware where SYNCOPATE_TM says so. One place: a thread learns how
// soon the transactions of each one write.
[[gnu::noinline]] void add_to_both(shared* s) {
  constexpr std::uint32_t both_codes = 3, has_no_abort = 8, run_instrumented = 1;
  if (_ITM_beginTransaction(both_codes | has_no_abort) & run_instrumented) {
    for (variable* v : {&s->x, &s->y}) {
      auto* const bits = const_cast<std::uint64_t*>(&v->unsafe_get());
      _ITM_WU8(bits, _ITM_RU8(bits) + 1);
    }
  } else {
    s->x.poke(s->x.peek() + 1);
    s->y.poke(s->y.peek() + 1);
  }
  _ITM_commitTransaction();
}

void both_in_hardware() {
  auto* const s = new shared;
  auto one = [s] { add_to_both(s); };
  auto other = one;
  together(one, other);
  assert(s->x.unsafe_get() == 2 && s->y.unsafe_get() == 2);
  delete s;
}

// Such ones, and the library form beside them. (That asks for code that tells of each access, so it
// never runs in hardware itself.)
void beside_a_writer(int count) {
  auto* const s = new shared;
  auto plain = [s, count] {
    for (int i = 0; i < count; ++i) add_to_both(s);
  };
  auto other = [s] {
    stm::atomically([s](stm::tx& t) {
      const std::uint64_t x = s->x.get(t);
      assert(x == s->y.get(t));
      s->x.set(t, x + 1);
      s->y.set(t, x + 1);
    });
  };
  together(plain, other);
  const auto all = static_cast<std::uint64_t>(count) + 1;
  assert(s->x.unsafe_get() == all && s->y.unsafe_get() == all);
  delete s;
}

void beside_hardware() { beside_a_writer(1); }

// The second one may write from its beginning (eager_norec), since the first has written soon:
// beside one that reads, and beside one that writes what it has read.
void at_once_beside_reader() {
  auto* const s = new shared;
  auto writes = [s] {
    for (int i = 0; i < 2; ++i) add_to_both(s);
  };
  auto reads = [s] { sees_both_alike(s); };
  together(writes, reads);
  assert(s->x.unsafe_get() == 2 && s->y.unsafe_get() == 2);
  delete s;
}

void at_once_beside_writer() { beside_a_writer(2); }

// And just after one that has written, before that thread goes on to read.
void at_once_after_writer() {
  auto* const s = new shared;
  add_to_both(s);
  auto writes_and_reads = [s] {
    add_to_both(s);
    sees_both_alike(s);
  };
  auto writes = [s] { add_to_both(s); };
  together(writes_and_reads, writes);
  assert(s->x.unsafe_get() == 3 && s->y.unsafe_get() == 3);
  delete s;
}

// ---- three threads: their names begin with "three_", and only the long tests run them

// No lost update, whoever waits for whom.
void three_updates() {
  auto* const s = new shared;
  auto one = [s] { stm::atomically([s](stm::tx& t) { add(s->x, t, 1); }); };
  auto second = one, third = one;
  together(one, second, third);
  assert(s->x.unsafe_get() == 3);
  delete s;
}

// Each sets its own variable if the next one's is not set, in a ring: one comes first, and its
// neighbor must see it. Two can be set at most, and they are not neighbors in a ring of three.
void three_in_a_ring() {
  struct ring {
    variable at[3];
  };
  auto* const r = new ring;
  auto set_own = [r](int own) {
    stm::atomically([r, own](stm::tx& t) {
      if (r->at[(own + 1) % 3].get(t) == 0) r->at[own].set(t, 1);
    });
  };
  auto first = [&] { set_own(0); };
  auto second = [&] { set_own(1); };
  auto third = [&] { set_own(2); };
  together(first, second, third);
  std::uint64_t sum = 0;
  for (variable& v : r->at) sum += v.unsafe_get();
  assert(sum == 1 || sum == 2);
  delete r;
}

// Two write x and y alike, one of them alone; the third sees one state, doomed or not.
void three_with_opacity() {
  auto* const s = new shared;
  auto writes = [s](bool alone) {
    stm::atomically([s, alone](stm::tx& t) {
      if (alone) _ITM_changeTransactionMode(0);
      add(s->x, t, 1);
      add(s->y, t, 1);
    });
  };
  auto beside = [&] { writes(false); };
  auto alone = [&] { writes(true); };
  auto reads = [s] {
    stm::atomically([s](stm::tx& t) {
      const std::uint64_t x = s->x.get(t);
      assert(x == s->y.get(t));
    });
  };
  together(beside, alone, reads);
  assert(s->x.unsafe_get() == 2 && s->y.unsafe_get() == 2);
  delete s;
}

// One takes `plain` out of what is shared and uses it plainly, while two still may write it.
void three_with_privatization() {
  auto* const s = new shared;
  stm::atomically([s](stm::tx& t) { s->is_public.set(t, 1); });
  auto writes = [s] {
    stm::atomically([s](stm::tx& t) {
      if (s->is_public.get(t) != 0) add(s->x, t, 1);
    });
  };
  auto writes_too = writes;
  auto takes = [s] {
    stm::atomically([s](stm::tx& t) { s->is_public.set(t, 0); });
    const std::uint64_t before = s->x.peek();
    s->x.poke(before + 10);
    assert(s->x.peek() == before + 10);
  };
  together(writes, writes_too, takes);
  assert(s->x.peek() >= 10 && s->x.peek() <= 12);
  delete s;
}

constexpr check::scenario scenarios[] = {
    {"lost_update", lost_update},
    {"beside_irrevocable", beside_irrevocable},
    {"opacity", opacity},
    {"opacity_of_writer", opacity_of_writer},
    {"write_skew", write_skew},
    {"privatization", privatization},
    {"publication", publication},
    {"starvation", starvation},
    {"older_stack", older_stack},
    {"both_in_hardware", both_in_hardware},
    {"beside_hardware", beside_hardware},
    {"at_once_beside_reader", at_once_beside_reader},
    {"at_once_beside_writer", at_once_beside_writer},
    {"at_once_after_writer", at_once_after_writer},
    {"three_updates", three_updates},
    {"three_in_a_ring", three_in_a_ring},
    {"three_with_opacity", three_with_opacity},
    {"three_with_privatization", three_with_privatization},
};

}  // namespace

int main(int argc, char** argv) { return check::main(argc, argv, scenarios); }
