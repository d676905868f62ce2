// test_wide.cpp -- accesses of 32 and 64 bytes that the program writes as such: vectors of AVX and
// AVX-512, aligned or not, and copies of structures that hold them; and of 10 bytes, long double.
// options: -mavx2 -mavx512f
// needs: odd accesses
#include <atomic>

#include <immintrin.h>

#include "check.h"

namespace {

using htm::cause;
using vector8 = float __attribute__((vector_size(32)));
using vector16 = float __attribute__((vector_size(64)));

struct both {
  vector8 eight;
  vector16 sixteen;
};

alignas(64) both data, other_data;
alignas(64) float unaligned[64];
constexpr std::size_t across = 10;  // sixteen floats from here on lie in two lines

[[gnu::noinline]] void add() {
  data.eight += 1;
  data.sixteen += 1;
}
[[gnu::noinline]] void copy() { data = other_data; }
[[gnu::noinline]] void add_across() {
  const __m512 one = _mm512_set1_ps(1);
  _mm512_storeu_ps(unaligned + across, _mm512_add_ps(_mm512_loadu_ps(unaligned + across), one));
}

bool is(const both& b, float value) {
  for (int i = 0; i < 8; ++i)
    if (b.eight[i] != value) return false;
  for (int i = 0; i < 16; ++i)
    if (b.sixteen[i] != value) return false;
  return true;
}

void comes_back() {
  const htm::status s = attempt([] {
    add();
    add_across();
    copy();
    htm::abort<1>();
  });
  CHECK(s.code == 1 && is(data, 0));
  for (const float each : unaligned) CHECK(each == 0);
}

// `outside` runs in another thread while a transaction has done `inside`.
template <class Inside, class Outside>
void conflicts(Inside inside, Outside outside) {
  CHECK(while_inside(inside, outside).why == cause::conflict);
}

void are_seen_by_others() {
  conflicts(add, [] { CHECK(is(data, 0)); });
  conflicts([] { CHECK(is(data, 0)); }, [] { copy(); });
  conflicts(add_across, [] { CHECK(unaligned[across + 15] == 0); });
  conflicts([] { CHECK(unaligned[across] == 0); }, [] { add_across(); });
  CHECK(unaligned[across] == 1 && unaligned[across + 15] == 1);
}

// The one that every processor has.
long double number;

void long_double() {
  const htm::status s = attempt([] {
    number += 1;
    htm::abort<1>();
  });
  CHECK(s.code == 1 && number == 0);
  conflicts([] { number += 1; }, [] { CHECK(number == 0); });
  conflicts([] { CHECK(number == 0); }, [] { number += 1; });
}

// Nothing is lost among transactions.
void count() {
  constexpr int threads = 4, turns = 500;
  std::atomic<int> committed{0};
  data = both{};
  run_threads(threads, [&](unsigned) {
    for (int i = 0; i < turns; ++i)
      if (retry(add)) committed.fetch_add(1);
  });
  CHECK(committed > 0 && is(data, static_cast<float>(committed.load())));
}

}  // namespace

int main() {
  long_double();
  if (!__builtin_cpu_supports("avx512f")) {
    std::puts("no AVX-512 here: vectors are left out");
    return 0;
  }
  comes_back();
  are_seen_by_others();
  count();
}
