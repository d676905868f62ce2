// maps.cpp -- see maps.h. Chunks of kind maps hold the lines that name a file or a special area,
// and the anonymous line that follows such a line (a module's .bss); the program's own anonymous
// memory, thousands of lines in some programs, names nothing. Behind a snapshot's lines stand those
// of build_ids.h, and where that was asked for those of pointers.h.
#include "record/maps.h"

#include <cstring>

#include "record/build_ids.h"
#include "record/file.h"
#include "record/pointers.h"

namespace syncopate::record {

namespace {

constexpr std::size_t most_text = std::size_t{8} << 20;
constexpr std::size_t most_builds = std::size_t{256} << 10;
constexpr std::size_t most_pointers = std::size_t{256} << 10;
// Looked through for pointers: at the end, and while the program waits for it.
constexpr std::uint64_t most_data = std::uint64_t{64} << 20;
constexpr std::uint64_t most_meanwhile = std::uint64_t{8} << 20;
constexpr unsigned most_ranges = 1024;

struct range {
  std::uint64_t begin, end;
};

struct {
  tiny_lock lock;
  std::uint64_t next_allowed = 0;  // ticks; snapshots on demand come no earlier
  // Doubles: programs that make code all the time have just-in-time compilers, whose code no
  // snapshot can name.
  std::uint64_t interval = 0;
  bool is_behind = false;  // a snapshot was put off
  // The same of what variables point to.
  std::uint64_t next_pointers = 0, pointers_interval = 0;
  unsigned ranges = 0;
  range code[most_ranges] = {};
} constinit maps;

std::uint64_t parse_hex(const char*& at, const char* end) noexcept {
  std::uint64_t value = 0;
  for (; at < end; ++at) {
    const char c = *at;
    if (c >= '0' && c <= '9') {
      value = value * 16 + static_cast<unsigned>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      value = value * 16 + static_cast<unsigned>(c - 'a' + 10);
    } else {
      break;
    }
  }
  return value;
}

// Notes an executable range of the line; returns whether the line names something.
bool note_line(const char* line, const char* end) noexcept {
  const char* at = line;
  range r{};
  r.begin = parse_hex(at, end);
  if (at < end) ++at;
  r.end = parse_hex(at, end);
  if (end - at > 4 && at[3] == 'x' && maps.ranges < most_ranges) maps.code[maps.ranges++] = r;
  for (; at < end; ++at)
    if (*at == '/' || *at == '[') return true;
  return false;
}

// Drops unnamed lines in place; returns the bytes left.
std::size_t filter(char* text, std::size_t bytes) noexcept {
  maps.ranges = 0;
  char* out = text;
  bool previous_named = false;
  for (char* line = text; line < text + bytes;) {
    auto* newline =
        static_cast<char*>(std::memchr(line, '\n', static_cast<std::size_t>(text + bytes - line)));
    if (newline == nullptr) break;  // cut off by the buffer's end
    const auto length = static_cast<std::size_t>(newline + 1 - line);
    const bool named = note_line(line, newline);
    if (named || previous_named) {
      std::memmove(out, line, length);
      out += length;
    }
    previous_named = named;
    line += length;
  }
  return static_cast<std::size_t>(out - text);
}

// What is said of a snapshot beside its lines.
class remarks {
 public:
  remarks(const char* text, std::size_t bytes, std::uint64_t data) noexcept
      : room_(most_builds + (data != 0 ? most_pointers : 0)),
        text_(static_cast<char*>(sys::pages(room_))) {
    if (text_ == nullptr) return;
    bytes_ = describe_builds(text, bytes, text_, most_builds);
    if (data != 0) bytes_ += describe_pointers(text, bytes, text_ + bytes_, most_pointers, data);
  }
  ~remarks() { sys::free_pages(text_, room_); }
  remarks(const remarks&) = delete;
  remarks& operator=(const remarks&) = delete;

  std::size_t bytes() const noexcept { return bytes_; }
  void copy(char* to) const noexcept {
    if (bytes_ != 0) std::memcpy(to, text_, bytes_);
  }

