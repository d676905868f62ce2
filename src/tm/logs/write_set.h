// write_set.h -- the redo log: what a transaction is going to write, by words of eight bytes.
//
// Invariants
//   I1  entries_ holds each word at most once; bytes outside its mask are zero.
//   I2  A slot of the table that carries the present generation names an entry below size(); the
//       entry of word w is found by probing from w's slot, with no empty slot in between.
//   I3  The table is at most half full.
#pragma once

#include "tm/logs/buffer.h"
#include "tm/logs/memory.h"

#include <cstdlib>

namespace syncopate::tm {

struct redo_entry {
  address word;  // a multiple of eight
  u64 value;
  u64 mask;  // 0xff for each byte to be written
};

class write_set {
 public:
  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  redo_entry* begin() noexcept { return entries_.begin(); }
  redo_entry* end() noexcept { return entries_.end(); }

  // The entry of a word, or nullptr.
  [[nodiscard]] redo_entry* find(address word) noexcept {
    if (entries_.empty()) return nullptr;
    for (u32 i = slot_of(word);; i = (i + 1) & mask_) {
      const slot s = slots_[i];
      if (s.generation != generation_) return nullptr;
      if (entries_[s.entry].word == word) return &entries_[s.entry];
    }
  }

  // Adds `mask`ed bytes of a word. `nested`: an inner transaction may be canceled alone, so what
  // the entry held is kept for restore(). Returns false when there is no memory.
  [[nodiscard]] bool put(address word, u64 value, u64 mask, bool nested) noexcept {
    if (__builtin_expect(2 * entries_.size() >= capacity(), 0) && !grow()) return false;
    u32 i = slot_of(word);
    for (; slots_[i].generation == generation_; i = (i + 1) & mask_) {
      redo_entry& e = entries_[slots_[i].entry];
      if (e.word != word) continue;
      if (__builtin_expect(nested, 0) && !keep(slots_[i].entry)) return false;
      e.value = (e.value & ~mask) | (value & mask);
      e.mask |= mask;
      return true;
    }
    redo_entry* const fresh = entries_.push();
    if (fresh == nullptr) return false;
    *fresh = {word, value & mask, mask};
    slots_[i] = {generation_, static_cast<u32>(entries_.size() - 1)};
    return true;
  }

  // Writes everything to memory.
  void write_back() noexcept {
    for (const redo_entry& e : entries_) write(e);
  }
  static void write(const redo_entry& e) noexcept {
    if (e.mask == ~u64{0}) return poke(reinterpret_cast<u64*>(e.word), e.value);
    if (e.mask == 0xffff'ffff)
      return poke(reinterpret_cast<u32*>(e.word), static_cast<u32>(e.value));
    if (e.mask == 0xffff'ffffull << 32)
      return poke(reinterpret_cast<u32*>(e.word + 4), static_cast<u32>(e.value >> 32));
    for (unsigned byte = 0; byte < word_size; ++byte)
      if (e.mask >> (8 * byte) & 1)
        poke(reinterpret_cast<u8*>(e.word + byte), static_cast<u8>(e.value >> (8 * byte)));
  }

  void clear() noexcept {
    entries_.clear();
    journal_.clear();
    if (__builtin_expect(++generation_ == 0, 0)) forget_slots();
  }

  // What restore() needs to come back to the present state.
  struct mark {
    std::size_t entries = 0, journal = 0;
  };
  [[nodiscard]] mark position() const noexcept { return {entries_.size(), journal_.size()}; }

  void restore(const mark& to) noexcept {
    while (journal_.size() > to.journal) {
      const kept_entry& k = journal_.back();
      if (k.index < to.entries) entries_[k.index] = k.entry;
      journal_.pop();
    }
    entries_.shrink(to.entries);
    rebuild();
  }

  // Writes the bytes in [from, from + size) to memory now and forgets them. Entries stay, if empty,
  // so that positions mean what they did.
  void flush(address from, std::size_t size) noexcept {
    for (redo_entry& e : entries_) {
      u64 inside = 0;
      for (unsigned byte = 0; byte < word_size; ++byte)
        if (e.word + byte - from < size) inside |= u64{0xff} << (8 * byte);
      write({e.word, e.value, e.mask & inside});
      e.mask &= ~inside;
      e.value &= e.mask;
    }
  }

 private:
  struct slot {
    u32 generation, entry;
  };
  struct kept_entry {
    std::size_t index;
    redo_entry entry;
  };

  [[nodiscard]] std::size_t capacity() const noexcept {
    return slots_ ? std::size_t{mask_} + 1 : 0;
  }
  [[nodiscard]] u32 slot_of(address word) const noexcept {
    return static_cast<u32>((word >> 3) * 0x9e3779b97f4a7c15u >> 40) & mask_;
  }

  bool keep(u32 index) noexcept {
    kept_entry* const k = journal_.push();
    if (k != nullptr) *k = {index, entries_[index]};
    return k != nullptr;
  }

  void forget_slots() noexcept {
    for (std::size_t i = 0; i < capacity(); ++i) slots_[i].generation = 0;
    generation_ = 1;
  }

  void rebuild() noexcept {
    if (++generation_ == 0) forget_slots();
    for (std::size_t n = 0; n < entries_.size(); ++n) {
      u32 i = slot_of(entries_[n].word);
      while (slots_[i].generation == generation_) i = (i + 1) & mask_;
      slots_[i] = {generation_, static_cast<u32>(n)};
    }
  }

  [[gnu::noinline, gnu::cold]] bool grow() noexcept {
    const std::size_t larger = slots_ ? 2 * capacity() : first_slots;
    if (larger > std::size_t{1} << 24) return false;  // slot_of() tells no more slots apart
    auto* const slots = static_cast<slot*>(std::calloc(larger, sizeof(slot)));
    if (slots == nullptr) return false;
    std::free(slots_);
    slots_ = slots;
    mask_ = static_cast<u32>(larger - 1);
    rebuild();
    return true;
  }

  static constexpr std::size_t first_slots = 256;

  buffer<redo_entry> entries_;
  slot* slots_ = nullptr;
  u32 mask_ = 0;
  u32 generation_ = 1;
  buffer<kept_entry> journal_;
};

}  // namespace syncopate::tm
