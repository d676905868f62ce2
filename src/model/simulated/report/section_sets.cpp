#include "section_sets.h"

#include <algorithm>
#include <bit>
#include <span>

namespace syncopate::simulated {

using engine::address;
using engine::place;

touched_word* access_set::word(std::uint64_t number) {
  if (const std::uint32_t* known = index_.find(number)) return &words_[*known];
  if (words_.size() == most_words) {
    overflowed_ = true;
    return nullptr;
  }
  index_[number] = static_cast<std::uint32_t>(words_.size());
  words_.push_back({number});
  return &words_.back();
}

void access_set::add(address at, std::size_t bytes, use what, place where) {
  while (bytes != 0 && !overflowed_) {
    const std::uint64_t offset = at % word_bytes;
    const std::size_t here = std::min<std::size_t>(bytes, word_bytes - offset);
    const auto mask = static_cast<std::uint8_t>(((1u << here) - 1) << offset);
    if (touched_word* const w = word(at / word_bytes)) {
      if (what != use::write) {
        if (w->read == 0) w->read_at = where;
        w->read |= mask;
      }
      if (what != use::read) {
        if (w->written == 0) w->written_at = where;
        w->written |= mask;
      }
    }
    at += here;
    bytes -= here;
  }
}

word_list access_set::sorted() && {
  std::ranges::sort(words_, {}, &touched_word::word);
  return std::move(words_);
}

namespace {

using words = std::span<const touched_word>;

// The words of the line that `from` begins with; takes them off.
words take_line(words& from, std::uint64_t words_per_line) {
  const std::uint64_t line = from.front().word / words_per_line;
  std::size_t count = 0;
  while (count < from.size() && from[count].word / words_per_line == line) ++count;
  const words taken = from.first(count);
  from = from.subspan(count);
  return taken;
}

unsigned conflicting_bytes(const touched_word& a, const touched_word& b) {
  return (a.written & (b.read | b.written)) | (b.written & a.read);
}

place access_of(const touched_word& w, unsigned bytes) {
  return (w.written & bytes) != 0 ? w.written_at : w.read_at;
}

void add_conflicts(words a, words b, std::vector<meeting>& to) {
  for (const touched_word& mine : a) {
    const auto its = std::ranges::find(b, mine.word, &touched_word::word);
    if (its == b.end()) continue;
    const unsigned bytes = conflicting_bytes(mine, *its);
    if (bytes == 0) continue;
    const address at = mine.word * word_bytes + static_cast<unsigned>(std::countr_zero(bytes));
    to.push_back({at, at, access_of(mine, bytes), access_of(*its, bytes)});
  }
}

address first_byte(const touched_word& w, unsigned mask) {
  return w.word * word_bytes + static_cast<unsigned>(std::countr_zero(mask));
}

// One writes where the other one only reads other bytes of the line.
bool share_line(words writer, words other, meeting& found) {
  const auto written = std::ranges::find_if(writer, [](const auto& w) { return w.written != 0; });
  if (written == writer.end()) return false;
  const touched_word& touched = other.front();
  const unsigned mask = touched.written != 0 ? touched.written : touched.read;
  found = {first_byte(*written, written->written), first_byte(touched, mask), written->written_at,
           access_of(touched, mask)};
  return true;
}

}  // namespace

std::vector<meeting> meetings(const word_list& a, const word_list& b, std::uint64_t line_bytes) {
  const std::uint64_t per_line = line_bytes / word_bytes;
  std::vector<meeting> found;
  words left = a, right = b;
  while (!left.empty() && !right.empty()) {
    const std::uint64_t l = left.front().word / per_line, r = right.front().word / per_line;
    if (l != r) {
      take_line(l < r ? left : right, per_line);
      continue;
    }
    const words mine = take_line(left, per_line), its = take_line(right, per_line);
    const std::size_t before = found.size();
    add_conflicts(mine, its, found);
    meeting shared;
    if (found.size() == before && (share_line(mine, its, shared) || share_line(its, mine, shared)))
      found.push_back(shared);
  }
  return found;
}

}  // namespace syncopate::simulated
