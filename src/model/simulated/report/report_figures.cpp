#include "report_figures.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace syncopate::simulated {

using report::three_digits;
using report::unit;

std::uint64_t quantile(const histogram& from, double share) {
  if (from.count == 0) return 0;
  const double wanted = share * static_cast<double>(from.count);
  double before = 0;
  for (std::size_t i = 0; i < from.bucket.size(); ++i) {
    const auto here = static_cast<double>(from.bucket[i]);
    if (here == 0 || before + here < wanted) {
      before += here;
      continue;
    }
    if (i == 0) return 0;
    // Around the mean of those within the power of two, as wide as it allows to either side: where
    // all are of one length, it is near that.
    const double low = std::ldexp(1.0, static_cast<int>(i) - 1);
    const double mean = static_cast<double>(from.sum_of[i]) / here;
    const double reach = std::min(mean - low, 2 * low - mean);
    const double value = mean + reach * (2 * (wanted - before) / here - 1);
    return std::min(static_cast<std::uint64_t>(value), from.longest);
  }
  return from.longest;
}

std::string duration(double seconds) {
  if (seconds <= 0) return "0 ns";
  for (const unit each : {unit{1, " s"}, {1e-3, " ms"}, {1e-6, " us"}}) {
    if (seconds >= each.size * 0.9995) return three_digits(seconds / each.size) + each.name;
  }
  const double nanoseconds = seconds * 1e9;
  return nanoseconds < 9.995 ? three_digits(nanoseconds) + " ns"
                             : std::to_string(std::lround(nanoseconds)) + " ns";
}

}  // namespace syncopate::simulated
