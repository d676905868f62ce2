// affinity.h -- L0: how many processors the process may use, for whoever knows better.
#pragma once

#include <syncopate/machine.h>

#include <atomic>

namespace syncopate::machine {

// From now on processors() is at least `count`. By itself it counts what its first caller may use,
// and that is one where the caller is bound. Any thread.
inline void learn_processors([[maybe_unused]] int count) noexcept {
  if constexpr (!is_modeled)
    if (count > static_cast<int>(processors()))
      detail::usable_processors.store(count, std::memory_order_relaxed);
}

}  // namespace syncopate::machine
