#include "report_output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "model/front/program/options.h"
#include "model/front/program/whole_file.h"

namespace syncopate::report {

namespace {

using instrument::complain;

constexpr int lowest_descriptor = 150;  // the program's own stay the numbers that they are
constinit int kept = -1;                // a copy of descriptor 2
constinit pid_t first_process = 0;
constinit struct stat kept_file {};  // the program may have closed the copy and used its number

bool is_kept(int file) {
  struct stat now {};
  return ::fstat(file, &now) == 0 && now.st_dev == kept_file.st_dev &&
         now.st_ino == kept_file.st_ino;
}

bool say(std::string_view text) {
  if (!is_kept(STDERR_FILENO)) return false;
  while (!text.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

void keep_standard_error() {
  first_process = ::getpid();
  kept = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, lowest_descriptor);
  if (kept < 0) kept = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);  // few are allowed
  if (kept >= 0) ::fstat(kept, &kept_file);
}

bool show_standard_error() {
  if (kept < 0) return false;
  if (is_kept(STDERR_FILENO)) return true;
  if (!is_kept(kept)) return false;
  std::fflush(stderr);
  return ::dup2(kept, STDERR_FILENO) == STDERR_FILENO;
}

std::string file_of_process(const std::string& named) {
  if (first_process == 0 || first_process == ::getpid()) return named;
  struct stat there {};
  if (::stat(named.c_str(), &there) == 0 && !S_ISREG(there.st_mode)) return named;
  const std::size_t name = named.rfind('/') + 1;  // npos + 1 is 0
  const std::size_t dot = named.rfind('.');
  const std::size_t end = dot == std::string::npos || dot <= name ? named.size() : dot;
  return named.substr(0, end) + '.' + std::to_string(::getpid()) + named.substr(end);
}

bool is_json(std::string_view wanted) { return wanted == "json" || wanted.ends_with(".json"); }

bool write(std::string_view wanted, const std::function<std::string()>& json,
           const std::function<std::string()>& text) {
  const auto put = [&](std::string_view what) {
    return instrument::write_whole_file(file_of_process(std::string(wanted)), what);
  };
  if (wanted == "json") return say(json());
  if (is_json(wanted)) return put(json());
  if (wanted.find('/') != std::string_view::npos || wanted.ends_with(".txt")) return put(text());
  if (wanted != "1" && wanted != "yes" && wanted != "on" && wanted != "text")
    complain("SYNCOPATE_STATS=%s: not 1, json, FILE.json or FILE.txt; taken as 1", wanted.data());
  return say(text());
}

}  // namespace syncopate::report
