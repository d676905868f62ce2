// regime_scenarios.cpp -- who may run beside whom, without any transactions: each order in
// src/tm/core/regime.h and threads.cpp, where whole transactions (tm_scenarios.cpp) have too many
// executions, or order by other means what these have to order.
//
// The data are plain: sections that the regime has not ordered are a race.
#include "tm/core/configuration.h"
#include "tm/core/engine.h"
#include "tm/core/hardware.h"
#include "tm/core/quick.h"
#include "tm/core/regime.h"
#include "tm/core/threads.h"

#include "check.h"

// No scenario forks; and the C library's list of handlers would grow from execution to execution.
extern "C" int pthread_atfork(void (*)(), void (*)(), void (*)()) noexcept { return 0; }

namespace {

namespace tm = syncopate::tm;
using tm::now;
using tm::regime;

struct shared {
  int value = 0;
};

// As a transaction that has to run alone.
void section_alone(shared& s) {
  tm::transaction* const tx = tm::self();
  now.acquire(tx);
  ++s.value;
  now.release(tx);
}

// As one that runs beside others, if it may. There is one such thread in each scenario, so that
// only those that run alone are in its way.
void section_beside(shared& s) {
  tm::transaction* const tx = tm::self();
  const tm::address word = now.enter(tx);
  if (word == regime::open) ++s.value;
  now.leave(tx, regime::open);
}

// The same of one that has failed before: it may begin in the narrow, too.
void section_of_one_that_failed(shared& s) {
  tm::transaction* const tx = tm::self();
  const tm::address word = now.enter(tx);
  if (word == regime::open || word == regime::narrow) ++s.value;
  now.leave(tx, regime::open);
}

// As one that runs alone without the mutex, if it still may.
void section_solo(shared& s) {
  tm::transaction* const tx = tm::self();
  const tm::address mine = regime::solo_of(tx);
  if (now.enter(tx) == mine) ++s.value;
  now.leave(tx, mine);
}

// The same where the thread may be quick, begun as any other.
void section_solo_or_quick(shared& s) {
  tm::transaction* const tx = tm::self();
  if (regime::is_solo_of(now.enter(tx), tx)) ++s.value;
  now.leave(tx, regime::quick_solo_of(tx));
}

// As a quick one, if it still may.
void section_quick(shared& s) {
  tm::transaction* const tx = tm::self();
  if (!tm::quick::begin(tx)) return;
  assert(tm::quick::runs(tx));
  ++s.value;
  tm::quick::commit(tx);
}

// As one in hardware, if that is done at present and comes to its end; else alone.
void section_in_hardware(shared& s) {
  tm::transaction* const tx = tm::self();
  if (tm::start_in_hardware(tx) != tm::start::in_hardware) return section_alone(s);
  ++s.value;
  tm::commit_in_hardware(tx);
}

// As one in software where hardware transactions are preferred. There is one such thread, too.
void section_counted(shared& s) {
  tm::transaction* const tx = tm::self();
  const tm::address word = now.enter(tx);
  if (word == regime::open && now.try_count_software(word)) {
    ++s.value;
    now.count_software_off();
  }
  now.leave(tx, regime::open);
}

// With transactions side by side; the calling thread has its descriptor.
shared* begin_open() {
  tm::self();
  now.choose(tm::algorithms[1]);
  return new shared;
}

void alone_and_beside() {
  shared* const s = begin_open();
  auto beside = [s] { section_beside(*s); };
  auto alone = [s] { section_alone(*s); };
  check::together(beside, alone);
  assert(s->value >= 1);
  delete s;
}

// The hourglass in between: who begins after it begins after what ran alone before it.
void alone_narrow_and_beside() {
  shared* const s = begin_open();
  auto beside = [s] { section_beside(*s); };
  auto narrows = [s] {
    section_alone(*s);
    if (now.try_narrow()) now.widen();
  };
  check::together(beside, narrows);
  assert(s->value >= 1);
  delete s;
}

// In the narrow itself, which comes after what ran alone.
void alone_narrow_and_failed() {
  shared* const s = begin_open();
  auto failed = [s] { section_of_one_that_failed(*s); };
  auto narrows = [s] {
    section_alone(*s);
    (void)now.try_narrow();
  };
  check::together(failed, narrows);
  assert(s->value >= 1);
  delete s;
}

// One thread is left alone, until another one comes.
void solo_and_alone() {
  tm::self();
  now.choose(nullptr);
  now.slices = true;  // so at once, not after some turns
  auto* const s = new shared;
  section_alone(*s);
  assert(now.word.load(std::memory_order_relaxed) == regime::solo_of(tm::self()));
  auto comes = [s] { section_alone(*s); };
  auto solo = [s] { section_solo(*s), section_solo(*s); };
  check::together(comes, solo);
  assert(s->value >= 2);
  delete s;
}

// Both may be left alone.
void solo_and_solo() {
  tm::self();
  now.choose(nullptr);
  now.slices = true;
  auto* const s = new shared;
  auto one = [s] { section_alone(*s), section_solo(*s); };
  auto other = [s] { section_alone(*s); };
  check::together(one, other);
  assert(s->value >= 2);
  delete s;
}

// One thread is left alone, and quick, until another one comes.
shared* begin_quick() {
  tm::self();
  now.choose(nullptr);
  now.slices = now.may_be_quick = true;
  return new shared;
}
void where_one_is_quick(void (*first)(shared&), void (*second)(shared&)) {
  shared* const s = begin_quick();
  section_alone(*s);
  assert(now.word.load(std::memory_order_relaxed) == regime::quick_solo_of(tm::self()));
  auto comes = [s] { section_alone(*s); };
  auto quick = [s, first, second] { first(*s), second(*s); };
  check::together(comes, quick);
  assert(s->value >= 2);
  delete s;
}
void quick_and_alone() { where_one_is_quick(section_quick, section_quick); }
void quick_then_solo_and_alone() { where_one_is_quick(section_quick, section_solo_or_quick); }

// Both may be quick.
void quick_and_quick() {
  shared* const s = begin_quick();
  auto one = [s] { section_alone(*s), section_quick(*s); };
  auto other = one;
  check::together(one, other);
  assert(s->value >= 2);
  delete s;
}

// Who looks up another thread by its number finds a whole descriptor.
void slot_of_a_new_thread() {
  const tm::u32 mine = tm::self()->slot;
  auto comes = [] { tm::self(); };
  auto looks = [mine] {
    if (const tm::transaction* const other = tm::thread_in_slot(mine + 1))
      assert(other->slot == mine + 1);
  };
  check::together(comes, looks);
}

// A block is freed when all have begun after it was taken out (limbo.h): who shows an epoch sees
// what was done before that epoch.
void epoch_and_memory() {
  struct list {
    std::atomic<int*> first{new int(7)};
  };
  shared* const s = begin_open();
  auto* const l = new list;
  auto takes_out = [l] {
    int* const block = l->first.load(std::memory_order_relaxed);
    l->first.store(nullptr, std::memory_order_relaxed);
    const tm::u32 closed_in = tm::epoch.fetch_add(2, std::memory_order_seq_cst);
    while (static_cast<std::int32_t>(tm::oldest_epoch() - closed_in) <= 0)
      syncopate::machine::relax();
    delete block;
  };
  auto reads = [l] {
    tm::transaction* const tx = tm::self();
    now.enter(tx);
    if (const int* const block = l->first.load(std::memory_order_relaxed)) assert(*block == 7);
    now.leave(tx, regime::open);
  };
  check::together(reads, takes_out);
  delete l;
  delete s;
}

// Two sections at once, where hardware transactions come before `algorithm`.
void where_hardware_is_first(const tm::operations* algorithm, void (*one)(shared&),
                             void (*other)(shared&), int least) {
  tm::self();
  now.choose(algorithm, true);
  auto* const s = new shared;
  auto first = [s, one] { one(*s); };
  auto second = [s, other] { other(*s); };
  check::together(first, second);
  assert(s->value >= least && s->value <= 2);
  delete s;
}

void alone_and_in_hardware() {
  where_hardware_is_first(nullptr, section_alone, section_in_hardware, 2);
}
void alone_and_counted() {
  where_hardware_is_first(tm::algorithms[1], section_alone, section_counted, 1);
}
void in_hardware_and_counted() {
  where_hardware_is_first(tm::algorithms[1], section_in_hardware, section_counted, 1);
}

// Hardware transactions are given up while one may be running.
void in_hardware_until_it_is_not() {
  tm::self();
  now.choose(nullptr, true);
  auto* const s = new shared;
  auto hardware = [s] { section_in_hardware(*s); };
  auto changes = [s] {
    tm::transaction* const tx = tm::self();
    now.acquire(tx);
    now.choose(tm::algorithms[1]);
    now.release(tx);
    section_beside(*s);
  };
  check::together(hardware, changes);
  assert(s->value >= 1);
  delete s;
}

constexpr check::scenario scenarios[] = {
    {"alone_and_beside", alone_and_beside},
    {"alone_narrow_and_beside", alone_narrow_and_beside},
    {"alone_narrow_and_failed", alone_narrow_and_failed},
    {"solo_and_alone", solo_and_alone},
    {"solo_and_solo", solo_and_solo},
    {"quick_and_alone", quick_and_alone},
    {"quick_then_solo_and_alone", quick_then_solo_and_alone},
    {"quick_and_quick", quick_and_quick},
    {"alone_and_in_hardware", alone_and_in_hardware},
    {"alone_and_counted", alone_and_counted},
    {"in_hardware_and_counted", in_hardware_and_counted},
    {"in_hardware_until_it_is_not", in_hardware_until_it_is_not},
    {"slot_of_a_new_thread", slot_of_a_new_thread},
    {"epoch_and_memory", epoch_and_memory},
};

}  // namespace

int main(int argc, char** argv) { return check::main(argc, argv, scenarios); }
