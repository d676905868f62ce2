// shadow.cpp -- see shadow.h.
#include "shadow.h"

#include <algorithm>

namespace syncopate::explored {

namespace {
constexpr unsigned granule_bits = 3;

bool writes(touch how) noexcept { return how != touch::read && how != touch::atomic_read; }
bool is_atomic(touch how) noexcept {
  return how == touch::atomic_read || how == touch::atomic_write;
}
bool conflict(touch a, touch b) noexcept {
  return (writes(a) || writes(b)) && !(is_atomic(a) && is_atomic(b));
}
// Whatever races with `old` races with `now`, too, if old happens-before now.
bool replaces(const access_record& now, const access_record& old) noexcept {
  return (old.bytes & ~now.bytes) == 0 && (writes(now.how) || !writes(old.how)) &&
         (!is_atomic(now.how) || is_atomic(old.how));
}
}  // namespace

const char* name(touch how) noexcept {
  switch (how) {
    case touch::read: return "a read";
    case touch::write: return "a write";
    case touch::atomic_read: return "an atomic read";
    case touch::atomic_write: return "an atomic write";
    case touch::release: return "the release of the memory";
    case touch::leave: return "the return from the variable's function";
  }
  return "?";
}

shadow::shadow() : cells_(4096) {}

void shadow::reset() {
  ++execution_;
  used_ = 0;
  freed_.clear();
}

shadow::cell& shadow::cell_of(engine::address granule) {
  for (;;) {
    const std::size_t mask = cells_.size() - 1;
    for (std::size_t i = (granule * 0x9e3779b97f4a7c15u) >> 32;; ++i) {
      cell& c = cells_[i & mask];
      if (c.execution == execution_ && c.granule == granule) return c;
      if (c.execution == execution_) continue;
      if (++used_ * 2 > cells_.size()) break;
      c.granule = granule;
      c.execution = execution_;
      c.count = 0;
      c.more.clear();
      return c;
    }
    std::vector<cell> old(cells_.size() * 2);
    old.swap(cells_);
    used_ = 0;
    for (cell& c : old)
      if (c.execution == execution_) cell_of(c.granule) = std::move(c);
  }
}

shadow::cell* shadow::known_cell(engine::address granule) noexcept {
  const std::size_t mask = cells_.size() - 1;
  for (std::size_t i = (granule * 0x9e3779b97f4a7c15u) >> 32;; ++i) {
    cell& c = cells_[i & mask];
    if (c.execution != execution_) return nullptr;
    if (c.granule == granule) return &c;
  }
}

bool shadow::add(cell& c, const access_record& now, const clock& happened) {
  const auto race = [&](const access_record& old) {
    return (old.bytes & now.bytes) != 0 && old.thread != now.thread && conflict(old.how, now.how) &&
           !happened.covers(old.thread, old.time);
  };
  const auto stale = [&](const access_record& old) {
    return replaces(now, old) &&
           (old.thread == now.thread || happened.covers(old.thread, old.time));
  };
  unsigned kept = 0;
  for (unsigned i = 0; i < c.count; ++i) {
    if (race(c.records[i])) {
      found_ = c.records[i];
      return false;
    }
    if (stale(c.records[i])) continue;
    if (kept != i) c.records[kept] = c.records[i];
    ++kept;
  }
  c.count = static_cast<std::uint16_t>(kept);
  for (std::size_t i = 0; i < c.more.size();) {
    if (race(c.more[i])) {
      found_ = c.more[i];
      return false;
    }
    if (stale(c.more[i])) {
      c.more[i] = c.more.back();
      c.more.pop_back();
    } else {
      ++i;
    }
  }
  if (c.count < own_records) c.records[c.count++] = now;
  else c.more.push_back(now);
  return true;
}

const access_record* shadow::access(engine::address at, std::size_t bytes, touch how,
                                    std::uint8_t thread, const clock& happened,
                                    engine::place where) {
  const engine::address end = at + bytes;
  while (at < end) {
    const engine::address granule = at >> granule_bits;
    const engine::address low = granule << granule_bits;
    const engine::address high = std::min<engine::address>(end, low + 8);
    const unsigned mask = (0xffu >> (8 - (high - at))) << (at - low);
    const access_record now{where, happened.at[thread], thread, static_cast<std::uint8_t>(mask),
                            how};
    if (!add(cell_of(granule), now, happened)) return &found_;
    at = high;
  }
  return nullptr;
}

const access_record* shadow::leave(engine::address low, engine::address high, std::uint8_t thread,
                                   const clock& happened, engine::place where) {
  for (engine::address at = low >> granule_bits << granule_bits; at < high; at += 8)
    if (known_cell(at >> granule_bits) != nullptr) {
      const engine::address first = std::max(at, low),
                            end = std::min<engine::address>(at + 8, high);
      if (const auto* other = access(first, end - first, touch::leave, thread, happened, where))
        return other;
    }
  return nullptr;
}

const access_record* shadow::races_with(engine::address at, std::size_t bytes, touch how,
                                        std::uint8_t thread, const clock& happened) {
  const auto races = [&](const access_record& old, unsigned mask) {
    return (old.bytes & mask) != 0 && old.thread != thread && conflict(old.how, how) &&
           !happened.covers(old.thread, old.time);
  };
  for (const engine::address end = at + bytes; at < end;) {
    const engine::address low = at >> granule_bits << granule_bits;
    const engine::address high = std::min<engine::address>(end, low + 8);
    const unsigned mask = (0xffu >> (8 - (high - at))) << (at - low);
    const cell& c = cell_of(at >> granule_bits);
    for (unsigned i = 0; i < c.count; ++i)
      if (races(c.records[i], mask)) return &c.records[i];
    for (const access_record& old : c.more)
      if (races(old, mask)) return &old;
    at = high;
  }
  return nullptr;
}

const shadow::freed_block* shadow::freed_at(engine::address at, std::size_t bytes) const noexcept {
  for (const freed_block& b : freed_)
    if (at < b.start + b.bytes && b.start < at + bytes) return &b;
  return nullptr;
}

void shadow::add_freed(const freed_block& block) { freed_.push_back(block); }

void shadow::forget(engine::address at, std::size_t bytes) {
  std::erase_if(
      freed_, [&](const freed_block& b) { return at < b.start + b.bytes && b.start < at + bytes; });
  const engine::address first = at >> granule_bits, last = (at + bytes + 7) >> granule_bits;
  const auto clear = [](cell& c) {
    c.count = 0;
    c.more.clear();
  };
  if (last - first > cells_.size()) {
    for (cell& c : cells_)
      if (c.execution == execution_ && c.granule >= first && c.granule < last) clear(c);
    return;
  }
  for (engine::address granule = first; granule < last; ++granule)
    if (cell* const c = known_cell(granule)) clear(*c);
}

}  // namespace syncopate::explored
