// Marshaling, as in Ruan, Vyas, Liu & Spear, ASPLOS 2014, section 3.4: a transaction copies shared
// data to its stack, calls a library function there that is declared pure, and copies the result
// back. The function sees what the transaction has just written.
#include "check.h"

#include <cstring>
#include <thread>
#include <vector>

namespace {

char shared_text[32] = "0";
long total;

[[gnu::transaction_pure, gnu::noinline]] long parse(const char* text) { return std::atol(text); }
[[gnu::transaction_pure, gnu::noinline]] void print(char* text, long value) {
  std::snprintf(text, 32, "%ld", value);
}

void count(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    long seen = 0, expected = 0;
    __transaction_atomic {
      char local[32];
      for (int k = 0; k < 32; ++k) local[k] = shared_text[k];
      seen = parse(local);
      expected = total;
      ++total;
      print(local, seen + 1);
      for (int k = 0; k < 32; ++k) shared_text[k] = local[k];
    }
    CHECK(seen == expected);
  }
}

}  // namespace

int main() {
  std::vector<std::thread> all;
  for (int i = 0; i < 3; ++i) all.emplace_back(count, 2000);
  for (auto& t : all) t.join();
  CHECK(total == 6000 && std::strcmp(shared_text, "6000") == 0);
}
