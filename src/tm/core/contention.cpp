//
// Memory order (each tag stands at its site below)
//   [T]  relaxed: a hint, and each thread finds its own store; try_narrow() decides who is the one.
#include "tm/core/contention.h"

#include "tm/core/backoff.h"
#include "tm/core/regime.h"

#include <cstring>

namespace syncopate::tm::contention {
namespace {

constexpr const char* names[] = {"none", "backoff", "hourglass", "serialize"};
constinit manager present = manager::serialize;

// After so many failures a transaction runs alone. libitm: 100. A transaction that failed eight
// times has cost eight times its work; running alone costs the others one.
constexpr u32 serialize_after = 8;
constexpr u32 hourglass_after = 4;
constexpr u32 longest_pause = 1u << 12;  // polite spin steps, about 80 microseconds

// The one that made the regime narrow.
constinit std::atomic<transaction*> toxic{nullptr};

void pause_randomly(transaction* tx) noexcept {
  const u32 shift = tx->attempts < 8 ? tx->attempts : 8;
  const u32 limit = 16u << shift < longest_pause ? 16u << shift : longest_pause;
  tx->random = tx->random * 6364136223846793005u + 1442695040888963407u;
  // Others cannot finish while we keep a processor that one of them waits for.
  if (tx->attempts > 2) machine::yield();
  machine::spin(static_cast<u32>(tx->random >> 33) % limit);
}

}  // namespace

verdict after_failure(transaction* tx) noexcept {
  switch (present) {
    case manager::none: break;
    case manager::backoff: pause_randomly(tx); break;
    case manager::hourglass:
      if (tx->attempts >= hourglass_after &&
          toxic.load(std::memory_order_relaxed) == nullptr &&  // [T]
          now.try_narrow())
        toxic.store(tx, std::memory_order_relaxed);  // [T]
      break;
    case manager::serialize:
      if (tx->attempts >= serialize_after) return verdict::alone;
      pause_randomly(tx);
      break;
  }
  return verdict::again;
}

void after_success(transaction* tx) noexcept {
  tx->attempts = 0;
  if (toxic.load(std::memory_order_relaxed) != tx) return;  // [T]
  toxic.store(nullptr, std::memory_order_relaxed);          // [T]
  now.widen();
}

bool choose(const char* name) noexcept {
  for (int i = 0; i < 4; ++i)
    if (std::strcmp(name, names[i]) == 0) {
      present = static_cast<manager>(i);
      return true;
    }
  return false;
}

void list(std::FILE* to) noexcept {
  for (const char* name : names) std::fprintf(to, " %s", name);
  std::fputs(" (using serialize)\n", to);
}

}  // namespace syncopate::tm::contention
