// futex_sites.cpp -- see futex_sites.h. x86-64, as GCC writes it.

#include "openmp/futex_sites.h"

#include <cstring>

#include <elf.h>
#include <link.h>
#include <linux/futex.h>

namespace syncopate::openmp {
namespace {

constexpr std::uint8_t site_bytes[futex_sites::bytes] = {0x0f, 0x05, 0x48, 0x83, 0xf8, 0xda};
constexpr std::uint8_t load_operation[] = {0x8b, 0x35};            // mov disp32(%rip),%esi
constexpr std::uint8_t drop_private[] = {0x40, 0x80, 0xe6, 0x7f};  // and $127,%sil
constexpr std::size_t reach = 40;  // bytes between an operation's load and its system call

struct module_parts {
  const void* base;
  std::uint8_t *code = nullptr, *code_end = nullptr;
  std::uint8_t *data = nullptr, *data_end = nullptr;
  unsigned code_segments = 0;
};

int look_at(dl_phdr_info* info, std::size_t, void* argument) {
  auto& parts = *static_cast<module_parts*>(argument);
  if (reinterpret_cast<const void*>(info->dlpi_addr) != parts.base) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    auto* const start = reinterpret_cast<std::uint8_t*>(info->dlpi_addr + segment.p_vaddr);
    if ((segment.p_flags & PF_X) != 0) {
      ++parts.code_segments;
      parts.code = start;
      parts.code_end = start + segment.p_filesz;
    } else if ((segment.p_flags & PF_W) != 0) {
      parts.data = start;
      parts.data_end = start + segment.p_memsz;
    }
  }
  return 1;
}

std::int32_t displacement(const std::uint8_t* at) noexcept {
  std::int32_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <std::size_t N>
bool is(const std::uint8_t* at, const std::uint8_t (&what)[N]) noexcept {
  return std::memcmp(at, what, N) == 0;
}

// The word that the site's operation is loaded from; null when none is seen.
const std::uint8_t* operation_of(const std::uint8_t* site, const std::uint8_t* begin) noexcept {
  for (std::size_t back = 6; back <= reach && site - begin >= static_cast<long>(back); ++back)
    if (is(site - back, load_operation)) return site - back + 6 + displacement(site - back + 2);
  return nullptr;
}

bool is_operation(const std::uint8_t* word, const module_parts& m, std::int32_t command) noexcept {
  if (word < m.data || word + 4 > m.data_end) return false;
  return (displacement(word) & ~FUTEX_PRIVATE_FLAG) == command;
}

bool has_two_operations(const futex_sites& s, const module_parts& m) noexcept {
  const std::uint8_t *wait = nullptr, *wake = nullptr;
  for (std::size_t i = 0; i < s.count; ++i) {
    const std::uint8_t* const word = operation_of(s.at[i], m.code);
    if (word == nullptr) return false;
    const std::uint8_t*& known = is_operation(word, m, FUTEX_WAIT) ? wait : wake;
    if (known == nullptr && !is_operation(word, m, &known == &wait ? FUTEX_WAIT : FUTEX_WAKE))
      return false;
    if (known != nullptr && known != word) return false;
    known = word;
  }
  return wait != nullptr && wake != nullptr && (wake - wait == 4 || wait - wake == 4);
}

// System calls that follow an operation without its private flag.
std::size_t count_second_tries(const module_parts& m) noexcept {
  std::size_t found = 0;
  for (const std::uint8_t* p = m.code + reach; p + 2 <= m.code_end; ++p) {
    if (p[0] != 0x0f || p[1] != 0x05) continue;
    for (const std::uint8_t* q = p - 32; q < p; ++q)
      if (is(q, drop_private)) {
        ++found;
        break;
      }
  }
  return found;
}

// Where a jump or call would lead that began with this byte; null where it would be none. Which
// bytes begin an instruction is not known: every one of them may.
const std::uint8_t* target_from(const std::uint8_t* p) noexcept {
  const bool short_jump = (p[0] >= 0x70 && p[0] <= 0x7f) || p[0] == 0xeb ||
                          (p[0] >= 0xe0 && p[0] <= 0xe3);  // jcc, jmp, loop, jrcxz
  if (short_jump) return p + 2 + static_cast<std::int8_t>(p[1]);
  if (p[0] == 0xe9 || p[0] == 0xe8) return p + 5 + displacement(p + 1);
  if (p[0] == 0x0f && p[1] >= 0x80 && p[1] <= 0x8f) return p + 6 + displacement(p + 2);
  return nullptr;
}

// Inside a site only its comparison begins an instruction that something could jump to.
bool is_jumped_into(const futex_sites& s, const module_parts& m) noexcept {
  for (const std::uint8_t* p = m.code + sizeof drop_private; p + 6 <= m.code_end; ++p) {
    // The constant of drop_private, which stands at every second try, looks like a jump.
    if (is(p - 3, drop_private)) continue;
    const std::uint8_t* const target = target_from(p);
    if (target == nullptr) continue;
    for (std::size_t i = 0; i < s.count; ++i)
      if (target == s.at[i] + 2) return true;
  }
  return false;
}

const char* check(const futex_sites& s, const module_parts& m) noexcept {
  if (!has_two_operations(s, m)) return "its futex operations are not where they were expected";
  if (count_second_tries(m) != s.count) return "its futex calls do not come in pairs";
  if (is_jumped_into(s, m)) return "something may jump into a futex call";
  return nullptr;
}

}  // namespace

futex_sites find_futex_sites(const void* base) noexcept {
  futex_sites s;
  module_parts m{base};
  ::dl_iterate_phdr(look_at, &m);
  if (m.code_segments != 1 || m.data == nullptr) {
    s.refused = "it is not one segment of code and one of data";
    return s;
  }
  s.begin = m.code;
  s.end = m.code_end;
  for (std::uint8_t* p = m.code; p + futex_sites::bytes <= m.code_end; ++p) {
    if (!is(p, site_bytes)) continue;
    if (s.count == futex_sites::most) break;
    s.at[s.count++] = p;
  }
  s.refused = s.count < 4 || s.count == futex_sites::most
                  ? "it has no futex calls as GCC writes them"
                  : check(s, m);
  return s;
}

}  // namespace syncopate::openmp
