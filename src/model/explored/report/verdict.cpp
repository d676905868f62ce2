// verdict.cpp -- see verdict.h.
#include "verdict.h"

#include <cstdlib>

namespace syncopate::explored {

const char* name(failure_kind kind) noexcept {
  switch (kind) {
    case failure_kind::none: return "none";
    case failure_kind::race: return "data race";
    case failure_kind::check: return "failed check";
    case failure_kind::crash: return "crash";
    case failure_kind::deadlock: return "deadlock";
    case failure_kind::livelock: return "livelock";
    case failure_kind::use_after_free: return "use after free";
    case failure_kind::double_free: return "double free";
    case failure_kind::unsupported: return "not supported";
    case failure_kind::divergence: return "not repeatable";
  }
  return "?";
}

const char* name(result how) noexcept {
  return how == result::passed ? "passed" : how == result::failed ? "failed" : "bounded";
}

std::string write_schedule(const std::vector<step>& steps) {
  std::string text;
  for (std::size_t i = 0; i < steps.size();) {
    // `only` and the newest message are what a reader of the schedule assumes.
    const auto short_form = [](const step& s) -> choice {
      if (s.forced) return static_cast<choice>(s.chosen + forcibly);
      return s.chosen == only ? 0 : s.chosen;
    };
    std::size_t same = i + 1;
    while (same < steps.size() && steps[same].thread == steps[i].thread &&
           short_form(steps[same]) == short_form(steps[i]))
      ++same;
    if (!text.empty()) text += ' ';
    text += std::to_string(steps[i].thread);
    if (short_form(steps[i]) != 0) text += '/' + std::to_string(short_form(steps[i]));
    if (same - i > 1) text += '*' + std::to_string(same - i);
    i = same;
  }
  return text.empty() ? "-" : text;
}

bool read_schedule(const std::string& text, std::vector<schedule_token>& into) {
  into.clear();
  if (text == "-") return true;
  const char* at = text.c_str();
  const auto number = [&](unsigned long most, unsigned long& value) {
    if (*at < '0' || *at > '9') return false;
    char* end = nullptr;
    value = std::strtoul(at, &end, 10);
    at = end;
    return value <= most;
  };
  while (*at == ' ') ++at;
  while (*at != 0) {
    unsigned long thread = 0, chosen = 0, count = 1;
    if (!number(max_threads - 1, thread)) return false;
    if (*at == '/' && !number((++at, 63), chosen)) return false;
    if (*at == '*' && !number((++at, 1'000'000'000), count)) return false;
    if ((*at != ' ' && *at != 0) || count == 0) return false;
    while (*at == ' ') ++at;
    into.push_back({static_cast<thread_index>(thread), static_cast<choice>(chosen),
                    static_cast<std::uint32_t>(count)});
  }
  return !into.empty();
}

}  // namespace syncopate::explored
