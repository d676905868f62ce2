#include "statistics.h"

#include <algorithm>
#include <functional>

namespace syncopate::simulated {

const char* name(activity a) noexcept {
  static constexpr const char* names[activities] = {
      "idle",      "running", "spinning", "light wait", "deep wait", "kernel",
      "switching", "ready",   "parked",   "sleeping",   "foreign",   "off"};
  return names[static_cast<std::size_t>(a)];
}

const char* name(wait_kind k) noexcept {
  static constexpr const char* names[] = {"wait_until", "monitor_wait", "loop", "futex"};
  return names[static_cast<std::size_t>(k)];
}

const char* name(abort_cause c) noexcept {
  static constexpr const char* names[abort_causes] = {
      "conflict",  "write capacity", "read capacity", "explicit", "interrupt",
      "preempted", "unfriendly",     "always abort",  "predicted"};
  return names[static_cast<std::size_t>(c)];
}

std::uint64_t mark_statistics::total() const noexcept {
  std::uint64_t sum = 0;
  for (const std::uint64_t n : by_thread) sum += n;
  return sum;
}

double mark_statistics::fairness() const {
  std::vector<std::uint64_t> counts;
  for (const std::uint64_t n : by_thread)
    if (n != 0) counts.push_back(n);
  if (counts.size() < 2) return 0;
  std::sort(counts.begin(), counts.end(), std::greater<>());
  double busier = 0;
  for (std::size_t i = 0; i < counts.size() / 2; ++i) busier += static_cast<double>(counts[i]);
  if (counts.size() % 2 != 0) busier += static_cast<double>(counts[counts.size() / 2]) / 2;
  return busier / static_cast<double>(total());
}

double mark_statistics::per_second(double hertz) const {
  const bool twice = std::any_of(calls.begin(), calls.end(), [](auto each) { return each > 1; });
  const std::uint64_t span = twice ? last - first : last;
  if (span == 0) return 0;
  return static_cast<double>(twice ? total() - before : total()) * hertz /
         static_cast<double>(span);
}

}  // namespace syncopate::simulated
