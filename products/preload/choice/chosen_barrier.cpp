// chosen_barrier.cpp -- what chosen_barrier.h promises.
//
// Memory order
//   [D]  release decrement of `inside`, acquire load by destroy: who has left touches it no more.
//   [X]  relaxed: the arrival itself orders the threads.

#include "preload/choice/chosen_barrier.h"

#include <syncopate/barriers/arrival_barrier.h>
#include <syncopate/wait/park.h>
#include <syncopate/wait/spin.h>
#include <syncopate/wait/spin_then_park.h>
#include <syncopate/wait/yield.h>

#include <cstring>
#include <new>

#include "record/system.h"

namespace syncopate::shim {

struct chosen_barrier {
  bool (*arrive)(void* state);
  std::uint32_t generation;  // of the process that has made it: threads of a parent never leave
  std::atomic<std::uint32_t> inside;
  alignas(64) unsigned char state[256];
};

namespace {

struct barrier_object {
  unsigned in, round, count;
  int shared;
  unsigned out, unused;
  chosen_barrier* ours;
};
static_assert(sizeof(barrier_object) == sizeof(pthread_barrier_t));

barrier_object& object(pthread_barrier_t* b) noexcept {
  return *reinterpret_cast<barrier_object*>(b);
}

template <class Wait>
void make(chosen_barrier& at, unsigned count) noexcept {
  using barrier = arrival_barrier<Wait>;
  static_assert(sizeof(barrier) <= sizeof at.state);
  new (at.state) barrier(count);
  at.arrive = [](void* state) { return static_cast<barrier*>(state)->arrive_and_wait(); };
}

// In the order of barrier_waits.
constexpr void (*makers[])(chosen_barrier&, unsigned) = {
    make<waits::park>, make<waits::spin_then_park>, make<waits::yield>, make<waits::spin>};

}  // namespace

unsigned find_barrier_wait(const char* name) noexcept {
  for (unsigned i = 0; i < std::size(barrier_waits); ++i)
    if (std::strcmp(barrier_waits[i], name) == 0) return i + 1;
  return 0;
}

void choose_barrier(pthread_barrier_t* b, unsigned count, unsigned wait) noexcept {
  object(b).ours = nullptr;
  if (wait == 0 || object(b).shared != 0) return;
  void* const page = record::sys::pages(sizeof(chosen_barrier));
  if (page == nullptr) return;
  auto* const made = new (page) chosen_barrier{};
  made->generation = machine::fork_generation();
  makers[wait - 1](*made, count);
  object(b).ours = made;
}

chosen_barrier* chosen_barrier_of(pthread_barrier_t* b) noexcept {
  return object(b).shared == 0 ? object(b).ours : nullptr;
}

bool arrive_and_wait(chosen_barrier& barrier) noexcept {
  barrier.inside.fetch_add(1, std::memory_order_relaxed);  // [X]
  return barrier.arrive(barrier.state);
}

void leave(chosen_barrier& barrier) noexcept {
  barrier.inside.fetch_sub(1, std::memory_order_release);  // [D]
}

void destroy_chosen(pthread_barrier_t* b) noexcept {
  chosen_barrier* const ours = object(b).ours;
  while (ours->inside.load(std::memory_order_acquire) != 0 &&  // [D]
         ours->generation == machine::fork_generation())
    machine::yield();
  object(b).ours = nullptr;
  record::sys::free_pages(ours, sizeof *ours);
}

}  // namespace syncopate::shim
