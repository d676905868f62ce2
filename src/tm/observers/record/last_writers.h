// last_writers.h -- for each word of memory, which site's transaction has written it last, and
// when: so that one that finds a value changed can say by whom.
//
// A table by hash: an entry is overwritten by other words with the same hash, and its two halves
// may be of two writers. Both are rare, and the worst is a wrong name in a report, or none.
//
// Memory order (each tag stands at its site below)
//   [R]  relaxed: the halves may belong to two writers, as said above.
#pragma once

#include "tm/logs/memory.h"

#include <atomic>

namespace syncopate::tm::observer {

class last_writers {
 public:
  // The transaction of `site` writes to the word of `a` at `time`.
  void note(address a, u32 site, u64 time) noexcept {
    entry& e = entry_of(a);
    e.who.store(word_of(a) << site_bits | site, std::memory_order_relaxed);  // [R]
    e.when.store(time, std::memory_order_relaxed);                           // [R]
  }

  // The site that has written the word of `a` since `time`; if none, the one that was the last to
  // write to the 32 bytes around it, which share an ownership record; 0: unknown.
  [[nodiscard]] u32 since(address a, u64 time) const noexcept {
    if (const found exact = look(a, time); exact.site != 0) return exact.site;
    found latest;
    for (address word = a & ~address{31}, end = word + 32; word != end; word += word_size)
      if (const found f = look(word, time); f.when > latest.when) latest = f;
    return latest.site;
  }

  static constexpr unsigned site_bits = 16;

 private:
  struct entry {
    std::atomic<u64> who{0}, when{0};
  };
  struct found {
    u32 site = 0;
    u64 when = 0;
  };
  static constexpr std::size_t entries = 1u << 20;

  static u64 word_of(address a) noexcept { return a >> 3; }
  entry& entry_of(address a) noexcept { return table_[index_of(a)]; }
  static std::size_t index_of(address a) noexcept {
    return (word_of(a) + (a >> 23) * 0x2545f) & (entries - 1);
  }
  [[nodiscard]] found look(address a, u64 time) const noexcept {
    const entry& e = table_[index_of(a)];
    const u64 who = e.who.load(std::memory_order_relaxed);    // [R]
    const u64 when = e.when.load(std::memory_order_relaxed);  // [R]
    if (who >> site_bits != word_of(a) || when < time) return {};
    return {static_cast<u32>(who & ((u64{1} << site_bits) - 1)), when};
  }

  entry table_[entries];
};

}  // namespace syncopate::tm::observer
