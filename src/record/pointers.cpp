// pointers.cpp -- reads variables as they are at the program's end, by the kernel: a module may be
// unloaded meanwhile.
#include "record/pointers.h"

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <string_view>

#include "record/objects.h"

namespace syncopate::record {

namespace {

constexpr std::size_t piece = 4096;  // as much as copy_memory() takes
constexpr std::uint64_t reach = 4096;
constexpr std::size_t longest_line = 9 + 2 * 17;

// Addresses of objects, in order.
class addresses {
 public:
  addresses() noexcept {
    std::uint32_t all = 1;
    while (known_id(all) != 0) ++all;
    room_ = all * sizeof *sorted_;
    sorted_ = static_cast<std::uint64_t*>(sys::pages(room_));
    if (sorted_ == nullptr) return;
    for (std::uint32_t id = 1; id < all; ++id)
      if (const lock_entry& e = *lock_of(id); is_in_memory(e)) sorted_[count_++] = load(e.address);
    std::sort(sorted_, sorted_ + count_);
  }
  ~addresses() { sys::free_pages(sorted_, room_); }
  addresses(const addresses&) = delete;
  addresses& operator=(const addresses&) = delete;

  bool is_near(std::uint64_t pointer) const noexcept {
    if (count_ == 0 || pointer > sorted_[count_ - 1] || pointer + reach < sorted_[0]) return false;
    return *std::lower_bound(sorted_, sorted_ + count_, pointer) - pointer <= reach;
  }

 private:
  static bool is_in_memory(const lock_entry& e) noexcept {
    return (load(e.flags) & destroyed) == 0 && load(e.address) != 0 &&
           e.object <= static_cast<std::uint8_t>(object_kind::semaphore);
  }

  std::uint64_t* sorted_ = nullptr;
  std::size_t room_ = 0, count_ = 0;
};

// A line's range, and what it says of it.
struct area {
  std::uint64_t begin = 0, end = 0;
  bool is_own = false;    // writable, and not shared with the file
  bool has_file = false;  // else nothing is mapped there
  bool has_name = false;
};

std::uint64_t parse(const char*& at, const char* end) noexcept {
  std::uint64_t value = 0;
  for (; at < end; ++at) {
    const int digit = *at <= '9' ? *at - '0' : *at - 'a' + 10;
    if (digit < 0 || digit > 15) break;
    value = value * 16 + static_cast<unsigned>(digit);
  }
  return value;
}

area parse_line(const char* at, const char* end) noexcept {
  area found;
  found.begin = parse(at, end);
  if (at < end) ++at;
  found.end = parse(at, end);
  if (end - at < 5) return found;
  found.is_own = at[2] == 'w' && at[4] == 'p';
  const auto rest = static_cast<std::size_t>(end - at);
  constexpr char devices[] = "/dev/";  // reading from one's memory may do something
  const auto* const path = static_cast<const char*>(std::memchr(at, '/', rest));
  const bool device = path != nullptr && end - path > 5 && std::memcmp(path, devices, 5) == 0;
  found.has_file = path != nullptr && !device;
  found.has_name = path != nullptr || std::memchr(at, '[', rest) != nullptr;
  return found;
}

class writer {
 public:
  writer(char* to, std::size_t room, std::uint64_t most_data) noexcept
      : words_(static_cast<std::uint64_t*>(sys::pages(piece))),  // stacks may be small
        begin_(to),
        at_(to),
        end_(to + room),
        left_(most_data) {}
  ~writer() { sys::free_pages(words_, piece); }
  writer(const writer&) = delete;
  writer& operator=(const writer&) = delete;

  void describe(const area& data, const addresses& objects) noexcept {
    if (words_ == nullptr) return;
    for (std::uint64_t at = data.begin; at < data.end && left_ != 0; at += piece, left_ -= piece) {
      // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel gives numbers
      if (!sys::copy_memory(reinterpret_cast<const void*>(at), words_, piece)) continue;
      for (std::size_t i = 0; i < piece / sizeof *words_; ++i)
        if (objects.is_near(words_[i])) put("pointer ", {at + i * sizeof *words_, words_[i]});
    }
  }
  // A line of a word and numbers.
  void put(std::string_view word, std::initializer_list<std::uint64_t> numbers) noexcept {
    if (end_ - at_ < static_cast<std::ptrdiff_t>(longest_line)) return;
    std::memcpy(at_, word.data(), word.size());
    at_ += word.size();
    for (const std::uint64_t each : numbers) {
      at_ = sys::put_hex(at_, each);
      *at_++ = ' ';
    }
    at_[-1] = '\n';
  }
  std::size_t bytes() const noexcept { return static_cast<std::size_t>(at_ - begin_); }

 private:
  std::uint64_t* words_;
  char *begin_, *at_, *end_;
  std::uint64_t left_;
};

}  // namespace

std::size_t describe_pointers(const char* text, std::size_t bytes, char* to, std::size_t room,
                              std::uint64_t most_data) noexcept {
  const addresses objects;
  writer out(to, room, most_data);
  out.put("pointers ", {machine::ticks()});
  std::uint64_t behind = 0;  // a module's data, where what has no name is its zeroed variables
  for (const char* line = text; line < text + bytes;) {
    const auto* newline = static_cast<const char*>(
        std::memchr(line, '\n', static_cast<std::size_t>(text + bytes - line)));
    if (newline == nullptr) break;
    const area found = parse_line(line, newline);
    const bool is_module = found.has_file || (!found.has_name && found.begin == behind);
    if (is_module && found.is_own) out.describe(found, objects);
    behind = found.has_file ? found.end : 0;
    line = newline + 1;
  }
  return out.bytes();
}

}  // namespace syncopate::record
