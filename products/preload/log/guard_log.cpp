// guard_log.cpp -- the lines behind guard_log.h. Neither allocates nor takes a lock of the C
// library: a report may come from inside malloc, or while another thread is in the dynamic linker.

#include "preload/log/guard_log.h"

#include <atomic>
#include <cstring>

#include <link.h>

#include "base/option.h"
#include "preload/log/code_names.h"
#include "record/system.h"
#include "record/unwind.h"

namespace syncopate::shim {
namespace {

constexpr std::uint32_t most_lines = 400;
constexpr std::size_t longest_line = 1024;

struct module {
  std::uintptr_t start, end, bias;
  const char* path;
};
constexpr unsigned most_modules = 96;
constinit module modules[most_modules] = {};
constinit unsigned module_count = 0;
constinit char program_path[1024] = {};
constinit std::atomic<int> log_file{STDERR_FILENO};
constinit std::atomic<std::uint32_t> lines{0};

const char* last_part(const char* path) noexcept {
  const char* const slash = std::strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

int learn_module(dl_phdr_info* info, std::size_t, void*) noexcept {
  if (module_count == most_modules) return 1;
  std::uintptr_t start = UINTPTR_MAX, end = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const std::uintptr_t from = info->dlpi_addr + segment.p_vaddr;
    if (from < start) start = from;
    if (from + segment.p_memsz > end) end = from + segment.p_memsz;
  }
  const bool is_program = info->dlpi_name == nullptr || *info->dlpi_name == '\0';
  modules[module_count++] = {start, end, info->dlpi_addr,
                             is_program ? program_path : info->dlpi_name};
  return 0;
}

// A line that grows; what does not fit is left out.
struct line {
  char text[longest_line];
  std::size_t length = 0;

  void add(const char* what) noexcept {
    for (; *what != '\0' && length < sizeof text - 1; ++what) text[length++] = *what;
  }
  void add(std::uint64_t value, unsigned base) noexcept {
    char digits[24];
    char* at = digits + sizeof digits - 1;
    *at = '\0';
    do *--at = "0123456789abcdef"[value % base];
    while ((value /= base) != 0);
    add(at);
  }
  void add_code(std::uint64_t pc) noexcept {
    for (unsigned i = 0; i < module_count; ++i) {
      const module& m = modules[i];
      if (pc < m.start || pc >= m.end) continue;
      add(last_part(m.path));
      add("+0x");
      add(pc - m.bias, 16);
      char name[128];
      if (!find_code_name(m.path, pc - m.bias, name, sizeof name)) return;
      add(" (");
      add(name);
      return add(")");
    }
    add("0x");
    add(pc, 16);
  }
  void add(const line_part& part) noexcept {
    switch (part.as) {
      case line_part::form::text: return add(part.text);
      case line_part::form::number: return add(part.value, 10);
      case line_part::form::code: return add_code(part.value);
      case line_part::form::address: add("0x"), add(part.value, 16);
    }
  }
};

// Where the file takes no more, what follows goes to standard error, and a line says so.
void write_out(line& whole) noexcept {
  whole.text[whole.length++] = '\n';
  const auto length = static_cast<long>(whole.length);
  const int file = log_file.load(std::memory_order_relaxed);  // [K]
  if (record::sys::call(SYS_write, file, whole.text, length) == length) return;
  if (file == STDERR_FILENO) return;
  log_file.store(STDERR_FILENO, std::memory_order_relaxed);  // [K]
  line why;
  why.add("syncopate: guard: cannot write ");
  why.add(setting<option::guard_log>());
  why.add("; lines go to standard error\n");
  record::sys::call(SYS_write, STDERR_FILENO, why.text, why.length);
  record::sys::call(SYS_write, STDERR_FILENO, whole.text, length);
}

}  // namespace

void open_guard_log() noexcept {
  const long length = record::sys::call(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", program_path,
                                        sizeof program_path - 1);
  program_path[length > 0 ? length : 0] = '\0';
  ::dl_iterate_phdr(learn_module, nullptr);
  const char* const file = setting<option::guard_log>();
  if (file == nullptr) return;
  // O_NONBLOCK: of a pipe that nobody reads the program is not to wait for a reader.
  constexpr int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK;
  const long opened = record::sys::call(SYS_openat, AT_FDCWD, file, flags, 0644);
  if (opened >= 0) log_file.store(static_cast<int>(opened), std::memory_order_relaxed);  // [K]
  else guard_line({"cannot write ", file, "; lines go to standard error"});
}

call_site here() noexcept {
  call_site site{};
  std::uint64_t pc[record::stack_depth];
  const unsigned depth = record::walk_stack(record::find_stack_bounds(), pc);
  for (unsigned i = 0; i < depth && i < call_site::depth; ++i) site.pc[i] = pc[i];
  return site;
}

void guard_line(std::initializer_list<line_part> parts, const call_site* at) noexcept {
  const std::uint32_t before = lines.fetch_add(1, std::memory_order_relaxed);  // [K]
  if (before > most_lines) return;
  line whole;
  whole.add("syncopate: guard: ");
  if (before == most_lines) {
    whole.add("those were many lines; no more follow");
    return write_out(whole);
  }
  for (const line_part& part : parts) whole.add(part);
  for (unsigned i = 0; at != nullptr && i < call_site::depth && at->pc[i] != 0; ++i) {
    whole.add(i == 0 ? " at " : " < ");
    whole.add_code(at->pc[i] - 1);  // the call, not what follows it
  }
  write_out(whole);
}

}  // namespace syncopate::shim
