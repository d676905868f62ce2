// Loads, stores and logs that arrive while no transaction runs go straight to memory.
//
// GCC 12's -fipa-sra passes by value what a function gets by reference and only its transaction
// reads; the read may then stand before the transaction, still as a call of the run-time library.
// The calls are written out here, since which function is compiled so depends on the options.
// Stock: fails
#include "check.h"

#include <cstdint>
#include <thread>

#include <xmmintrin.h>

extern "C" {
std::uint64_t _ITM_RU8(const std::uint64_t*);
std::uint8_t _ITM_RaRU1(const std::uint8_t*);
float _ITM_RfWF(const float*);
void _ITM_WU4(std::uint32_t*, std::uint32_t);
void _ITM_WaWU8(std::uint64_t*, std::uint64_t);
void _ITM_LU8(const std::uint64_t*);
__m128 _ITM_RM128(const __m128*);
void _ITM_WM128(__m128*, __m128);
void _ITM_memcpyRtWt(void*, const void*, std::size_t);
void _ITM_memsetW(void*, int, std::size_t);
}

namespace {

constexpr int rounds = 20'000;
std::uint64_t shared_word;

struct values {
  std::uint64_t word = 7;
  std::uint8_t byte = 3;
  std::uint32_t half = 0;
  float number = 1.5f;
  __m128 vector{1, 2, 3, 4};
  char text[600] = {}, copy[600] = {};
};

void access_everything() {
  static thread_local values v;
  v = values{};
  CHECK(_ITM_RU8(&v.word) == 7 && _ITM_RaRU1(&v.byte) == 3 && _ITM_RfWF(&v.number) == 1.5f);
  _ITM_LU8(&v.word);
  _ITM_WaWU8(&v.word, 8);
  _ITM_WU4(&v.half, 5);
  CHECK(v.word == 8 && v.half == 5);
  _ITM_WM128(&v.vector, __m128{4, 3, 2, 1});
  const __m128 read = _ITM_RM128(&v.vector);
  CHECK(read[0] == 4 && v.vector[3] == 1);
  _ITM_memsetW(v.text, 'x', sizeof v.text);
  _ITM_memcpyRtWt(v.copy, v.text, sizeof v.text);
  CHECK(v.copy[0] == 'x' && v.copy[599] == 'x');
}

void write_all_the_time() {
  for (int i = 0; i < rounds; ++i) {
    __transaction_atomic { ++shared_word; }
  }
}

}  // namespace

int main() {
  access_everything();  // before this thread's first transaction
  std::thread([] { access_everything(); }).join();
  __transaction_atomic { ++shared_word; }
  access_everything();  // behind it
  std::thread writer(write_all_the_time);
  std::uint64_t before = 0;
  for (int i = 0; i < rounds; ++i) {
    const std::uint64_t now = _ITM_RU8(&shared_word);  // whoever writes it just now
    CHECK(now >= before);
    before = now;
    if (i % 16 == 0) {
      __transaction_atomic { ++shared_word; }
    }
  }
  writer.join();
  CHECK(_ITM_RU8(&shared_word) == 1 + rounds + (rounds + 15) / 16);
}
