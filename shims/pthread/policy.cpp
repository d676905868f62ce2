// policy.cpp -- L4: reads SYNCOPATE_SITES, finds the sites of locks.

#include "pthread/policy.h"

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include <link.h>
#include <unistd.h>

#include "pthread/say.h"

namespace syncopate::shim {

constinit bool has_policy = false;

namespace {

struct site {
  bool is_variable;
  std::uintptr_t start, end;  // in memory
  std::uint16_t setting;
};
constexpr std::size_t most_sites = 256;
constinit site sites[most_sites];
constinit std::size_t count = 0;

// One part of the text, up to the separator or its end.
struct part {
  const char* text;
  std::size_t length;

  [[nodiscard]] bool is(const char* what) const noexcept {
    return std::strlen(what) == length && std::memcmp(text, what, length) == 0;
  }
};
part take(const char*& at, char separator) noexcept {
  const char* const start = at;
  while (*at != '\0' && *at != separator && *at != ';') ++at;
  const part taken{start, static_cast<std::size_t>(at - start)};
  if (*at == separator) ++at;
  return taken;
}

// Where a module was loaded, against its link-time addresses.
struct search {
  part path;
  std::uintptr_t bias = 0;
  bool found = false;
};
int look_at(dl_phdr_info* module, std::size_t, void* argument) noexcept {
  auto& wanted = *static_cast<search*>(argument);
  char own[4096];
  const char* name = module->dlpi_name;
  if (name == nullptr || *name == '\0') {  // the program, or the kernel's own page
    const ssize_t length = ::readlink("/proc/self/exe", own, sizeof own - 1);
    if (length <= 0) return 0;
    own[length] = '\0';
    name = own;
  }
  if (!wanted.path.is(name)) return 0;
  wanted.bias = module->dlpi_addr;
  wanted.found = true;
  return 1;
}

bool read_setting(part text, std::uint16_t& setting) noexcept {
  if (text.is("elide=always")) setting = always_elide;
  else if (text.is("elide=off")) setting = never_elide;
  else return false;
  return true;
}

// Returns false for what is no site. A site of a module that is not loaded is left out.
bool read_site(const char*& at) noexcept {
  const part kind = take(at, ',');
  search module{take(at, ',')};
  const part start = take(at, ','), end = take(at, ',');
  site next{};
  const bool sound = (kind.is("v") || kind.is("c")) && start.length != 0 && end.length != 0 &&
                     read_setting(take(at, ';'), next.setting);
  if (*at == ';') ++at;
  if (!sound) return false;
  ::dl_iterate_phdr(look_at, &module);
  if (!module.found || count == most_sites) return true;
  next.is_variable = kind.is("v");
  next.start = module.bias + std::strtoull(start.text, nullptr, 16);
  next.end = module.bias + std::strtoull(end.text, nullptr, 16);
  sites[count++] = next;
  return true;
}

}  // namespace

void read_policy() noexcept {
  const char* at = std::getenv("SYNCOPATE_SITES");
  if (at == nullptr) return;
  while (*at != '\0')
    if (!read_site(at)) {
      say({"syncopate: SYNCOPATE_SITES cannot be read; it is written by `syncopate run --policy`"});
      count = 0;
      break;
    }
  has_policy = count != 0;
}

std::uint16_t choose(const void* object, const void* creator) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    const site& s = sites[i];
    const auto at = reinterpret_cast<std::uintptr_t>(s.is_variable ? object : creator);
    // A call at the end of a function returns behind it.
    const std::uintptr_t shift = s.is_variable ? 0 : 1;
    if (at != 0 && at - shift >= s.start && at - shift < s.end)
      return static_cast<std::uint16_t>(asked | s.setting);
  }
  return asked;
}

}  // namespace syncopate::shim
