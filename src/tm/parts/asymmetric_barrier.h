// asymmetric_barrier.h -- L3: a fence that costs the frequent side nothing and the rare side a
// system call.
//
// The frequent side writes its own word and reads a shared one, with light() in between; the rare
// side writes the shared word and reads the frequent ones' words, with heavy() in between. Then at
// least one of the two sees what the other wrote. heavy() makes every processor that runs a thread
// of this process execute a full fence (membarrier(2)); where the kernel refuses, light() is one.
#pragma once

#include <syncopate/machine/system_call.h>

#include <atomic>

#include <linux/membarrier.h>
#include <sys/syscall.h>

namespace syncopate::tm {

class asymmetric_barrier {
 public:
  // Registers the process. Before that, light() is a full fence.
  void prepare() noexcept {
    light_is_free_ =
        machine::system_call(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0) == 0;
  }

  [[gnu::always_inline]] void light() const noexcept {
    if (__builtin_expect(light_is_free_, 1)) std::atomic_signal_fence(std::memory_order_seq_cst);
    else std::atomic_thread_fence(std::memory_order_seq_cst);
  }

  void heavy() const noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (light_is_free_) machine::system_call(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0);
  }

 private:
  bool light_is_free_ = false;
};

}  // namespace syncopate::tm
