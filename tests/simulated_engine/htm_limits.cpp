// Limits that a description states: lines read and written, interrupts, no always-abort mode.
// run: SYNCOPATE_MACHINE=@dir@/small-htm.toml
#include "transactions.h"

namespace {

alignas(64) volatile char memory[1 << 16];

}  // namespace

int main() {
  for (unsigned count : {16u, 17u}) {
    const htm::status s = attempt([=] {
      for (unsigned i = 0; i < count; ++i) (void)memory[i * 64];
    });
    std::printf("read %u lines: %s\n", count, text(s));
  }
  for (unsigned count : {8u, 9u}) {
    const htm::status s = attempt([=] {
      for (unsigned i = 0; i < count; ++i) memory[i * 64] = 1;
    });
    std::printf("write %u lines: %s\n", count, text(s));
  }
  std::printf("always_abort: %s\n", text(attempt([] {}, htm::mode::always_abort)));
  // One interrupt in 100,000 cycles: of transactions that take 10,000 about one in ten ends so.
  unsigned interrupted = 0;
  constexpr unsigned all = 200;
  for (unsigned i = 0; i < all; ++i) {
    const htm::status s = attempt([] {
      for (unsigned k = 0; k < 5000; ++k) memory[0] = 1;
    });
    interrupted += s.why == htm::cause::other;
  }
  std::printf("interrupts: %s\n", interrupted > all / 20 && interrupted < all / 5
                                      ? "about one transaction in ten"
                                      : "not as many as stated");
}
