#include "model/front/threads/stack_slots.h"

#include <syncopate/machine/system_call.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "model/front/program/layout.h"
#include "model/front/program/options.h"
#include "model/front/pthread/real.h"
#include "model/front/threads/arch.h"
#include "model/front/threads/thread_locals.h"

namespace syncopate::instrument {

namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t default_stack = std::size_t{8} << 20;
constexpr std::size_t smallest_stack = std::size_t{256}
                                       << 10;  // the machine's code runs there, too

std::size_t rounded(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

// The smallest stack that the C library takes: it holds all thread-local variables, too.
std::size_t smallest_of_libc() {
  pthread_attr_t any;
  pthread_attr_init(&any);
  auto* const with_locals = reinterpret_cast<std::size_t (*)(const pthread_attr_t*)>(
      dlsym(RTLD_DEFAULT, "__pthread_get_minstack"));
  const auto least = static_cast<std::size_t>(sysconf(_SC_THREAD_STACK_MIN));
  const std::size_t told = with_locals != nullptr ? with_locals(&any) : least;
  pthread_attr_destroy(&any);
  return told > least ? told : least;
}

// Room for the parked thread. The smallest stack depends on the processor; fibers' stacks should
// not.
std::size_t parking_bytes() {
  static const std::size_t bytes =
      rounded(smallest_of_libc() + (std::size_t{64} << 10), std::size_t{1} << 20);
  return bytes;
}

void map(std::uintptr_t low, std::uintptr_t high) {
  void* at =
      ::mmap(reinterpret_cast<void*>(low), high - low, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK | MAP_FIXED_NOREPLACE, -1, 0);
  if (at != reinterpret_cast<void*>(low)) {
    fail("no memory for the stack of a thread: %s", std::strerror(errno));
  }
  ::madvise(at, high - low, MADV_NOHUGEPAGE);  // most stacks stay small
}

struct parking {
  std::atomic<std::uint32_t> ready{0};
  std::uintptr_t pointer = 0;
};

// From here on a fiber uses this thread's thread-control block: the thread itself must not touch
// thread-local memory any more, hence no function of the C library.
void* park_for_ever(void* argument) {
  auto& how = *static_cast<parking*>(argument);
  how.pointer = thread_pointer();
  how.ready.store(1, std::memory_order_release);  // [R]
  machine::system_call(SYS_futex, reinterpret_cast<long>(&how.ready), FUTEX_WAKE_PRIVATE, 1);
  static constinit std::uint32_t never = 0;
  for (;;) machine::system_call(SYS_futex, reinterpret_cast<long>(&never), FUTEX_WAIT_PRIVATE, 0);
}

std::uintptr_t start_parked_thread(std::uintptr_t low, std::size_t bytes) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the new thread inherits it
  pthread_attr_t how;
  pthread_attr_init(&how);
  pthread_attr_setstack(&how, reinterpret_cast<void*>(low), bytes);
  pthread_attr_setdetachstate(&how, PTHREAD_CREATE_DETACHED);
  parking parked;
  pthread_t thread;
  const int error =
      SYNCOPATE_REAL_VERSION(pthread_create, "GLIBC_2.34")(&thread, &how, park_for_ever, &parked);
  pthread_attr_destroy(&how);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0) fail("cannot create one more thread: %s", std::strerror(error));
  while (parked.ready.load(std::memory_order_acquire) == 0) {  // [R]
    machine::system_call(SYS_futex, reinterpret_cast<long>(&parked.ready), FUTEX_WAIT_PRIVATE, 0);
  }
  return parked.pointer;
}

}  // namespace

void prepare_slot(fiber& f, std::size_t stack_bytes) {
  if (stack_bytes == 0) stack_bytes = default_stack;
  if (stack_bytes < smallest_stack) stack_bytes = smallest_stack;
  if (stack_bytes > layout::largest_stack) {
    fail("a thread wants a stack of %zu bytes; %zu is the most", stack_bytes,
         layout::largest_stack);
  }
  const std::uintptr_t top = layout::stacks + (f.slot + 1) * layout::stack_slot;
  const std::uintptr_t high = top - parking_bytes();
  const std::uintptr_t low = high - rounded(stack_bytes, page);
  if (f.pointer == 0) {
    map(low, top);
    f.mapped_low = low;
    f.pointer = start_parked_thread(high, parking_bytes());
  } else if (low < f.mapped_low) {
    map(low, f.mapped_low);
    f.mapped_low = low;
  }
  f.stack = {low, high};
}

}  // namespace syncopate::instrument
