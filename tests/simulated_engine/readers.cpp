// Readers on different processors, with and without BRAVO's table: with it they share no line that
// anybody writes; and what a writer has to pay for it.
// run: SYNCOPATE_MACHINE=sapphire-rapids-2s
#include <syncopate/machine.h>
#include <syncopate/rwlocks/auto_rwlock.h>
#include <syncopate/rwlocks/bravo_rwlock.h>

#include <cstdint>
#include <cstdio>
#include <memory>

#include "together.h"

extern "C" void syncopate_work(std::uint64_t cycles);

namespace {

using namespace syncopate;

// Returns the cycles of a section. One section in `write_one_in` writes; 0: none does.
template <class Lock>
double section(unsigned threads, unsigned sections, unsigned write_one_in) {
  const auto lock = std::make_unique<Lock>();
  const std::uint64_t cycles = run_together(threads, [&](unsigned index) {
    for (unsigned i = 1; i <= sections; ++i) {
      if (write_one_in != 0 && (i + index) % write_one_in == 0) {
        lock->lock();
        syncopate_work(100);
        lock->unlock();
      } else {
        lock->lock_shared();
        syncopate_work(100);
        lock->unlock_shared();
      }
    }
  });
  return static_cast<double>(cycles) / (threads * sections);
}

using plain = auto_rwlock;
using bravo = bravo_rwlock<auto_rwlock>;

}  // namespace

int main() {
  const double readers = section<plain>(16, 200, 0) / section<bravo>(16, 200, 0);
  std::printf("16 readers: %s times as fast by the table\n",
              readers >= 10 ? "ten or more" : "LESS THAN TEN");
  const double writers = section<bravo>(16, 200, 1) / section<plain>(16, 200, 1);
  std::printf("16 writers: %s the cost of the lock below\n",
              writers <= 1.2 ? "at most 1.2 times" : "MORE THAN 1.2 TIMES");
  const double mixed = section<bravo>(16, 1000, 100) / section<plain>(16, 1000, 100);
  std::printf("1 section of 100 writes: %s the time of the lock below\n",
              mixed <= 1     ? "at most"
              : mixed <= 1.2 ? "at most 1.2 times"
                             : "MORE THAN 1.2 TIMES");
}
