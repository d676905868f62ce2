// runtime_lock.h -- while recording: waits for locks and critical sections that stay the runtime's
// (--omp-lock runtime). Whether one is free is the runtime's to know: so what takes no longer than
// to take a free lock is counted as taken, and is no wait.
#pragma once

#include "record/recorder.h"

namespace syncopate::openmp {

// Around the runtime's call. Of calls within each other the outer one is meant: libomp's
// omp_set_lock() makes one of its own, which comes to us.
class runtime_lock {
 public:
  explicit runtime_lock(const void* lock) noexcept : lock_(lock) {
    begin();  // which does nothing where nothing is recorded
  }
  ~runtime_lock() {
    if (__builtin_expect(is_outer_, 0)) end();
  }
  runtime_lock(const runtime_lock&) = delete;
  runtime_lock& operator=(const runtime_lock&) = delete;

 private:
  void begin() noexcept;
  void end() noexcept;

  const void* const lock_;
  bool is_outer_ = false;
  record::wait wait_;
};

}  // namespace syncopate::openmp
