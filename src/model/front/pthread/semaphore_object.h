// semaphore_object.h -- glibc's own layout of sem_t, for both variants: the value in the low
// half of a 64-bit word, the number of waiters in the high half. Named semaphores (sem_open is the
// C library's) work on it alike.
#pragma once

#include <atomic>
#include <cstdint>

#include <semaphore.h>

namespace syncopate::instrument::objects {

struct semaphore_object {
  static semaphore_object& of(sem_t& s) noexcept {
    return *reinterpret_cast<semaphore_object*>(&s);
  }
  static constexpr std::uint64_t one_waiter = std::uint64_t{1} << 32;
  static std::uint32_t value_of(std::uint64_t data) noexcept {
    return static_cast<std::uint32_t>(data);
  }
  const void* value_word() const noexcept { return &data; }  // x86 is little-endian

  alignas(8) std::atomic<std::uint64_t> data;
};
static_assert(sizeof(semaphore_object) <= sizeof(sem_t));

}  // namespace syncopate::instrument::objects
