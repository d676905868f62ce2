// guard_log.h -- lines of the guard: where they go, and how code is named in them.
//
// Memory order (each tag stands at its site below)
//   [K]  relaxed: only how many lines there are, and where they go.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace syncopate::shim {

// Opens SYNCOPATE_GUARD_LOG, if it is set, and learns where modules lie. By the constructor.
void open_guard_log() noexcept;

// A part of a line: a text, a number, an address as hexadecimal digits, or code as module+0xoffset
// (link-time addresses, as addr2line wants them) and the function's name, where the module was
// there at the start.
struct line_part {
  enum class form : std::uint8_t { text, number, address, code };
  form as;
  union {
    const char* text;
    std::uint64_t value;
  };
  line_part(const char* what) noexcept : as(form::text), text(what) {}  // NOLINT: parts read so
  line_part(form how, std::uint64_t what) noexcept : as(how), value(what) {}
};
inline line_part number(std::uint64_t n) noexcept { return {line_part::form::number, n}; }
inline line_part address(const void* at) noexcept {
  return {line_part::form::address, reinterpret_cast<std::uintptr_t>(at)};
}
inline line_part code(std::uint64_t at) noexcept { return {line_part::form::code, at}; }

// The return addresses of a call, innermost first; those that fit.
struct call_site {
  static constexpr unsigned depth = 6;
  std::uint64_t pc[depth];
};
// Where the calling thread is, outside this library.
call_site here() noexcept;

// Writes one line, "syncopate: guard: " before it, by one system call: threads' lines do not mix.
// After a few hundred lines it says so and falls silent. `at`: appended, " at A < B < C".
void guard_line(std::initializer_list<line_part> parts, const call_site* at = nullptr) noexcept;

}  // namespace syncopate::shim
