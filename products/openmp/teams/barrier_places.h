// barrier_places.h -- calls in the program's code that are one barrier of its source, as a compiler
// makes them of one after `single`: threads that meet there were called from them. For records.
//
// Memory order (each tag stands at its site below)
//   [S]  release store of a place that stands for another, acquire load by who looks it up.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "record/internal.h"

namespace syncopate::openmp {

class barrier_places {
 public:
  // The place that stands for all that one has met with.
  const void* of(const void* place) noexcept {
    for (unsigned steps = 0; steps < most; ++steps) {
      const entry* const known = find(place);
      if (known == nullptr) return place;
      place = known->same_as.load(std::memory_order_acquire);  // [S]
    }
    return place;
  }

  // That threads have met at one barrier which came from these two. Where there is no room, they
  // stay two.
  void meet(const void* one, const void* other) noexcept {
    record::holding lock(changing_);
    if (!lock) return;
    const void *stands = of(one), *joins = of(other);
    if (stands == joins || used_ == most) return;
    entry& fresh = entries_[used_];
    fresh.place = joins;
    fresh.same_as.store(stands, std::memory_order_release);  // [S]
    known_.store(++used_, std::memory_order_release);        // [S]
  }

 private:
  static constexpr unsigned most = 256;
  struct entry {
    const void* place;
    std::atomic<const void*> same_as;
  };

  const entry* find(const void* place) const noexcept {
    const unsigned known = known_.load(std::memory_order_acquire);  // [S]
    for (unsigned i = 0; i < known; ++i)
      if (entries_[i].place == place) return &entries_[i];
    return nullptr;
  }

  record::tiny_lock changing_;
  unsigned used_ = 0;
  std::atomic<unsigned> known_{0};
  entry entries_[most]{};
};

}  // namespace syncopate::openmp
