#include "options.h"

#include <charconv>
#include <cstring>
#include <string_view>

#include "model/front/program/options.h"

namespace syncopate::emulated {

namespace {

struct key {
  std::string_view name;
  std::uint64_t lowest, highest;
  void (*set)(std::uint64_t);
};

constexpr key keys[] = {
    {"sets", 1, 1024, [](std::uint64_t n) { options.sets = static_cast<std::uint32_t>(n); }},
    {"ways", 1, 255, [](std::uint64_t n) { options.ways = static_cast<std::uint32_t>(n); }},
    {"read_lines", 1, UINT32_MAX,
     [](std::uint64_t n) { options.read_lines = static_cast<std::uint32_t>(n); }},
    {"accesses", 0, INT64_MAX, [](std::uint64_t n) { options.accesses = n; }},
    {"spurious", 0, 1'000'000, [](std::uint64_t n) { options.spurious = n; }},
    {"yield", 0, 1'000'000, [](std::uint64_t n) { options.yield = n; }},
    {"abort_at", 0, INT64_MAX,
     [](std::uint64_t n) { options.abort_at = static_cast<std::int64_t>(n); }},
    {"seed", 0, UINT64_MAX, [](std::uint64_t n) { options.seed = n; }},
    {"htm", 0, 1, [](std::uint64_t n) { options.htm = n != 0; }},
};
constexpr const char* all_keys =
    "sets, ways, read_lines, accesses, spurious, yield, abort_at, seed, htm";

// How many characters two words have in common from the start and from the end.
std::size_t likeness(std::string_view a, std::string_view b) {
  std::size_t same = 0;
  while (same < a.size() && same < b.size() && a[same] == b[same]) ++same;
  std::size_t end = 0;
  while (same + end < a.size() && same + end < b.size() &&
         a[a.size() - 1 - end] == b[b.size() - 1 - end])
    ++end;
  return same + end;
}

[[noreturn]] void unknown(std::string_view name) {
  const key* nearest = nullptr;
  for (const key& each : keys) {
    if (2 * likeness(name, each.name) <= each.name.size()) continue;
    if (nearest == nullptr || likeness(name, each.name) > likeness(name, nearest->name))
      nearest = &each;
  }
  if (nearest == nullptr) {
    instrument::fail("SYNCOPATE_EMULATED: no option is named '%.*s'; there are: %s",
                     static_cast<int>(name.size()), name.data(), all_keys);
  }
  instrument::fail("SYNCOPATE_EMULATED: no option is named '%.*s'; do you mean %.*s? there are: %s",
                   static_cast<int>(name.size()), name.data(),
                   static_cast<int>(nearest->name.size()), nearest->name.data(), all_keys);
}

void set(std::string_view setting) {
  const std::size_t equals = setting.find('=');
  const std::string_view name = setting.substr(0, equals);
  const key* found = nullptr;
  for (const key& each : keys)
    if (each.name == name) found = &each;
  if (found == nullptr) unknown(name);
  const std::string_view text =
      equals == std::string_view::npos ? std::string_view() : setting.substr(equals + 1);
  std::uint64_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || stop != text.data() + text.size() || number < found->lowest ||
      number > found->highest) {
    instrument::fail("SYNCOPATE_EMULATED: %.*s: needs a number from %llu to %llu, as in %.*s=%llu",
                     static_cast<int>(setting.size()), setting.data(),
                     static_cast<unsigned long long>(found->lowest),
                     static_cast<unsigned long long>(found->highest), static_cast<int>(name.size()),
                     name.data(), static_cast<unsigned long long>(found->lowest));
  }
  found->set(number);
}

}  // namespace

void read_options() noexcept {
  const char* value = instrument::option("EMULATED");
  if (value == nullptr) return;
  std::string_view rest = value;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string_view setting = rest.substr(0, comma);
    if (!setting.empty()) set(setting);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
}

}  // namespace syncopate::emulated
