// rows.h -- a thread's rows of one kind in the record, found by what they are about.
//
// Invariants
//   I1  At most half of the slots are used, so that every search ends; rows are never taken out.
#pragma once

#include "record/threads.h"
#include "record/transaction_format.h"
#include "tm/logs/memory.h"

namespace syncopate::tm::observer {

inline u64 hash_of(const record::site_row& row) noexcept { return row.address; }
inline bool is_same(const record::site_row& a, const record::site_row& b) noexcept {
  return a.address == b.address;
}

inline u64 hash_of(const record::conflict_row& row) noexcept {
  return row.address ^ u64 { row.site } << 44 ^ u64 { row.winner } << 28 ^ u64 { row.cause } << 60;
}
inline bool is_same(const record::conflict_row& a, const record::conflict_row& b) noexcept {
  return a.address == b.address && a.site == b.site && a.winner == b.winner && a.cause == b.cause;
}

inline u64 hash_of(const record::unsafe_row& row) noexcept {
  return row.from ^ row.called << 16 ^ u64 { row.site } << 44;
}
inline bool is_same(const record::unsafe_row& a, const record::unsafe_row& b) noexcept {
  return a.from == b.from && a.called == b.called && a.site == b.site;
}

template <class Row, record::chunk_kind kind>
class rows {
 public:
  // The thread's row that is the same as `key`; a copy of `key` where there was none. nullptr when
  // the thread has too many, or the record is full. Requires: inside a record::entry.
  Row* find(const Row& key) noexcept {
    if (slots_ == nullptr)
      slots_ = static_cast<Row**>(record::sys::pages(slot_count * sizeof(Row*)));
    if (slots_ == nullptr) return nullptr;
    u64 i = hash_of(key) * 0x9e3779b97f4a7c15u >> 52;
    for (; slots_[i] != nullptr; i = (i + 1) % slot_count)
      if (is_same(*slots_[i], key)) return slots_[i];
    const record::thread_state* const thread = record::this_thread();
    if (2 * (used_ + 1) > slot_count || thread == nullptr) return nullptr;
    Row* const made = record::next_item<Row>(chunk_, kind, thread->index);
    if (made == nullptr) return nullptr;
    *made = key;
    record::publish_item(chunk_);
    ++used_;
    return slots_[i] = made;
  }

  // Forgets all rows, which stay in the record.
  void forget() noexcept {
    record::sys::free_pages(slots_, slot_count * sizeof(Row*));
    *this = {};
  }

 private:
  static constexpr std::size_t slot_count = 4096;

  Row** slots_ = nullptr;
  std::size_t used_ = 0;
  record::own_chunk chunk_;
};

}  // namespace syncopate::tm::observer
