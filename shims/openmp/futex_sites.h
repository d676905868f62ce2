// futex_sites.h -- where a libgomp waits and wakes in the kernel, if it is built as we know it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace syncopate::openmp {

// A system call and the comparison after it: `syscall; cmp $-ENOSYS,%rax`, six bytes.
struct futex_sites {
  static constexpr std::size_t most = 64;
  static constexpr std::size_t bytes = 6;

  std::uint8_t* at[most];
  std::size_t count = 0;
  std::uint8_t *begin = nullptr, *end = nullptr;  // the module's code
  const char* refused = nullptr;                  // why nothing may be changed; null: all fits
};

// Reads the code of the module that lies at `base`; changes nothing.
// Returns the sites, or why they are not all what libgomp's are, as far as they could be checked:
//   S1  the module has one segment of code, and at least four sites in it
//   S2  each site takes its operation from one of two neighboring words, and these hold the futex
//       operations wait and wake
//   S3  each site has the second try after it that libgomp makes on kernels without private futexes
//   S4  no jump may lead into the middle of a site
futex_sites find_futex_sites(const void* base) noexcept;

}  // namespace syncopate::openmp
