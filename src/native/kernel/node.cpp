// node.cpp -- memory nodes (machine.h) by the kernel's numbers: for what is to need no hwloc.
//
// Memory order (each tag stands at its site below)
//   [K]  relaxed: a number that is the same whoever reads it from the system.

#include <syncopate/machine.h>

#include <atomic>

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

namespace syncopate::machine {

unsigned node() noexcept {
  unsigned processor = 0, node = 0;
  return ::getcpu(&processor, &node) == 0 ? node : 0;
}

// One more than the highest number in a list such as "0-3,5"; 1 where it cannot be read.
unsigned node_count() noexcept {
  static constinit std::atomic<unsigned> known{0};
  if (const unsigned count = known.load(std::memory_order_relaxed)) return count;  // [K]
  char list[256];
  const int file = ::open("/sys/devices/system/node/possible", O_RDONLY | O_CLOEXEC);
  const long length = file >= 0 ? ::read(file, list, sizeof list) : 0;
  if (file >= 0) ::close(file);
  unsigned last = 0, number = 0;
  for (long i = 0; i < length; ++i) {
    if (list[i] < '0' || list[i] > '9') number = 0;
    else last = number = 10 * number + static_cast<unsigned>(list[i] - '0');
  }
  known.store(last + 1, std::memory_order_relaxed);  // [K]
  return last + 1;
}

}  // namespace syncopate::machine
