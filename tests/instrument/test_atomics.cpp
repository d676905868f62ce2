// Each atomic operation in each width does what the language says, by plain evaluation.
#include <atomic>
#include <cstdint>

#include "check.h"

namespace {

using u128 = unsigned __int128;

template <class T>
T pattern(unsigned n) {
  T value = 0;
  for (unsigned i = 0; i < sizeof(T); ++i) {
    value = static_cast<T>(value << (sizeof(T) > 1 ? 8 : 0) | ((n * 37u + i * 91u + 5u) & 0xff));
  }
  return value;
}

// Builtins, as std::atomic<__int128> would ask libatomic for plain loads.
template <class T>
void one_width() {
  constexpr int order = __ATOMIC_SEQ_CST;
  alignas(16) static T x[3];  // the neighbors must stay as they are
  const T guard = pattern<T>(99);
  x[0] = x[2] = guard;
  volatile T* at = &x[1];
  for (unsigned n = 0; n < 20; ++n) {
    const T a = pattern<T>(n), b = pattern<T>(n + 1000);
    __atomic_store_n(at, a, __ATOMIC_RELEASE);
    CHECK(__atomic_load_n(at, __ATOMIC_ACQUIRE) == a);
    CHECK(__atomic_exchange_n(at, b, order) == a && *at == b);
    *at = a;
    CHECK(__atomic_fetch_add(at, b, order) == a && *at == static_cast<T>(a + b));
    *at = a;
    CHECK(__atomic_fetch_sub(at, b, order) == a && *at == static_cast<T>(a - b));
    *at = a;
    CHECK(__atomic_fetch_and(at, b, __ATOMIC_RELAXED) == a && *at == static_cast<T>(a & b));
    *at = a;
    CHECK(__atomic_fetch_or(at, b, order) == a && *at == static_cast<T>(a | b));
    *at = a;
    CHECK(__atomic_fetch_xor(at, b, order) == a && *at == static_cast<T>(a ^ b));
    *at = a;
    CHECK(__atomic_fetch_nand(at, b, order) == a && *at == static_cast<T>(~(a & b)));
    *at = a;
    CHECK(__atomic_add_fetch(at, b, order) == static_cast<T>(a + b));
    *at = a;
    T expected = b;
    CHECK(!__atomic_compare_exchange_n(at, &expected, b, false, order, order));
    CHECK(expected == a && *at == a);
    CHECK(__atomic_compare_exchange_n(at, &expected, b, false, order, __ATOMIC_RELAXED));
    CHECK(expected == a && *at == b);
    expected = a;
    CHECK(!__atomic_compare_exchange_n(at, &expected, a, true, order, order) && expected == b);
    CHECK(__sync_val_compare_and_swap(at, b, a) == b && *at == a);
    CHECK(__sync_val_compare_and_swap(at, b, b) == a && *at == a);
  }
  CHECK(x[0] == guard && x[2] == guard);
}

template <class T>
struct at_start {
  at_start() { one_width<T>(); }
};
// The same before main, where no machine runs yet.
at_start<std::uint8_t> s1;
at_start<std::uint16_t> s2;
at_start<std::uint32_t> s4;
at_start<std::uint64_t> s8;
at_start<u128> s16;

struct __attribute__((packed)) odd {
  char c;
  std::uint16_t s;
  std::uint32_t i;
  volatile std::uint64_t l;
};

}  // namespace

int main() {
  one_width<std::uint8_t>();
  one_width<std::uint16_t>();
  one_width<std::uint32_t>();
  one_width<std::uint64_t>();
  one_width<u128>();

  std::atomic<bool> flag{false};
  CHECK(!flag.exchange(true) && flag);
  std::atomic_flag once;
  CHECK(!once.test_and_set() && once.test_and_set());
  int object = 0;
  std::atomic<int*> pointer{&object};
  CHECK(++pointer == &object + 1);
  std::atomic<double> real{1.5};
  real += 2.0;
  CHECK(real == 3.5);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  std::atomic_signal_fence(std::memory_order_seq_cst);

  static odd o{};
  o.s += 3;
  o.i += 4;
  o.l = o.l + 5;
  CHECK(o.s == 3 && o.i == 4 && o.l == 5);
}
