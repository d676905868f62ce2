#include "model/front/libc/told_files.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "model/front/libc/heap.h"
#include "model/front/libc/libc_range.h"

namespace syncopate::instrument {
namespace {

using number = unsigned long long;

// Of a computer that does nothing else.
struct memory {
  number total;
  number used = (program_heap.next - layout::heap) >> 10;  // KiB
};

bool begins(const std::string& text, const char* with) {
  return text.compare(0, std::strlen(with), with) == 0;
}

number told_of_system(const std::string& name, const memory& m) {
  if (name == "MemTotal") return m.total;
  const number cached = m.total / 8, free = m.total / 2;
  if (name == "MemFree") return free - std::min(free, m.used);
  if (name == "MemAvailable") return free + cached - std::min(free, m.used);
  return name == "Cached" ? cached : 0;
}

number told_of_process(const std::string& name, const memory& m) {
  constexpr number rest = 8 << 10;                            // of libraries and stacks
  if (!begins(name, "Vm") && !begins(name, "Rss")) return 0;  // nor has anybody queued signals
  if (name == "VmPeak" || name == "VmSize") return m.used + 4 * rest;
  return name == "VmHWM" || name == "VmRSS" ? m.used + rest : 0;
}

constexpr const char* digits = "0123456789";

std::string right(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

// A line of the kernel's, "Name:   123 kB", with another number, of the same length in each run.
std::string with_number(const std::string& line, number told) {
  constexpr std::size_t width = 12;
  const std::size_t colon = line.find(':'), from = line.find_first_of(digits, colon);
  if (from == std::string::npos) return line;
  const std::size_t upto = std::min(line.find_first_not_of(digits, from), line.size());
  return line.substr(0, colon + 1) + right(std::to_string(told), width) + line.substr(upto);
}

// One with numbers of processes, right as they are: also of one length.
std::string with_room(const std::string& line) {
  constexpr std::size_t width = 7;  // up to 2^22
  std::string all;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t from = std::min(line.find_first_of(digits, at), line.size());
    const std::size_t upto = std::min(line.find_first_not_of(digits, from), line.size());
    all += line.substr(at, from - at);
    if (from < upto) all += right(line.substr(from, upto - from), width);
    at = upto;
  }
  return all;
}

std::string contents(const char* path) {
  std::string text;
  const int file = SYNCOPATE_REAL(open)(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return text;
  char part[4096];
  for (ssize_t n; (n = SYNCOPATE_REAL(read)(file, part, sizeof part)) > 0;)
    text.append(part, static_cast<std::size_t>(n));
  SYNCOPATE_REAL(close)(file);
  return text;
}

std::string told(const std::string& kernels, bool of_process) {
  std::string all;
  memory m{0};
  for (std::size_t at = 0; at < kernels.size();) {
    const std::size_t end = std::min(kernels.find('\n', at), kernels.size());
    const std::string line = kernels.substr(at, end - at), name = line.substr(0, line.find(':'));
    at = end + 1;
    if (name == "MemTotal") m.total = std::strtoull(line.c_str() + name.size() + 1, nullptr, 10);
    if (!of_process) all += with_number(line, told_of_system(name, m));
    else if (begins(name, "Vm") || begins(name, "Rss") || name == "SigQ" ||
             name.find("ctxt") != std::string::npos)
      all += with_number(line, told_of_process(name, m));
    else if (name.find("id") != std::string::npos) all += with_room(line);  // Pid, Tgid, NSpgid
    else all += line;
    all += '\n';
  }
  return all;
}

}  // namespace

int open_told(const char* path, engine::place where) {
  if (path == nullptr || !by_program(where)) return -1;
  const bool of_process = std::strcmp(path, "/proc/self/status") == 0;
  if (!of_process && std::strcmp(path, "/proc/meminfo") != 0) return -1;
  const engine_scope inside;
  const std::string text = told(contents(path), of_process);
  const int file = ::memfd_create(path, 0);
  if (file < 0) return -1;
  if (text.empty() || SYNCOPATE_REAL(write)(file, text.data(), text.size()) < 0 ||
      ::lseek(file, 0, SEEK_SET) != 0) {
    SYNCOPATE_REAL(close)(file);
    return -1;
  }
  return file;
}

std::FILE* open_told(const char* path, const char* mode, engine::place where) {
  if (mode == nullptr || mode[0] != 'r') return nullptr;
  const int file = open_told(path, where);
  return file >= 0 ? SYNCOPATE_REAL(fdopen)(file, mode) : nullptr;
}

}  // namespace syncopate::instrument
