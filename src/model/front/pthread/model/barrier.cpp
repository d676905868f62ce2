// barrier.cpp -- barriers for the explored machine: one event to arrive, one to wait.
//
// Misuse ends the run: destruction while threads wait for others that have not arrived. Threads
// that are on their way out are waited for, as in the C library.

#include "model/front/pthread/barrier_object.h"
#include "model/front/pthread/model/lifetimes.h"
#include "model/front/pthread/objects.h"

namespace syncopate::instrument::objects {
namespace {

// The number of departures, of which destroy waits for the last: the object must not be gone
// before.
std::uint32_t& left_word(barrier_object& o) { return reinterpret_cast<std::uint32_t&>(o.left); }
std::uint64_t& state_word(barrier_object& o) { return reinterpret_cast<std::uint64_t&>(o.state); }

}  // namespace

void barrier_init(pthread_barrier_t& b, unsigned count, place /*where*/) {
  barrier_object& o = barrier_object::of(b);
  state_word(o) = 0;
  left_word(o) = 0;
  o.count = count;
}

int barrier_wait(pthread_barrier_t& b, place where) {
  barrier_object& o = barrier_object::of(b);
  if (o.count == 0) model::misuse("use of a destroyed barrier", &b, where);
  model::note_use(&o.count, where);
  const std::uint32_t count = o.count;
  const model::word<std::uint64_t> state(state_word(o), where);
  const model::word<std::uint32_t> left(left_word(o), where);
  const std::uint64_t before = state.add(1, std::memory_order_acq_rel);
  const std::uint32_t episode = barrier_object::episode_of(before);
  int result = 0;
  if (barrier_object::arrived_in(before) + 1 == count) {
    const std::uint64_t next = (before & ~std::uint64_t{UINT32_MAX}) + barrier_object::one_episode;
    state.store(next, std::memory_order_release);
    result = PTHREAD_BARRIER_SERIAL_THREAD;
  } else {
    std::uint64_t seen;
    const auto over = [episode](std::uint64_t value) {
      return barrier_object::episode_of(value) != episode;
    };
    state.await(std::memory_order_acquire, over, nullptr, seen);
  }
  left.add(1, std::memory_order_release);
  return result;
}

int barrier_destroy(pthread_barrier_t& b, place where) {
  barrier_object& o = barrier_object::of(b);
  if (o.count == 0) model::misuse("destruction of a destroyed barrier", &b, where);
  const std::uint64_t now = state_word(o);
  if (barrier_object::arrived_in(now) != 0)
    model::misuse("destruction of a barrier that threads wait at", &b, where);
  const std::uint32_t calls = barrier_object::episode_of(now) * o.count;
  std::uint32_t seen;
  const auto all_left = [calls](std::uint32_t left) { return left == calls; };
  const model::word<std::uint32_t> left(left_word(o), where);
  left.await(std::memory_order_acquire, all_left, nullptr, seen);
  touch(&b, sizeof b, engine::kind::write, where);
  o.count = 0;
  return 0;
}

}  // namespace syncopate::instrument::objects
