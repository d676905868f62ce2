// report.cpp -- L0: what SYNCOPATE_STATS and SYNCOPATE_TIMELINE ask for, written where they say.
#include "../../instrument/options.h"
#include "../../instrument/scope.h"
#include "report_figures.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

namespace syncopate::simulated {

namespace {

using instrument::complain;
using instrument::option;

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

void write_file(const char* path, std::string_view text) {
  const int file = ::open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  const bool written = file >= 0 && write_all(file, text);
  if (!written) complain("%s: cannot be written: %s", path, std::strerror(errno));
  if (file >= 0) ::close(file);
}

bool is_json(std::string_view wanted) { return wanted == "json" || wanted.ends_with(".json"); }

void write_statistics(const statistics& of, std::string_view wanted) {
  if (wanted == "json") {
    write_all(STDERR_FILENO, json_report(of));
  } else if (is_json(wanted)) {
    write_file(wanted.data(), json_report(of));
  } else if (wanted.find('/') != std::string_view::npos || wanted.ends_with(".txt")) {
    write_file(wanted.data(), text_report(of));
  } else {
    if (wanted != "1" && wanted != "yes" && wanted != "on" && wanted != "text") {
      complain("SYNCOPATE_STATS=%s: not 1, json, FILE.json or FILE.txt; taken as 1", wanted.data());
    }
    write_all(STDERR_FILENO, text_report(of));
  }
}

}  // namespace

bool shows_native_time() {
  if (!instrument::option_enabled("STATS")) return false;
  return !is_json(option("STATS")) || instrument::option_enabled("NATIVE_TIME");
}

void report(const statistics& of) {
  const instrument::engine_scope inside;
  if (instrument::option_enabled("STATS")) write_statistics(of, option("STATS"));
  if (const char* path = option("TIMELINE")) write_file(path, trace_report(of));
}

}  // namespace syncopate::simulated
