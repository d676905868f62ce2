#include "report_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "model/front/program/options.h"

namespace syncopate::report {

namespace {

using instrument::complain;

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

void write_file(const char* path, std::string_view text) {
  const int file = ::open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  const bool written = file >= 0 && write_all(file, text);
  if (!written) complain("%s: cannot be written: %s", path, std::strerror(errno));
  if (file >= 0) ::close(file);
}

bool is_json(std::string_view wanted) { return wanted == "json" || wanted.ends_with(".json"); }

void write(std::string_view wanted, const std::function<std::string()>& json,
           const std::function<std::string()>& text) {
  if (wanted == "json") {
    write_all(STDERR_FILENO, json());
  } else if (is_json(wanted)) {
    write_file(wanted.data(), json());
  } else if (wanted.find('/') != std::string_view::npos || wanted.ends_with(".txt")) {
    write_file(wanted.data(), text());
  } else {
    if (wanted != "1" && wanted != "yes" && wanted != "on" && wanted != "text") {
      complain("SYNCOPATE_STATS=%s: not 1, json, FILE.json or FILE.txt; taken as 1", wanted.data());
    }
    write_all(STDERR_FILENO, text());
  }
}

}  // namespace syncopate::report
