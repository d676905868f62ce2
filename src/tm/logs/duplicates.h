// duplicates.h -- removes from a log of reads what stands in it more than once.
//
// Who reads enters it without a look at the log: nothing costs less. Only when the log is full, the
// duplicates go. Where they were few, the log gets longer, and nobody looks for them for a while,
// which is twice as long each time. So a log whose reads are mostly repeated is hardly ever more
// than four times as long as without duplicates, and one without any pays next to nothing.
#pragma once

#include "tm/logs/buffer.h"
#include "tm/logs/memory.h"

#include <cstdlib>

namespace syncopate::tm {

class duplicate_filter {
 public:
  // Makes room for one more element at least. key(element), an integer, is that of its duplicates
  // alone. Returns false when there is no memory.
  template <class T, class Key>
  [[nodiscard, gnu::noinline, gnu::cold]] bool make_room(buffer<T>& log, Key key) noexcept {
    if (log.empty()) return log.grow(1);
    if (wait_ != 0) return --wait_, log.grow(1);
    const std::size_t before = log.size();
    remove(log, key);
    if (log.size() <= before - before / 4) return in_vain_ = 0, true;
    if (in_vain_ < longest_wait) in_vain_ = 2 * in_vain_ + 1;
    wait_ = in_vain_;
    return log.grow(1);
  }

 private:
  static constexpr u32 longest_wait = 63;

  // Keeps the first of each. Without memory for its table, it keeps all.
  template <class T, class Key>
  static void remove(buffer<T>& log, Key key) noexcept {
    std::size_t slots = 16;
    while (slots < 2 * log.size()) slots *= 2;
    auto* const table = static_cast<u32*>(std::calloc(slots, sizeof(u32)));  // place + 1; 0: empty
    if (table == nullptr) return;
    std::size_t kept = 0;
    for (const T& element : log) {
      std::size_t i = key(element) * 0x9e3779b97f4a7c15u >> 32 & (slots - 1);
      while (table[i] != 0 && key(log[table[i] - 1]) != key(element)) i = (i + 1) & (slots - 1);
      if (table[i] != 0) continue;
      log[kept++] = element;
      table[i] = static_cast<u32>(kept);
    }
    std::free(table);
    log.shrink(kept);
  }

  u32 in_vain_ = 0;  // how long the last wait was, in times that a log was full
  u32 wait_ = 0;
};

}  // namespace syncopate::tm
