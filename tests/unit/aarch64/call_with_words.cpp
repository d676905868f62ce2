// call_with_words.cpp -- products/openmp/base/call_with_words.h: each argument arrives, however
// many lie on the stack, which is aligned; and exceptions pass.
#include "openmp/base/call_with_words.h"

#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

namespace {

using syncopate::openmp::fewest_words;
using syncopate::openmp::syncopate_call_with_words;

int failed = 0;

template <std::size_t... I>
struct callee {
  template <std::size_t>
  using word = std::uintptr_t;

  static void run(word<I>... words) {
    alignas(16) volatile char here[16] = {};
    std::size_t wrong = 0, i = 0;
    ((wrong += words != ++i), ...);
    if (wrong == 0 && reinterpret_cast<std::uintptr_t>(here) % 16 == 0) throw i;
  }
};

template <std::size_t... I>
void try_with(std::index_sequence<I...>) {
  std::vector<void*> words;
  for (std::size_t i = 1; i <= sizeof...(I); ++i) words.push_back(reinterpret_cast<void*>(i));
  std::size_t thrown = 0;
  try {
    syncopate_call_with_words(reinterpret_cast<void (*)()>(callee<I...>::run), words.data(),
                              words.size());
  } catch (std::size_t count) {
    thrown = count;
  }
  if (thrown == sizeof...(I)) return;
  std::printf("failed: %zu arguments\n", sizeof...(I));
  ++failed;
}

}  // namespace

int main() {
  try_with(std::make_index_sequence<fewest_words>());
  try_with(std::make_index_sequence<fewest_words + 1>());
  try_with(std::make_index_sequence<fewest_words + 2>());
  try_with(std::make_index_sequence<fewest_words + 3>());
  try_with(std::make_index_sequence<999>());
  return failed == 0 ? 0 : 1;
}
