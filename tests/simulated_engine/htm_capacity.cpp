// Capacity of transactions: written lines by the L1's ways and sets, read lines not at all.
// run: SYNCOPATE_MACHINE=test-4c
#include "transactions.h"

namespace {

constexpr unsigned line = 64, sets = 16, ways = 4;  // of test-4c's L1
alignas(4096) volatile char memory[1 << 18];
alignas(4096) volatile char written;

// Lines from `first` on, `step` apart.
htm::status write_lines(unsigned first, unsigned count, unsigned step) {
  return attempt([=] {
    for (unsigned i = 0; i < count; ++i) memory[(first + i * step) * line] = 1;
  });
}

}  // namespace

int main() {
  for (unsigned count = ways - 1; count <= ways + 1; ++count)
    std::printf("write %u lines of one set of %u ways: %s\n", count, ways,
                text(write_lines(3, count, sets)));
  for (unsigned used : {8u, 12u}) {
    const htm::status s = attempt([=] {
      for (unsigned set = 0; set < used; ++set)
        for (unsigned way = 0; way < ways; ++way) memory[(way * sets + set) * line] = 1;
    });
    std::printf("write all %u ways of %u sets: %s\n", ways, used, text(s));
  }
  std::printf("write %u lines: %s\n", sets * ways + 1, text(write_lines(0, sets * ways + 1, 1)));
  for (unsigned count : {64u, 300u}) {
    const htm::status s = attempt([=] {
      for (unsigned i = 0; i < count; ++i) written = memory[i * line];
    });
    std::printf("read %u lines, write one: %s\n", count, text(s));
  }
}
