// config.cpp -- reads the environment; begins and ends recording.
//
// Memory order (each tag stands at its site below)
//   [C]  release store when the settings are read, acquire load: who finds them read sees them.
//   [J]  relaxed: who sees it late asks, and is told the same.
//   [G]  relaxed: under the mutex `once`.

#include "openmp/config.h"

#include <cstdio>
#include <cstring>
#include <iterator>
#include <string_view>

#include <pthread.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/modeled_program.h"
#include "base/option.h"
#include "openmp/recorded_end.h"
#include "openmp/runtime/watcher.h"
#include "openmp/teams/run_ahead.h"
#include "record/recorder.h"

namespace syncopate::openmp {

constinit configuration config;
constinit std::atomic<bool> syncopate_may_pass_all_on{true};

namespace {

struct named_wait {
  const char* name;
  waiting value;
};
constexpr named_wait waits[] = {
    {"adaptive", waiting::adaptive}, {"spin", waiting::spin},
    {"monitor", waiting::monitor},   {"yield", waiting::yield},
    {"park", waiting::park},         {"spin_then_park", waiting::spin_then_park}};
static_assert([] {
  std::string_view names[std::size(waits)];
  for (std::size_t i = 0; i < std::size(names); ++i) names[i] = waits[i].name;
  return are_words(row_of(option::wait).choices, names);
}());

// Each returns false, and says why in one line, when the setting cannot be followed.
bool refuse(const char* what, const char* value, const char* why, const char* names = "") noexcept {
  const char* parts[] = {"syncopate: ", what, "=",   value,
                         ": ",          why,  names, "; the program's own OpenMP runtime runs",
                         nullptr};
  say(parts);
  return false;
}

bool find_wait(const char* variable_name, const char* value, const char* name,
               waiting& result) noexcept {
  for (const named_wait& w : waits)
    if (std::strcmp(w.name, name) == 0) {
      result = w.value;
      return true;
    }
  return refuse(variable_name, value, "waiting is ", choices_of<option::wait>.text);
}

bool read_barrier(const char* common_wait) noexcept {
  constexpr const char* me = variable_of(option::omp_barrier);
  const char* const set = setting<option::omp_barrier>();
  const char* const name = set != nullptr ? set : "auto";
  const char* const colon = std::strchr(name, ':');
  const char* wait = colon != nullptr ? colon + 1 : nullptr;
  if (std::strcmp(name, "runtime") == 0) return true;
  const auto length = colon != nullptr ? static_cast<std::uint32_t>(colon - name)
                                       : static_cast<std::uint32_t>(std::strlen(name));
  config.barrier = find_barrier(name, length);
  if (config.barrier == nullptr)
    return refuse(me, name, "barriers are ", choices_of<option::omp_barrier>.text);
  if (wait != nullptr && common_wait != nullptr && std::strcmp(wait, common_wait) != 0)
    return refuse(me, name, "contradicts SYNCOPATE_WAIT");
  if (wait != nullptr && config.barrier->own_wait)
    return refuse(me, name, "this barrier brings its own waiting");
  if (config.barrier->own_wait) return true;
  if (config.barrier->runs_ahead) configure_running_ahead();
  if (wait == nullptr) wait = common_wait;
  return wait == nullptr || find_wait(me, name, wait, config.wait);
}

// Where there is no monitor, waiting on it polls. A lock that was not told how to wait does not:
// waiters that outnumber the processors and keep to their order would take them all from the next.
const erased_lock* without_polling(const erased_lock* lock) noexcept {
  if (lock->wait != "monitor" || machine::monitor_usable()) return lock;
  char adaptive[96];
  std::snprintf(adaptive, sizeof adaptive, "%s:adaptive", lock->name.data());
  const erased_lock* const found = find_lock(adaptive);
  return found != nullptr ? found : lock;
}

// The default fits a lock's own four bytes, so that it needs no look-up.
bool read_lock(const char* common_wait) noexcept {
  constexpr const char* me = variable_of(option::omp_lock);
  const char* const set = setting<option::omp_lock>();
  const char* const name = set != nullptr ? set : "asymmetric";
  if (std::strcmp(name, "runtime") == 0) return true;
  const char* const colon = std::strchr(name, ':');
  config.lock = find_lock(name);
  if (config.lock == nullptr)
    return refuse(me, name, "no such lock, or it does not wait so (`syncopate list` shows them)");
  if (common_wait == nullptr) {
    if (colon == nullptr) config.lock = without_polling(config.lock);
    return true;
  }
  if (colon != nullptr)
    return std::strcmp(colon + 1, common_wait) == 0 ||
           refuse(me, name, "contradicts SYNCOPATE_WAIT");
  // A lock that can wait so does; another keeps its own way.
  char both[96];
  const int length = std::snprintf(both, sizeof both, "%s:%s", name, common_wait);
  if (length < 0 || static_cast<std::size_t>(length) >= sizeof both) return true;
  if (const erased_lock* const waiting_so = find_lock(both)) config.lock = waiting_so;
  return true;
}

bool read_regions() noexcept {
  constexpr const char* me = variable_of(option::omp_regions);
  const char* const set = setting<option::omp_regions>();
  if (set == nullptr || std::strcmp(set, "runtime") == 0) return true;
  if (std::strcmp(set, "kept") != 0) return refuse(me, set, "regions are kept or runtime");
  if (config.barrier == nullptr)
    return refuse(me, set, "contradicts SYNCOPATE_OMP_BARRIER=runtime");
  config.keep = true;
  return true;
}

bool read_tasks() noexcept {
  constexpr const char* me = variable_of(option::omp_tasks);
  const char* const set = setting<option::omp_tasks>();
  if (set == nullptr || std::strcmp(set, "runtime") == 0) return true;
  if (std::strcmp(set, "ours") != 0) return refuse(me, set, "tasks are ours or runtime");
  if (config.barrier == nullptr)
    return refuse(me, set, "contradicts SYNCOPATE_OMP_BARRIER=runtime");
  config.tasks = true;
  return true;
}

// All waits are the runtime's. Returns whether they are to be recorded.
bool record_by_runtime() noexcept {
  config.barrier = nullptr;
  config.lock = nullptr;
  config.keep = config.tasks = false;
  return is_on<option::record>();
}

// Programs start threads before they call us; but all first calls of a process come one after the
// other, except of a library that was opened by two threads: then both read the same.
bool read_environment() noexcept {
  if (is_set_to<option::everything>("off")) return false;
  if (!machine::is_modeled && is_in_modeled_program()) return false;
  if (::getauxval(AT_SECURE) != 0) return false;
  config.verbose = is_on<option::verbose>();
  constexpr option common = option::wait;
  const char* const wait = setting<common>();
  if (wait != nullptr && !find_wait(variable_of(common), wait, wait, config.wait)) return false;
  return read_barrier(wait) && read_lock(wait) && read_regions() && read_tasks() &&
         (!say_what_watches() || record_by_runtime());
}

constinit pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;

lock_keeper keeper_of_locks() noexcept {
  if (!config.active || config.lock == nullptr) return lock_keeper::runtime;
  const bool asked = record::enabled || (config.barrier != nullptr && config.barrier->runs_ahead);
  return config.lock == find_lock("asymmetric") && !asked ? lock_keeper::we_in_word
                                                          : lock_keeper::we;
}

// The command line says both where this is not verbose.
void say_what_waits_plainly() noexcept {
  if (!config.verbose || config.barrier == nullptr || !config.barrier->runs_ahead) return;
  if (waits::speculation::possible()) return;
  const char* parts[] = {"syncopate: ", config.barrier->name,
                         ": no transaction begins on this machine; the barrier waits plainly",
                         nullptr};
  say(parts);
}

void say_what_waits_otherwise() noexcept {
  const char* const wait = setting<option::wait>();
  const bool barrier_waits_so = config.barrier != nullptr && !config.barrier->own_wait;
  const bool lock_waits_so = config.lock != nullptr && wait != nullptr && config.lock->wait == wait;
  if (!config.verbose || wait == nullptr || barrier_waits_so || lock_waits_so) return;
  const char* parts[] = {"syncopate: SYNCOPATE_WAIT=",
                         wait,
                         ": neither barrier ",
                         config.barrier != nullptr ? config.barrier->name : "runtime",
                         " nor lock ",
                         config.lock != nullptr ? config.lock->name.data() : "runtime",
                         " leaves the choice; SYNCOPATE_OMP_BARRIER=central does",
                         nullptr};
  say(parts);
}

void begin() noexcept {
  config.active = read_environment();
  if (config.active) {
    say_what_waits_plainly();
    say_what_waits_otherwise();
    (void)machine::may_spin();
    (void)machine::monitor_usable();
    (void)machine::self();
    machine::prepare_asymmetric_fences();
    if (is_on<option::record>() &&
        record::start(setting<option::record>(),
                      config.lock != nullptr ? config.lock->name.data() : "runtime",
                      config.lock != nullptr ? config.lock->wait.data() : "",
                      record::only_openmp)) {
      ::pthread_atfork(nullptr, nullptr, record::after_fork_in_child);
      tell_recorder_of_ends();
    }
  }
  syncopate_may_pass_all_on.store(!config.active, std::memory_order_relaxed);  // [J]
  config.keeper.store(keeper_of_locks(), std::memory_order_release);           // [C]
  config.read.store(true, std::memory_order_release);                          // [C]
}

[[gnu::destructor]] void end() { record::finish(); }

}  // namespace

void ensure_configured() noexcept {
  if (config.read.load(std::memory_order_acquire)) return;  // [C]
  ::pthread_mutex_lock(&once);
  if (!config.read.load(std::memory_order_relaxed)) begin();  // [G]
  ::pthread_mutex_unlock(&once);
}

void say(const char* const* parts) noexcept {
  char line[512];
  std::size_t n = 0;
  for (; *parts != nullptr; ++parts)
    for (const char* p = *parts; *p != '\0' && n < sizeof line - 1; ++p) line[n++] = *p;
  line[n++] = '\n';
  if (::write(STDERR_FILENO, line, n) < 0) return;
}

}  // namespace syncopate::openmp
