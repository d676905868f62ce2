// report_figures.h -- how the reports of the simulated machine compute and write figures.
#pragma once

#include "base/text_table.h"
#include "statistics.h"

#include <string>

namespace syncopate::simulated {

using report::quantity;
using report::share;
using report::text_table;

// A quantile of a histogram, 0 <= share <= 1, in cycles: evenly spread within its power of two, at
// most the longest. 0 when nothing was counted.
std::uint64_t quantile(const histogram&, double share);

// Three significant digits: "0 ns", "812 ns", "1.25 us", "40.1 ms", "3.20 s".
std::string duration(double seconds);
// ---- the reports ------------------------------------------------------------------------------

std::string text_report(const statistics&);
// docs/reference/machine-report-schema.md
std::string json_report(const statistics&);
// Chrome's trace events, which Perfetto reads.
std::string trace_report(const statistics&);

}  // namespace syncopate::simulated
