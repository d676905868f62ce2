// test_avx.cpp -- vectors of 32 bytes.
// options: -mavx2 -O3
#include "check.h"

namespace {

alignas(64) float a[256], b[256];
alignas(64) double d[64];

[[gnu::noinline]] void add() {
  for (int i = 0; i < 256; ++i) a[i] += b[i];
}
[[gnu::noinline]] void scale(double by) {
  for (double& each : d) each *= by;
}

}  // namespace

int main() {
  if (!__builtin_cpu_supports("avx2")) {
    std::puts("no AVX2 here: nothing to run");
    return 0;
  }
  for (int i = 0; i < 256; ++i) b[i] = static_cast<float>(i);
  for (double& each : d) each = 3;
  const htm::status s = attempt([] {
    add();
    scale(2);
    htm::abort<1>();
  });
  CHECK(s.code == 1);
  for (int i = 0; i < 256; ++i) CHECK(a[i] == 0);
  for (const double each : d) CHECK(each == 3);

  const htm::status conflict = while_inside(add, [&] {
    CHECK(a[200] == 0);
    scale(3);
  });
  CHECK(conflict.why == htm::cause::conflict && a[255] == 0 && d[63] == 9);
  CHECK(retry(add) && a[255] == 255);
}
