#include "report_output.h"

#include <unistd.h>

#include <cerrno>

#include "model/front/program/options.h"
#include "model/front/program/whole_file.h"

namespace syncopate::report {

namespace {

using instrument::complain;

bool say(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

bool is_json(std::string_view wanted) { return wanted == "json" || wanted.ends_with(".json"); }

bool write(std::string_view wanted, const std::function<std::string()>& json,
           const std::function<std::string()>& text) {
  const auto put = [&](std::string_view what) {
    return instrument::write_whole_file(std::string(wanted), what);
  };
  if (wanted == "json") return say(json());
  if (is_json(wanted)) return put(json());
  if (wanted.find('/') != std::string_view::npos || wanted.ends_with(".txt")) return put(text());
  if (wanted != "1" && wanted != "yes" && wanted != "on" && wanted != "text")
    complain("SYNCOPATE_STATS=%s: not 1, json, FILE.json or FILE.txt; taken as 1", wanted.data());
  return say(text());
}

}  // namespace syncopate::report
