// The learning predictor: after overflows, transactions that fit succeed only slowly again.
// Odaira, Castanos & Tomari, PPoPP 2014, figure 6a: 24 KB first, then 12 KB.
// run: SYNCOPATE_MACHINE=haswell-4c8t
#include "transactions.h"

namespace {

alignas(4096) volatile char memory[40 << 10];

[[gnu::noinline]] htm::status write(unsigned bytes) {
  return attempt([=] {
    for (unsigned i = 0; i < bytes; i += 64) memory[i] = 1;
  });
}

unsigned committed_of(unsigned count, unsigned bytes) {
  unsigned committed = 0;
  for (unsigned i = 0; i < count; ++i) committed += write(bytes).started();
  return committed;
}

}  // namespace

int main() {
  std::printf("40 KB: %u of 1000 commit\n", committed_of(1000, 40 << 10));
  unsigned before = 0;
  bool grows = true;
  for (int i = 0; i < 5; ++i) {
    const unsigned now = committed_of(1000, 12 << 10);
    if (i == 0) std::printf("12 KB: %s of the first 1000\n", now < 300 ? "few" : "many");
    grows = grows && now > before;
    before = now;
  }
  std::printf("12 KB: %s, %s of the fifth 1000\n", grows ? "ever more" : "not ever more",
              before > 800 ? "most" : "not most");
  std::printf("12 KB: %u of 1000 after that\n", committed_of(2000, 12 << 10) > 1900 ? 1000u : 0u);
}
