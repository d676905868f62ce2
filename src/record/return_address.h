// return_address.h -- a return address as a frame holds it.
#pragma once

#include <cstdint>

namespace syncopate::record {

// The address without the signature that programs for aarch64 may put into its upper bits while it
// lies in a frame. The compiler's unwinder takes it away by itself; who reads frames does it here.
inline std::uintptr_t without_signature(std::uintptr_t saved) noexcept {
#if defined(__aarch64__)
  register std::uintptr_t x30 asm("x30") = saved;
  asm("hint #7" : "+r"(x30));  // XPACLRI: does nothing on processors that know no signatures
  return x30;
#else
  return saved;
#endif
}

}  // namespace syncopate::record
