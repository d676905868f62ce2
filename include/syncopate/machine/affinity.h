// affinity.h -- which processors the process may use, for whoever knows better.
#pragma once

#include <syncopate/machine.h>
#include <syncopate/machine/processor_mask.h>

namespace syncopate::machine {

// Lets the calling thread go on on another of the processors that it may use, one for which
// avoid(number) does not hold; false where there is none. Takes about 20 us. The thread may
// use the same ones afterwards: the others are taken from its mask and put back at once. (So what
// somebody else makes of its mask within these microseconds is lost.)
template <class Avoid>
[[gnu::noinline, gnu::cold]] bool move_away([[maybe_unused]] Avoid avoid) noexcept {
  if constexpr (is_modeled) {
    return false;
  } else {
    const detail::processor_mask before;
    detail::processor_mask rest = before;
    for (unsigned n = 0; n < before.end(); ++n)
      if (before.has(n) && avoid(n)) rest.remove(n);
    return rest.count() != 0 && rest.apply() && before.apply();
  }
}

}  // namespace syncopate::machine
