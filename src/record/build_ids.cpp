// build_ids.cpp -- reads ELF headers where they are mapped: by the kernel, since another thread may
// unmap them meanwhile.
#include "record/build_ids.h"

#include <cstring>

#include <link.h>

namespace syncopate::record {

namespace {

constexpr std::uint64_t page = 4096;
constexpr unsigned most_segments = 32, most_id = 64, most_notes = 512;  // stacks may be small
constexpr std::size_t most_line = 2 * most_id + 64;

bool read_memory(std::uint64_t at, void* to, std::size_t bytes) noexcept {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel and headers give numbers
  return sys::copy_memory(reinterpret_cast<const void*>(at), to, bytes);
}

struct build {
  std::uint64_t bias = 0;
  unsigned id_bytes = 0;
  unsigned char id[most_id];
};

// The id among the notes at `at`.
void find_id(std::uint64_t at, std::uint64_t bytes, build& b) noexcept {
  alignas(8) unsigned char notes[most_notes];
  if (bytes > sizeof notes) bytes = sizeof notes;
  if (!read_memory(at, notes, bytes)) return;
  for (std::uint64_t offset = 0; offset + sizeof(ElfW(Nhdr)) <= bytes;) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes + offset, sizeof note);
    const std::uint64_t name = offset + sizeof note;
    const std::uint64_t id = name + ((std::uint64_t{note.n_namesz} + 3) & ~std::uint64_t{3});
    const std::uint64_t next = id + ((std::uint64_t{note.n_descsz} + 3) & ~std::uint64_t{3});
    if (next > bytes) return;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && note.n_descsz <= most_id &&
        std::memcmp(notes + name, "GNU", 4) == 0) {
      b.id_bytes = note.n_descsz;
      std::memcpy(b.id, notes + id, note.n_descsz);
      return;
    }
    offset = next;
  }
}

// Whether an ELF file's first page is at `start`; fills in `b` then.
bool read_build(std::uint64_t start, build& b) noexcept {
  ElfW(Ehdr) head{};
  ElfW(Phdr) segments[most_segments] = {};
  if (!read_memory(start, &head, sizeof head)) return false;
  if (std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_phentsize != sizeof segments[0])
    return false;
  const unsigned count = head.e_phnum < most_segments ? head.e_phnum : most_segments;
  if (!read_memory(start + head.e_phoff, segments, count * sizeof segments[0])) return false;
  unsigned first = 0;
  while (first < count && segments[first].p_type != PT_LOAD) ++first;
  if (first == count || segments[first].p_offset >= page) return false;
  b.bias = start - (segments[first].p_vaddr & -page);
  for (unsigned i = 0; i < count && b.id_bytes == 0; ++i)
    if (segments[i].p_type == PT_NOTE)
      find_id(b.bias + segments[i].p_vaddr, segments[i].p_memsz, b);
  return true;
}

char* put_line(char* to, std::uint64_t start, const build& b) noexcept {
  constexpr char word[] = "build-id ";
  std::memcpy(to, word, sizeof word - 1);
  to = sys::put_hex(to + sizeof word - 1, start);
  *to++ = ' ';
  to = sys::put_hex(to, b.bias);
  *to++ = ' ';
  if (b.id_bytes == 0) *to++ = '-';
  for (unsigned i = 0; i < b.id_bytes; ++i) {
    *to++ = "0123456789abcdef"[b.id[i] >> 4];
    *to++ = "0123456789abcdef"[b.id[i] & 15];
  }
  *to++ = '\n';
  return to;
}

// Where the line's range starts, when it maps a file from its beginning; else 0.
std::uint64_t first_page(const char* line, const char* end) noexcept {
  std::uint64_t start = 0;
  const char* at = line;
  for (; at < end && *at != '-'; ++at) {
    const int digit = *at <= '9' ? *at - '0' : *at - 'a' + 10;
    if (digit < 0 || digit > 15) return 0;
    start = start * 16 + static_cast<unsigned>(digit);
  }
  while (at < end && *at != ' ') ++at;
  constexpr char beginning[] = " 00000000 ";  // the offset, behind the rights
  if (end - at < 16 || at[1] != 'r' || std::memcmp(at + 5, beginning, sizeof beginning - 1) != 0)
    return 0;
  const auto* path =
      static_cast<const char*>(std::memchr(at + 15, '/', static_cast<std::size_t>(end - at - 15)));
  constexpr char devices[] = "/dev/";  // reading from one's memory may do something
  if (path == nullptr) return 0;
  const bool device = end - path > 5 && std::memcmp(path, devices, sizeof devices - 1) == 0;
  return device ? 0 : start;
}

}  // namespace

std::size_t describe_builds(const char* text, std::size_t bytes, char* to,
                            std::size_t room) noexcept {
  char* out = to;
  for (const char* line = text; line < text + bytes;) {
    const auto* newline = static_cast<const char*>(
        std::memchr(line, '\n', static_cast<std::size_t>(text + bytes - line)));
    if (newline == nullptr || to + room - out < static_cast<long>(most_line)) break;
    build b;
    const std::uint64_t start = first_page(line, newline);
    if (start != 0 && read_build(start, b)) out = put_line(out, start, b);
    line = newline + 1;
  }
  return static_cast<std::size_t>(out - to);
}

}  // namespace syncopate::record
