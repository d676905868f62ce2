#include "model/front/program/options.h"

#include <syncopate/machine/system_call.h>

#include <cerrno>
#include <charconv>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <sys/syscall.h>

#include "model/front/scope.h"
#include "model/front/threads/arch.h"

namespace syncopate::instrument {

namespace {

void write_line(const char* format, std::va_list arguments) noexcept {
  const engine_scope inside;
  char text[1024] = "syncopate: ";
  std::size_t length = std::strlen(text);
  const int more = std::vsnprintf(text + length, sizeof text - length - 1, format, arguments);
  if (more > 0) length = std::strlen(text);
  text[length++] = '\n';
  // The system call itself: write() may be the program's own, or a buffer be held.
  machine::system_call(SYS_write, 2, reinterpret_cast<long>(text), static_cast<long>(length));
}

}  // namespace

const char* option(const char* name) noexcept {
  char full[64];
  std::snprintf(full, sizeof full, "SYNCOPATE_%s", name);
  const char* value = std::getenv(full);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

bool option_enabled(const char* name) noexcept {
  const char* value = option(name);
  if (value == nullptr) return false;
  const std::string_view text = value;
  return text != "0" && text != "no" && text != "off" && text != "false";
}

std::uint64_t option_number(const char* name, std::uint64_t otherwise, std::uint64_t largest,
                            std::uint64_t smallest) noexcept {
  const char* value = option(name);
  if (value == nullptr) return otherwise;
  std::uint64_t number = 0;
  const char* end = value + std::strlen(value);
  const auto [stop, error] = std::from_chars(value, end, number);
  if (error != std::errc{} || stop != end || number < smallest || number > largest) {
    fail("SYNCOPATE_%s=%s: not a number from %llu to %llu", name, value,
         static_cast<unsigned long long>(smallest), static_cast<unsigned long long>(largest));
  }
  return number;
}

void complain(const char* format, ...) noexcept {
  std::va_list arguments;
  va_start(arguments, format);
  write_line(format, arguments);
  va_end(arguments);
}

void fail(const char* format, ...) noexcept {
  std::va_list arguments;
  va_start(arguments, format);
  write_line(format, arguments);
  va_end(arguments);
  for (;;) machine::system_call(SYS_exit_group, 2);
}

}  // namespace syncopate::instrument
