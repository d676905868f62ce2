#include "model/front/libc/native_time.h"

#include <algorithm>
#include <csignal>
#include <ctime>
#include <string_view>
#include <utility>

#include <link.h>
#include <sys/syscall.h>

#include <syncopate/machine/system_call.h>

#include "model/front/scope.h"
#include "model/front/threads/arch.h"

namespace syncopate::instrument {

namespace {

// A real-time signal: programs have uses of their own for SIGPROF.
const int sample_signal = SIGRTMAX - 3;

enum class owner : unsigned char { program, machine, library };

struct code_segment {
  std::uintptr_t low, high;
  owner whose;
  std::string module;
  std::uint64_t samples;
};

// Written before the timer starts; the handler only counts.
std::vector<code_segment>& segments() {
  static auto& all = *new std::vector<code_segment>;
  return all;
}
constinit code_segment* first = nullptr;
constinit code_segment* last = nullptr;
constinit std::uint64_t in_machine = 0, in_unknown = 0;
constinit double began = 0;
constinit bool has_timer = false, charging = false;
constinit std::uint64_t sampled_at_ns = 0;  // of processor time
timer_t timer;

constexpr long period_ns = 1'000'000;

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Of the kernel itself: in the program's place the C library's name has the machine's time.
std::uint64_t cpu_nanoseconds() {
  timespec now{};
  machine::system_call(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, reinterpret_cast<long>(&now), 0,
                       0, 0, 0);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// The process's clock of processor time may go back by little.
std::uint64_t since_last_sample() {
  const std::uint64_t before = sampled_at_ns, now = cpu_nanoseconds();
  sampled_at_ns = now;
  return now > before ? now - before : 0;
}

// Runs on a stack of its own, with the thread pointer of whichever fiber was interrupted: it
// touches no thread-local variable. Inside the machine's own scope it counts for the machine, even
// in the C library, but for the program's predicates that the machine calls.
void take_sample(int, siginfo_t*, void* context) {
  const std::uintptr_t pc = interrupted_pc(context);
  const std::uint64_t passed = charging ? since_last_sample() : 0;
  code_segment* at = first;
  while (at != last && pc - at->low >= at->high - at->low) ++at;
  if (at != last && at->whose == owner::program) {
    ++at->samples;
  } else if (!in_program() || (at != last && at->whose == owner::machine)) {
    ++in_machine;
  } else {
    ++(at != last ? at->samples : in_unknown);
    native_charge = native_charge + passed;
  }
}

std::string_view dynamic_names(const dl_phdr_info& module) {
  const char* names = nullptr;
  std::size_t bytes = 0;
  for (int i = 0; i < module.dlpi_phnum; ++i) {
    if (module.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    auto* entry =
        reinterpret_cast<const ElfW(Dyn)*>(module.dlpi_addr + module.dlpi_phdr[i].p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(entry->d_un.d_ptr);
      if (entry->d_tag == DT_STRSZ) bytes = entry->d_un.d_val;
    }
  }
  // The loader turns the offset into an address, except in the kernel's own module.
  if (reinterpret_cast<std::uintptr_t>(names) < module.dlpi_addr) return {};
  return {names, bytes};
}

bool holds(const dl_phdr_info& module, const void* place) {
  const auto at = reinterpret_cast<std::uintptr_t>(place);
  for (int i = 0; i < module.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = module.dlpi_phdr[i];
    if (header.p_type == PT_LOAD && at - (module.dlpi_addr + header.p_vaddr) < header.p_memsz)
      return true;
  }
  return false;
}

int add_module(dl_phdr_info* module, std::size_t, void* is_first) {
  owner whose = owner::library;
  const bool first = std::exchange(*static_cast<bool*>(is_first), false);
  if (!first && holds(*module, &in_machine)) whose = owner::machine;
  else if (first || dynamic_names(*module).find("__tsan_") != std::string_view::npos)
    whose = owner::program;
  const std::string path = module->dlpi_name;
  for (int i = 0; i < module->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = module->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
    const std::uintptr_t low = module->dlpi_addr + header.p_vaddr;
    segments().push_back({low, low + header.p_memsz, whose, path.substr(path.rfind('/') + 1), 0});
  }
  return 0;
}

bool install_handler() {
  // Fibers' stacks may be small, and a transaction copies its own.
  static constexpr std::size_t stack_bytes = std::size_t{64} << 10;
  stack_t stack{};
  stack.ss_sp = new char[stack_bytes];
  stack.ss_size = stack_bytes;
  if (sigaltstack(&stack, nullptr) != 0) return false;
  struct sigaction action {};
  action.sa_sigaction = take_sample;
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  return sigaction(sample_signal, &action, nullptr) == 0;
}

}  // namespace

void begin_native_time(bool charges) {
  began = cpu_seconds();
  sampled_at_ns = cpu_nanoseconds();
  charging = charges;
  bool is_first = true;
  dl_iterate_phdr(add_module, &is_first);
  first = segments().data();
  last = first + segments().size();
  if (!install_handler()) return;
  // To the process: fibers' parked threads block all signals, so the one that works gets it. Not
  // setitimer(): its timers survive execve.
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = sample_signal;
  if (timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer) != 0) return;
  const itimerspec every{{0, period_ns}, {0, period_ns}};
  has_timer = timer_settime(timer, 0, &every, nullptr) == 0;
}

native_time end_native_time() {
  if (has_timer) timer_delete(timer);
  has_timer = false;
  std::signal(sample_signal, SIG_IGN);  // the last one may still be on its way
  native_time result;
  result.seconds = cpu_seconds() - began;
  result.samples = in_machine + in_unknown;
  for (const code_segment& each : segments()) result.samples += each.samples;
  if (result.samples == 0) return result;
  // Timers of CPU time are as coarse as the system's tick; shares are right all the same.
  const double each_sample = result.seconds / static_cast<double>(result.samples);
  const auto seconds = [&](std::uint64_t count) {
    return static_cast<double>(count) * each_sample;
  };
  result.machine = seconds(in_machine);
  for (const code_segment& each : segments()) {
    if (each.whose == owner::program) result.program += seconds(each.samples);
    else if (each.samples != 0) result.libraries.push_back({each.module, seconds(each.samples)});
  }
  if (in_unknown != 0)
    result.libraries.push_back({"code loaded or made later", seconds(in_unknown)});
  std::stable_sort(result.libraries.begin(), result.libraries.end(),
                   [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  return result;
}

}  // namespace syncopate::instrument
