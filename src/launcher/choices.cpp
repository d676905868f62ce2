#include "launcher/choices.h"

#include <syncopate/locks/all.h>

#include "base/option.h"
#include "preload/choice/offered.h"

namespace syncopate::launcher {
namespace {

constexpr std::string_view glibc = "glibc";  // the C library's own, which is no lock of ours

bool stands_in_table(option o, std::string_view name) {
  bool found = false;
  for_each_choice(o, [&](std::string_view each, bool) { found = found || each == name; });
  return found;
}

}  // namespace

bool is_plain_lock(std::string_view choice) {
  if (choice == glibc) return true;
  const std::size_t colon = choice.find(':');
  const std::string_view name = choice.substr(0, colon);
  const bool waits = colon != std::string_view::npos;
  const std::string_view wait = waits ? choice.substr(colon + 1) : std::string_view{};
  bool by_name = false, by_wait = false, transacts = false;
  for_each_lock([&]<class Lock>(const lock_entry<Lock>& entry) {
    if (entry.name != name) return;
    constexpr bool offered = shim::is_for_unmodified_programs<Lock>;
    if (entry.is_default) by_name = offered;
    if (offered && !entry.wait.empty() && entry.wait == wait) by_wait = true;
    if (entry.is_default || entry.wait == wait) transacts = transacts || Lock::traits.transacts;
  });
  return by_name && (by_wait || !waits) && !transacts;
}

bool is_ours(std::string_view lock) { return lock != glibc; }

bool is_elision(std::string_view choice) {
  const std::size_t colon = choice.find(':');
  const std::string_view mode = choice.substr(0, colon);
  if (!stands_in_table(option::elide, mode)) return false;
  if (colon == std::string_view::npos) return true;
  return mode != "off" && stands_in_table(option::elide_policy, choice.substr(colon + 1));
}

}  // namespace syncopate::launcher
