// shadow.cpp -- see shadow.h.
#include "shadow.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace syncopate::explored {

namespace {
constexpr unsigned granule_bits = 3;

[[gnu::always_inline]] inline bool writes(touch how) noexcept {
  return how != touch::read && how != touch::atomic_read;
}
[[gnu::always_inline]] inline bool is_atomic(touch how) noexcept {
  return how == touch::atomic_read || how == touch::atomic_write;
}
[[gnu::always_inline]] inline bool conflict(touch a, touch b) noexcept {
  return (writes(a) || writes(b)) && !(is_atomic(a) && is_atomic(b));
}
// Whatever races with `old` races with `now`, too, if old happens-before now.
[[gnu::always_inline]] inline bool replaces(const access_record& now,
                                            const access_record& old) noexcept {
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

shadow::shadow() : pages_(256) {}

void shadow::reset() {
  ++execution_;
  freed_.clear();
  freed_low_ = ~engine::address{0};
  freed_high_ = 0;
}

// ---- cells ------------------------------------------------------------------------------------

shadow::page* shadow::find(engine::address number) noexcept {
  const std::size_t mask = pages_.size() - 1;
  for (std::size_t i = (number * 0x9e3779b97f4a7c15u) >> 32;; ++i) {
    page* const p = pages_[i & mask].get();
    if (p == nullptr || p->number == number) return p;
  }
}

shadow::page* shadow::known_page(engine::address number) noexcept {
  page*& recent = recent_[number % recent_.size()];
  if (recent == nullptr || recent->number != number) {
    page* const p = find(number);
    if (p == nullptr) return nullptr;
    recent = p;
  }
  return recent->execution == execution_ ? recent : nullptr;
}

shadow::page& shadow::make_page(engine::address number) {
  page* found = find(number);
  if (found == nullptr) {
    const auto insert = [&](std::unique_ptr<page> p) {
      std::size_t i = (p->number * 0x9e3779b97f4a7c15u) >> 32;
      while (pages_[i & (pages_.size() - 1)] != nullptr) ++i;
      pages_[i & (pages_.size() - 1)] = std::move(p);
    };
    if (++page_count_ * 2 > pages_.size()) {
      std::vector<std::unique_ptr<page>> old(pages_.size() * 2);
      old.swap(pages_);
      for (auto& p : old)
        if (p != nullptr) insert(std::move(p));
    }
    auto made = std::make_unique<page>();
    made->number = number;
    found = made.get();
    insert(std::move(made));
  }
  if (found->execution != execution_) {
    found->execution = execution_;
    found->known.fill(0);
  }
  return *(recent_[number % recent_.size()] = found);
}

inline shadow::cell& shadow::cell_of(page& p, engine::address granule) noexcept {
  const std::size_t i = granule % page::cells;
  cell& c = p.of[i];
  std::uint64_t& known = p.known[i / 64];
  const std::uint64_t bit = std::uint64_t{1} << i % 64;
  if ((known & bit) == 0) {
    known |= bit;
    c.count = 0;
    if (!c.more.empty()) c.more.clear();
  }
  return c;
}

template <class F>
bool shadow::for_known(engine::address first, engine::address last, F f) {
  const auto visit = [&](page& p, engine::address from, engine::address to) {
    while (from < to) {
      const std::size_t i = from % page::cells;
      const std::uint64_t left = p.known[i / 64] >> i % 64;
      if (left == 0) {
        from += 64 - i % 64;
        continue;
      }
      from += static_cast<unsigned>(std::countr_zero(left));
      if (from < to && !f(p.of[from % page::cells], from)) return false;
      ++from;
    }
    return true;
  };
  const engine::address first_page = first / page::cells, last_page = (last - 1) / page::cells;
  const auto part = [&](page& p) {
    return visit(p, std::max(first, p.number * page::cells),
                 std::min(last, (p.number + 1) * page::cells));
  };
  if (first >= last) return true;
  if (last_page - first_page > page_count_)
    return std::all_of(pages_.begin(), pages_.end(), [&](const auto& p) {
      return p == nullptr || p->execution != execution_ || p->number < first_page ||
             p->number > last_page || part(*p);
    });
  for (engine::address number = first_page; number <= last_page; ++number)
    if (page* const p = known_page(number); p != nullptr && !part(*p)) return false;
  return true;
}

bool shadow::add(cell& c, const access_record& now, const clock& happened) {
  if (c.more.empty() && (c.count == 0 || (c.count == 1 && c.records[0].thread == now.thread &&
                                          replaces(now, c.records[0])))) {
    c.count = 1;
    c.records[0] = now;
    return true;
  }
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
  c.count = kept;
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

// found_ races with an access to these of the 8 bytes.
const access_record* shadow::found(engine::address granule, unsigned mask) noexcept {
  raced_at_ = granule + static_cast<unsigned>(std::countr_zero(found_.bytes & mask));
  return &found_;
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
    if (!add(cell_of(page_of(granule / page::cells), granule), now, happened))
      return found(low, mask);
    at = high;
  }
  return nullptr;
}

const access_record* shadow::leave(engine::address low, engine::address high, std::uint8_t thread,
                                   const clock& happened, engine::place where) {
  const auto leave_one = [&](cell& c, engine::address granule) {
    const engine::address at = granule << granule_bits;
    const engine::address first = std::max(at, low), end = std::min<engine::address>(at + 8, high);
    const unsigned mask = (0xffu >> (8 - (end - first))) << (first - at);
    const bool fits =
        add(c, {where, happened.at[thread], thread, static_cast<std::uint8_t>(mask), touch::leave},
            happened);
    if (!fits) found(at, mask);
    return fits;
  };
  return for_known(low >> granule_bits, (high + 7) >> granule_bits, leave_one) ? nullptr : &found_;
}

const access_record* shadow::races_with(engine::address at, std::size_t bytes, touch how,
                                        std::uint8_t thread, const clock& happened) {
  const auto races = [&](const access_record& old, unsigned mask) {
    return (old.bytes & mask) != 0 && old.thread != thread && conflict(old.how, how) &&
           !happened.covers(old.thread, old.time);
  };
  const engine::address end = at + bytes;
  const auto none = [&](const cell& c, engine::address granule) {
    const engine::address low = granule << granule_bits;
    const engine::address first = std::max(at, low), last = std::min<engine::address>(end, low + 8);
    const unsigned mask = (0xffu >> (8 - (last - first))) << (first - low);
    const auto races_here = [&](const access_record& old) {
      if (!races(old, mask)) return false;
      found_ = old;
      found(low, mask);
      return true;
    };
    return std::none_of(c.records, c.records + c.count, races_here) &&
           std::none_of(c.more.begin(), c.more.end(), races_here);
  };
  return for_known(at >> granule_bits, (end + 7) >> granule_bits, none) ? nullptr : &found_;
}

bool shadow::is_written(engine::address at, std::size_t bytes) {
  const engine::address end = at + bytes;
  const auto nobody = [&](const cell& c, engine::address granule) {
    const engine::address low = granule << granule_bits;
    const engine::address first = std::max(at, low), last = std::min<engine::address>(end, low + 8);
    const unsigned mask = (0xffu >> (8 - (last - first))) << (first - low);
    const auto wrote = [&](const access_record& old) {
      return (old.bytes & mask) != 0 && (old.how == touch::write || old.how == touch::atomic_write);
    };
    return std::none_of(c.records, c.records + c.count, wrote) &&
           std::none_of(c.more.begin(), c.more.end(), wrote);
  };
  return !for_known(at >> granule_bits, (end + 7) >> granule_bits, nobody);
}

const shadow::freed_block* shadow::freed_in(engine::address at, std::size_t bytes) const noexcept {
  for (const freed_block& b : freed_)
    if (at < b.start + b.bytes && b.start < at + bytes) return &b;
  return nullptr;
}

void shadow::add_freed(const freed_block& block) {
  freed_.push_back(block);
  freed_low_ = std::min(freed_low_, block.start);
  freed_high_ = std::max(freed_high_, block.start + block.bytes);
}

void shadow::forget(engine::address at, std::size_t bytes) {
  if (freed_at(at, bytes) != nullptr)
    std::erase_if(freed_, [&](const freed_block& b) {
      return at < b.start + b.bytes && b.start < at + bytes;
    });
  const auto clear = [](cell& c, engine::address) {
    c.count = 0;
    if (!c.more.empty()) c.more.clear();
    return true;
  };
  for_known(at >> granule_bits, (at + bytes + 7) >> granule_bits, clear);
}

}  // namespace syncopate::explored
