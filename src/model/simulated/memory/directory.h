// directory.h -- who has each line, and until when it is in transit.
#pragma once

#include "flat_map.h"
#include "memory.h"

#include <bit>
#include <cstdlib>
#include <memory>
#include <new>

namespace syncopate::simulated {

// A group of cores with a common L2; the directory knows lines by group, the L2 by core.
using group = unsigned;
inline constexpr group nobody = ~0u;

// A set of groups as an array of words that lies elsewhere.
class group_set {
 public:
  group_set(std::uint64_t* words, unsigned count) : words_(words), count_(count) {}

  bool contains(group g) const { return (words_[g / 64] >> g % 64 & 1) != 0; }
  void add(group g) { words_[g / 64] |= std::uint64_t{1} << g % 64; }
  void remove(group g) { words_[g / 64] &= ~(std::uint64_t{1} << g % 64); }

  bool any_in(group begin, group end) const {  // [begin, end)
    for (group at = begin; at < end; at = (at / 64 + 1) * 64) {
      std::uint64_t word = words_[at / 64] >> at % 64;
      const unsigned bits = end - at;
      if (bits < 64) word &= (std::uint64_t{1} << bits) - 1;
      if (word) return true;
    }
    return false;
  }
  bool any_of(const std::uint64_t* other) const {  // as many words
    for (unsigned i = 0; i < count_; ++i)
      if (words_[i] & other[i]) return true;
    return false;
  }
  template <class Action>
  void for_each(Action action) const {
    for (unsigned i = 0; i < count_; ++i)
      for (std::uint64_t word = words_[i]; word; word &= word - 1)
        action(i * 64 + static_cast<unsigned>(std::countr_zero(word)));
  }

 private:
  std::uint64_t* words_;
  unsigned count_;
};

// Invariants (checked by tests/simulated/memory_random_test.cpp)
//   D1  A group whose L2 has the line is in sharers; the converse holds but for groups that have a
//       marked line of a transaction spilled (speculation.cpp), which want to hear of writes.
//   D2  owner, if any, is the only group whose L2 has the line, and has it exclusively.
//   D3  A bit of llc is set only if that LLC has the line. Without it the LLC's tag is stale.
struct line_record {
  cycles busy_until = 0;
  std::uint64_t llc = 0;
  std::uint32_t statistics = 0;  // index + 1 into the lines' statistics; 0: none yet
  std::uint32_t owner = nobody;
  std::uint32_t node = 0;  // whose memory it is: the node that touched the page first
  std::uint32_t unused = 0;
  // followed by the words of sharers
};

// Records of the lines ever requested, in pages of 4 KiB of the program's addresses.
class directory {
 public:
  static constexpr std::size_t page_bytes = 4096;

  directory(unsigned line_bytes, unsigned groups)
      : lines_per_page_(line_bytes >= page_bytes ? 1 : page_bytes / line_bytes),
        page_shift_(static_cast<unsigned>(std::countr_zero(lines_per_page_))),
        words_((groups + 63) / 64),
        stride_(sizeof(line_record) + words_ * sizeof(std::uint64_t)) {}

  line_record* find(line what) {
    page* found = pages_.find(what >> page_shift_);
    return found ? record(found->records.get(), what) : nullptr;
  }

  // Makes the page, as one of `node`, if it was never requested before.
  line_record& at(line what, unsigned node) {
    if (page* found = pages_.find(what >> page_shift_)) return *record(found->records.get(), what);
    return make_page(what, node);
  }

  group_set sharers(line_record& of) const {
    return {reinterpret_cast<std::uint64_t*>(&of + 1), words_};
  }

 private:
  struct deleter {
    void operator()(unsigned char* p) const { std::free(p); }
  };
  struct page {
    std::unique_ptr<unsigned char[], deleter> records;
  };

  line_record* record(unsigned char* records, line what) const {
    return reinterpret_cast<line_record*>(records + (what & (lines_per_page_ - 1)) * stride_);
  }

  line_record& make_page(line what, unsigned node) {
    page made{decltype(page::records)(
        static_cast<unsigned char*>(std::calloc(lines_per_page_, stride_)))};
    if (!made.records) throw std::bad_alloc();
    for (std::size_t i = 0; i < lines_per_page_; ++i) {
      auto* fresh = new (made.records.get() + i * stride_) line_record;
      fresh->node = node;
    }
    page& kept = pages_[what >> page_shift_] = std::move(made);
    return *record(kept.records.get(), what);
  }

  std::size_t lines_per_page_;
  unsigned page_shift_;
  unsigned words_;
  std::size_t stride_;
  flat_map<page> pages_;
};

}  // namespace syncopate::simulated
