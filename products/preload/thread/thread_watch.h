// thread_watch.h -- what the guard keeps of each thread: the mutexes it holds, and more.
//
// Threads are in a list that only grows; a thread that ends leaves its place to another one.
// Memory order
//   [P]  release push of a new thread, acquire walk of the list.
//   [X]  relaxed: other threads read held mutexes as hints, and take away what they have unlocked.
#pragma once

#include <syncopate/machine/switch_mark.h>

#include <atomic>
#include <cstdint>

namespace syncopate::shim {

struct held_mutex {
  std::atomic<const void*> mutex;
  std::uint64_t since;  // ticks
  std::uint64_t pc;     // where it was locked
};

struct thread_watch {
  static constexpr unsigned most_held = 64, most_pairs = 64;
  std::atomic<int> id;  // kernel's; 0: nobody's
  thread_watch* next;
  unsigned held_count;  // places used in `held`; those of mutexes that others unlocked are null
  held_mutex held[most_held];
  // Orders that this thread has told already.
  struct {
    const void *from, *to;
    std::uintptr_t all;  // that it held
    std::uint32_t generation;
  } told[most_pairs];
  machine::switch_mark mark;

  // The newest entry of a mutex; null where it is not held, or is beyond the room.
  held_mutex* find(const void* mutex) noexcept {
    for (unsigned i = held_count; i-- != 0;)
      if (held[i].mutex.load(std::memory_order_relaxed) == mutex) return &held[i];  // [X]
    return nullptr;
  }
  void add(const void* mutex, std::uint64_t since, std::uint64_t pc) noexcept {
    drop_gone();
    if (held_count == most_held) return;
    held_mutex& fresh = held[held_count++];
    fresh.since = since;
    fresh.pc = pc;
    fresh.mutex.store(mutex, std::memory_order_relaxed);  // [X]
  }
  void remove(const void* mutex) noexcept {
    if (held_mutex* const at = find(mutex))
      at->mutex.store(nullptr, std::memory_order_relaxed);  // [X]
    drop_gone();
  }

 private:
  void drop_gone() noexcept {
    while (held_count != 0 &&
           held[held_count - 1].mutex.load(std::memory_order_relaxed) == nullptr)  // [X]
      --held_count;
  }
};

// The calling thread's; null where there is no memory.
thread_watch* this_thread_watch() noexcept;
// The one with this id, or null.
thread_watch* watch_of(int id) noexcept;
void end_thread_watch() noexcept;

}  // namespace syncopate::shim
