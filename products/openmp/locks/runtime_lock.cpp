// runtime_lock.cpp -- see runtime_lock.h.

#include "openmp/locks/runtime_lock.h"

#include <syncopate/machine.h>

#include "record/internal.h"

namespace syncopate::openmp {
namespace {

thread_local constinit bool asks [[gnu::tls_model("initial-exec")]] = false;  // the runtime

}  // namespace

void runtime_lock::begin() noexcept {
  if (__builtin_expect(!record::enabled, 1)) return;
  if (asks) return;
  asks = is_outer_ = true;
  const std::uint32_t id = record::identify(record::object_kind::mutex, 0, lock_, nullptr);
  wait_ = record::wait_begin(record::wait_kind::mutex, id, 0);
}

void runtime_lock::end() noexcept {
  asks = false;
  if (wait_.start == 0) return;
  const std::uint64_t shortest = record::milliseconds(1) / 1000;
  if (machine::ticks() - wait_.start < shortest) record::wait_refused(wait_);
  else record::wait_end_now(wait_);
  record::taken(record::object_kind::mutex, 0, lock_);
}

}  // namespace syncopate::openmp
