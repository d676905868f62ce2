// barrier_object.h -- our state inside glibc's 32-byte pthread_barrier_t.
//
// One 64-bit word holds the episode (high half) and how many threads have arrived in it (low half),
// so that one RMW both arrives and learns the episode: no thread can take an old episode for its
// own.
#pragma once

#include <atomic>
#include <cstdint>

#include <pthread.h>

namespace syncopate::instrument::objects {

struct barrier_object {
  static barrier_object& of(pthread_barrier_t& b) noexcept {
    return *reinterpret_cast<barrier_object*>(&b);
  }
  static constexpr std::uint64_t one_episode = std::uint64_t{1} << 32;
  static std::uint32_t episode_of(std::uint64_t state) noexcept {
    return static_cast<std::uint32_t>(state >> 32);
  }
  static std::uint32_t arrived_in(std::uint64_t state) noexcept {
    return static_cast<std::uint32_t>(state);
  }
  static std::uint64_t next_episode(std::uint64_t state) noexcept {
    return (state & ~std::uint64_t{UINT32_MAX}) + one_episode;
  }
  // What waiters sleep on: the episode (x86 is little-endian).
  std::uint32_t* episode_word() noexcept { return reinterpret_cast<std::uint32_t*>(&state) + 1; }

  alignas(8) std::atomic<std::uint64_t> state;
  std::uint32_t count;
  std::atomic<std::uint32_t> left;  // how many calls have returned, of all episodes (mod 2^32)
};
static_assert(sizeof(barrier_object) <= sizeof(pthread_barrier_t));

}  // namespace syncopate::instrument::objects
