// processor_mask.h -- native: which processors a thread may use.
//
// By the kernel's own calls: the C library's count on a fixed set is wrong above 1,024 processors,
// and its sysconf() opens files. Async-signal-safe.
#pragma once

#include <syncopate/machine/system_call.h>

#include <sys/syscall.h>

namespace syncopate::machine::detail {

class processor_mask {
 public:
  struct nobodys {};
  constexpr explicit processor_mask(nobodys) noexcept : bytes_(0) {}

  // That of the thread with this kernel id, 0: the calling one; empty where the kernel does not
  // say.
  explicit processor_mask(long thread = 0) noexcept
      : bytes_(system_call(SYS_sched_getaffinity, thread, sizeof words_,
                           reinterpret_cast<long>(words_))) {
    if (bytes_ < 0) bytes_ = 0;
  }

  // The processors that it could name: 0 to end() - 1.
  [[nodiscard]] unsigned end() const noexcept { return static_cast<unsigned>(bytes_) * 8; }

  [[nodiscard]] bool has(unsigned processor) const noexcept {
    return processor < end() && (words_[processor / bits] & bit(processor)) != 0;
  }
  void remove(unsigned processor) noexcept {
    if (processor < end()) words_[processor / bits] &= ~bit(processor);
  }

  void add(const processor_mask& other) noexcept {
    for (unsigned i = 0; i < sizeof words_ / sizeof *words_; ++i) words_[i] |= other.words_[i];
    if (bytes_ < other.bytes_) bytes_ = other.bytes_;
  }

  [[nodiscard]] int count() const noexcept {
    int n = 0;
    for (const unsigned long word : words_) n += __builtin_popcountl(word);
    return n;
  }

  // Makes it the calling thread's, which then is on one of them. False where the kernel refuses,
  // as it does when none is left.
  bool apply() const noexcept {
    return system_call(SYS_sched_setaffinity, 0, bytes_, reinterpret_cast<long>(words_)) == 0;
  }

 private:
  static constexpr unsigned bits = 8 * sizeof(unsigned long);
  static constexpr unsigned long bit(unsigned processor) noexcept {
    return 1ul << processor % bits;
  }

  unsigned long words_[8192 / bits] = {};
  long bytes_;
};

}  // namespace syncopate::machine::detail
