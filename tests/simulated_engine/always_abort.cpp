// Always-abort transactions never commit, and what they read is in the caches afterwards.
// run: SYNCOPATE_MACHINE=test-4c
#include "transactions.h"

namespace {

constexpr unsigned lines = 16;
alignas(4096) volatile long memory[2][lines * 8];

std::uint64_t time_to_read(unsigned which) {
  const std::uint64_t before = syncopate::machine::ticks();
  for (unsigned i = 0; i < lines; ++i) (void)memory[which][i * 8];
  return syncopate::machine::ticks() - before;
}

}  // namespace

int main() {
  const htm::status s = attempt(
      [] {
        for (unsigned i = 0; i < lines; ++i) (void)memory[0][i * 8];
        memory[0][1] = 5;
      },
      htm::mode::always_abort);
  std::printf("ended with %s; the value is %ld\n", text(s), memory[0][1]);
  const std::uint64_t warm = time_to_read(0), cold = time_to_read(1);
  std::printf("%u lines: %u cycles after it, %u cycles without\n", lines,
              static_cast<unsigned>(warm), static_cast<unsigned>(cold));
}