 private:
  std::size_t room_, bytes_ = 0;
  char* text_;
};

void write(const char* text, std::size_t bytes, std::uint64_t data) noexcept {
  const remarks more(text, bytes, data);
  const std::size_t all = bytes + more.bytes();
  chunk_header* const chunk = grow(chunk_kind::maps, sizeof *chunk + all, 0);
  if (chunk == nullptr) return;
  auto* const to = reinterpret_cast<char*>(chunk + 1);
  std::memcpy(to, text, bytes);
  more.copy(to + bytes);
  publish(chunk->used, static_cast<std::uint32_t>(all));
}

// `data`: so many bytes of variables are looked through for what they point to.
void snapshot_locked(std::uint64_t data = 0) noexcept {
  maps.is_behind = false;
  for (std::size_t size = std::size_t{256} << 10; size <= most_text; size *= 4) {
    auto* text = static_cast<char*>(sys::pages(size));
    if (text == nullptr) return;
    const std::size_t bytes = sys::read_file("/proc/self/maps", text, size);
    if (bytes == size && size * 4 <= most_text) {
      sys::free_pages(text, size);
      continue;
    }
    const std::size_t kept = filter(text, bytes);
    if (kept != 0) write(text, kept, data);
    sys::free_pages(text, size);
    return;
  }
}

// What a program uses is there by then.
std::uint64_t first_pointers() noexcept { return milliseconds(100); }

void snapshot_pointers_locked(std::uint64_t now) noexcept {
  std::uint64_t& interval = maps.pointers_interval;
  interval = interval == 0 ? first_pointers() : interval * 2;
  store(maps.next_pointers, now + interval);
  snapshot_locked(most_meanwhile);
}

bool is_known(std::uint64_t pc) noexcept {
  for (unsigned i = 0; i < maps.ranges; ++i)
    if (pc >= maps.code[i].begin && pc < maps.code[i].end) return true;
  return maps.ranges == most_ranges;
}

}  // namespace

void snapshot_maps() noexcept {
  if (!maps.lock.try_lock()) return;
  snapshot_locked();
  maps.lock.unlock();
}

void snapshot_maps_last() noexcept {
  if (!maps.lock.try_lock()) return;
  snapshot_locked(most_data);
  maps.lock.unlock();
}

void note_end_of_object() noexcept {
  if (!maps.lock.try_lock()) return;
  const std::uint64_t now = machine::ticks();
  if (maps.pointers_interval == 0 || now >= maps.next_pointers) snapshot_pointers_locked(now);
  maps.lock.unlock();
}

void note_moment(std::uint64_t now) noexcept {
  if (now < load(maps.next_pointers) || !maps.lock.try_lock()) return;
  if (maps.next_pointers == 0) store(maps.next_pointers, now + first_pointers());
  else if (now >= maps.next_pointers) snapshot_pointers_locked(now);
  maps.lock.unlock();
}

void note_code(const std::uint64_t* pc, unsigned depth) noexcept {
  if (!maps.lock.try_lock()) return;
  bool known = true;
  for (unsigned i = 0; i < depth && known; ++i) known = is_known(pc[i]);
  const std::uint64_t now = machine::ticks();
  maps.is_behind |= !known;
  if (!known && now >= maps.next_allowed) {
    maps.interval = maps.interval == 0 ? milliseconds(20) : maps.interval * 2;
    maps.next_allowed = now + maps.interval;
    snapshot_locked();
  }
  maps.lock.unlock();
}

void note_closing() noexcept {
  entry inside;
  if (!inside || !maps.lock.try_lock()) return;
  if (maps.is_behind) snapshot_locked();
  maps.lock.unlock();
}

void forget_maps() noexcept {
  maps.lock.reset();
  maps.next_allowed = maps.interval = 0;
  maps.next_pointers = maps.pointers_interval = 0;
  maps.is_behind = false;
  maps.ranges = 0;
}

}  // namespace syncopate::record
