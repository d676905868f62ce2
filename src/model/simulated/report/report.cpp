// report.cpp -- what SYNCOPATE_STATS and SYNCOPATE_TIMELINE ask for, written where they say.
#include "model/front/program/options.h"
#include "model/front/program/report_output.h"
#include "model/front/program/whole_file.h"
#include "model/front/scope.h"
#include "report_figures.h"

namespace syncopate::simulated {

using instrument::option;

bool shows_native_time() {
  if (!instrument::option_enabled("STATS")) return false;
  return !report::is_json(option("STATS")) || instrument::option_enabled("NATIVE_TIME");
}

bool report(const statistics& of) {
  const instrument::engine_scope inside;
  bool written = true;
  if (instrument::option_enabled("STATS")) {
    written = report::write(
        option("STATS"), [&] { return json_report(of); }, [&] { return text_report(of); });
  }
  if (const char* path = option("TIMELINE"))
    written &= instrument::write_whole_file(report::file_of_process(path), trace_report(of));
  return written;
}

}  // namespace syncopate::simulated
