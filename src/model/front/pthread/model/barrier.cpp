// barrier.cpp -- barriers for the explored machine: what posix/barrier.h says, with one event to
// arrive, one to wait.
//
// Misuse ends the run: destruction while threads wait for others that have not arrived. Threads
// that are on their way out are waited for, as in the C library.

#include "posix/barrier.h"

#include "model/front/pthread/barrier_object.h"
#include "model/front/pthread/model/lifetimes.h"
#include "model/front/pthread/objects.h"

namespace syncopate::instrument::objects {
namespace {

// The number of departures, of which destroy waits for the last: the object must not be gone
// before.
std::uint32_t& left_word(barrier_object& o) { return reinterpret_cast<std::uint32_t&>(o.left); }
std::uint64_t& state_word(barrier_object& o) { return reinterpret_cast<std::uint64_t&>(o.state); }

class central_barrier {
 public:
  central_barrier(pthread_barrier_t& b, place where)
      : barrier_(b), object_(barrier_object::of(b)), where_(where) {}

  bool is_destroyed() const { return object_.count == 0; }
  bool is_waited_at() const { return barrier_object::arrived_in(state_word(object_)) != 0; }
  bool arrive_and_wait() {
    model::note_use(&object_.count, where_);
    const std::uint32_t count = object_.count;
    const std::uint64_t before = state().add(1, std::memory_order_acq_rel);
    const std::uint32_t episode = barrier_object::episode_of(before);
    if (barrier_object::arrived_in(before) + 1 == count) {
      state().store(barrier_object::next_episode(before), std::memory_order_release);
      return true;
    }
    std::uint64_t seen;
    const auto over = [episode](std::uint64_t value) {
      return barrier_object::episode_of(value) != episode;
    };
    state().await(std::memory_order_acquire, over, nullptr, seen);
    return false;
  }
  void leave() { left().add(1, std::memory_order_release); }
  void await_departures() {
    const std::uint32_t calls = barrier_object::episode_of(state_word(object_)) * object_.count;
    std::uint32_t seen;
    const auto all_left = [calls](std::uint32_t left) { return left == calls; };
    left().await(std::memory_order_acquire, all_left, nullptr, seen);
  }
  void mark_destroyed() {
    touch(&barrier_, sizeof barrier_, engine::kind::write, where_);
    object_.count = 0;
  }

  [[noreturn]] void misused(const char* what) { model::misuse(what, &barrier_, where_); }

 private:
  [[nodiscard]] model::word<std::uint64_t> state() const { return {state_word(object_), where_}; }
  [[nodiscard]] model::word<std::uint32_t> left() const { return {left_word(object_), where_}; }

  pthread_barrier_t& barrier_;
  barrier_object& object_;
  place where_;
};

struct strict : posix::nobody_watches_barrier {
  [[noreturn]] static void uses_destroyed(central_barrier& b) {
    b.misused("use of a destroyed barrier");
  }
  static void about_to_destroy(central_barrier& b) {
    if (b.is_waited_at()) b.misused("destruction of a barrier that threads wait at");
  }
};

}  // namespace

void barrier_init(pthread_barrier_t& b, unsigned count, place /*where*/) {
  barrier_object& o = barrier_object::of(b);
  state_word(o) = 0;
  left_word(o) = 0;
  o.count = count;
}

int barrier_wait(pthread_barrier_t& b, place where) {
  return posix::wait_barrier(central_barrier(b, where), strict());
}

int barrier_destroy(pthread_barrier_t& b, place where) {
  return posix::destroy_barrier(central_barrier(b, where), strict());
}

}  // namespace syncopate::instrument::objects
