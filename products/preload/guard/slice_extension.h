// slice_extension.h -- asks the kernel not to preempt a thread inside a critical section.
//
// Source        Linux 7.0, Documentation/userspace-api/rseq.rst ("Scheduler time slice
//               extensions") and include/uapi/linux/rseq.h, prctl.h. A thread that has enabled it
//               stores 1 into slice_ctrl.request, byte 28 of its restartable-sequence area; an
//               interrupt that would preempt it may grant some microseconds instead: the kernel
//               clears request and stores 1 into granted, byte 29. Behind the section the thread
//               stores 0 into request, and gives back what was granted by rseq_slice_yield(). All
//               of it is the thread's own: no atomic instruction is needed.
// Invariants
//   I1  Nothing is written into the area before the kernel has said, for this thread, that it
//       offers the extension (flags, bit 4) and has enabled it.
//   I2  request is 1 only inside a section.
#pragma once

#include <cerrno>
#include <cstdint>

namespace syncopate::shim {

struct slice_abi {
  static constexpr long prctl_number = 79, prctl_get = 1, prctl_set = 2, prctl_enable = 1;
  static constexpr long yield_call = 471;  // rseq_slice_yield, on every architecture
  static constexpr unsigned flags_at = 16, request_at = 28, granted_at = 29, area_bytes = 32;
  static constexpr std::uint32_t offered = 1u << 4;
};

enum class slice_state : std::uint8_t {
  unknown,      // this thread has not asked yet
  enabled,      //
  no_area,      // the C library has registered no restartable-sequence area
  not_offered,  // the kernel is older, or built without
  refused,      // it is switched off, or prctl is forbidden
};

// One thread's use of it. Kernel: area() -> volatile unsigned char* or null; prctl(option, command,
// argument) and yield() as the kernel answers, -errno on errors.
template <class Kernel>
class slice_extension {
 public:
  slice_state enable() noexcept {
    if (state_ == slice_state::unknown) state_ = ask();
    return state_;
  }
  void enter() noexcept {
    volatile unsigned char* const area = Kernel::area();
    if (area == nullptr || enable() != slice_state::enabled) return;
    area[slice_abi::request_at] = 1;
    asm volatile("" ::: "memory");
  }
  // Returns whether the section ran on granted time.
  bool leave() noexcept {
    volatile unsigned char* const area = Kernel::area();
    if (area == nullptr || state_ != slice_state::enabled) return false;
    asm volatile("" ::: "memory");
    area[slice_abi::request_at] = 0;
    if (area[slice_abi::granted_at] == 0) return false;
    if (Kernel::yield() == -ENOSYS) state_ = slice_state::refused;
    return true;
  }

 private:
  static slice_state ask() noexcept {
    const volatile unsigned char* const area = Kernel::area();
    if (area == nullptr) return slice_state::no_area;
    const auto flags = *reinterpret_cast<const volatile std::uint32_t*>(area + slice_abi::flags_at);
    if ((flags & slice_abi::offered) == 0) return slice_state::not_offered;  // I1
    const long result =
        Kernel::prctl(slice_abi::prctl_number, slice_abi::prctl_set, slice_abi::prctl_enable);
    return result == 0 ? slice_state::enabled : slice_state::refused;
  }

  slice_state state_ = slice_state::unknown;
};

}  // namespace syncopate::shim
