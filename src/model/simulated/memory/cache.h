// cache.h -- one set-associative cache as an array of tags, exact LRU.
//
// A set is kept in order of use, the most recently used entry first and the free ones last, so
// that the common hit compares one word and the victim is always the last entry.
#pragma once

#include "memory.h"

#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

namespace syncopate::simulated {

// One tag: the line's number above 16 bits of flags; 0 is a free entry.
using tag = std::uint64_t;

namespace tags {

inline constexpr unsigned flag_bits = 16;
inline constexpr tag flags = (tag{1} << flag_bits) - 1;
inline constexpr tag valid = 1;
inline constexpr tag exclusive = 2;  // nobody else has the line: it may be written
inline constexpr tag dirty = 4;
// L1: siblings that marked the line as read or written, one bit each.
inline constexpr unsigned read_marks = 4;
inline constexpr unsigned written_marks = 8;
inline constexpr tag all_marks = 0xff0;
// L2: cores that have the line in their L1, one bit each.
inline constexpr unsigned l1_copies = 8;
inline constexpr tag all_l1_copies = 0xff00;

inline constexpr line line_of(tag entry) { return entry >> flag_bits; }
inline constexpr tag make(line what, tag with) { return what << flag_bits | valid | with; }

}  // namespace tags

class cache {
 public:
  cache(std::uint64_t sets, unsigned ways)
      : sets_(sets), mask_((sets & (sets - 1)) == 0 ? sets - 1 : 0), ways_(ways) {
    // calloc: pages that are never touched cost nothing, and an LLC has millions of tags.
    tags_.reset(static_cast<tag*>(std::calloc(sets * ways, sizeof(tag))));
    if (!tags_) throw std::bad_alloc();
  }
  explicit cache(const cache_description& of) : cache(of.sets(), of.ways) {}

  unsigned ways() const { return ways_; }
  std::uint64_t entries() const { return sets_ * ways_; }
  tag at(std::uint64_t index) const { return tags_[index]; }

  tag* set_of(line what) {
    return tags_.get() + (mask_ || sets_ == 1 ? what & mask_ : what % sets_) * ways_;
  }

  // The line's entry, or null. Leaves the order of use alone.
  tag* find(line what) {
    tag* set = set_of(what);
    for (unsigned way = 0; way < ways_ && set[way] != 0; ++way)
      if (matches(set[way], what)) return set + way;
    return nullptr;
  }
  const tag* find(line what) const { return const_cast<cache*>(this)->find(what); }

  // The line's entry, now the most recently used one, or null.
  tag* touch(line what) {
    tag* set = set_of(what);
    if (matches(set[0], what)) return set;
    if (set[0] == 0) return nullptr;
    for (unsigned way = 1; way < ways_ && set[way] != 0; ++way)
      if (matches(set[way], what)) {
        const tag entry = set[way];
        put_first(set, way, entry);
        return set;
      }
    return nullptr;
  }

  // Requires: the line is absent. Returns: the victim, 0 if there was room. The new entry is the
  // first of its set.
  tag insert(tag entry) {
    tag* set = set_of(tags::line_of(entry));
    unsigned used = 0;
    while (used < ways_ - 1 && set[used] != 0) ++used;
    const tag victim = set[used];
    put_first(set, used, entry);
    return victim;
  }

  void erase(tag* entry) {
    tag* const last = set_of(tags::line_of(*entry)) + ways_ - 1;
    for (; entry != last && *entry != 0; ++entry) *entry = entry[1];
    *entry = 0;
  }

 private:
  struct deleter {
    void operator()(tag* p) const { std::free(p); }
  };

  // Moves the set's first `count` entries by one, and puts `entry` before them. Not by memmove():
  // they are few, and this library's memmove is the program's, too.
  static void put_first(tag* set, unsigned count, tag entry) {
    for (unsigned way = 0; way <= count; ++way) entry = std::exchange(set[way], entry);
  }

  static bool matches(tag entry, line what) {
    return entry >> tags::flag_bits == what && (entry & tags::valid) != 0;
  }

  std::uint64_t sets_;
  std::uint64_t mask_;  // 0 if the number of sets is not a power of two
  unsigned ways_;
  std::unique_ptr<tag[], deleter> tags_;
};

}  // namespace syncopate::simulated
