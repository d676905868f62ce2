// value_log.h -- what was in memory, and where: the undo log of algorithms that write in place,
// and the read log of those that validate by value.
#pragma once

#include "tm/logs/buffer.h"
#include "tm/logs/memory.h"

namespace syncopate::tm {

struct logged_value {
  place at;
  u64 value;
};

class value_log : public buffer<logged_value> {
 public:
  // Returns false when there is no memory.
  template <class T>
  [[nodiscard, gnu::always_inline]] bool add(const T* at, T value) noexcept {
    logged_value* const entry = push();
    if (__builtin_expect(entry == nullptr, 0)) return false;
    *entry = {place(at), value};
    return true;
  }

  // Logs what is at `at` now. Returns false when there is no memory.
  [[nodiscard]] bool add_block(const void* at, std::size_t size) noexcept {
    bool stored = true;
    for_each_piece(at, size,
                   [&](auto* piece, std::size_t) { stored = stored && add(piece, peek(piece)); });
    return stored;
  }

  // Puts back what was logged after the first `kept` entries, newest first, but not into
  // [dead_from, dead_to): stack that the code that rolls back may be running on.
  void undo(std::size_t kept, address dead_from, address dead_to) noexcept {
    while (size() > kept) {
      const logged_value& entry = back();
      const address where = entry.at.where();
      const bool blank = where == 0;
      if (!blank && (where + entry.at.size() <= dead_from || where >= dead_to))
        entry.at.set(entry.value);
      pop();
    }
  }

  // Blanks the entries that lie wholly in [from, from + size): undo() does nothing there, and
  // positions in the log mean what they did.
  void blank(address from, std::size_t size) noexcept {
    for (logged_value& entry : *this)
      if (entry.at.where() >= from && entry.at.where() + entry.at.size() <= from + size)
        entry.at = place();
  }

  // Forgets the entries that lie wholly in [from, from + size).
  void drop(address from, std::size_t size) noexcept {
    logged_value* kept = begin();
    for (const logged_value& entry : *this)
      if (entry.at.where() < from || entry.at.where() + entry.at.size() > from + size)
        *kept++ = entry;
    shrink(static_cast<std::size_t>(kept - begin()));
  }
};

}  // namespace syncopate::tm
