// config.cpp -- reads the environment; the library's constructor and destructor.

#include "preload/config.h"

#include <cstdlib>
#include <cstring>

#include <pthread.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/modeled_program.h"
#include "base/option.h"
#include "preload/base/export.h"
#include "preload/base/say.h"
#include "preload/choice/policy.h"
#include "preload/condition/shared_condition.h"
#include "preload/elision/elision.h"
#include "preload/elision/speculation.h"
#include "preload/guard/guard.h"
#include "preload/thread/thread_end.h"
#include "record/recorder.h"
#include "record/told.h"

namespace syncopate::shim {

constinit configuration config;

namespace {

constinit bool unknown_lock = false;

// The emulated machine has this code in its own library, which acts.
bool is_left_alone() noexcept { return !machine::is_modeled && is_in_modeled_program(); }

// A transaction costs about twice as much as an uncontended acquisition, so there has to be
// something to gain.
bool elides_contended_only(const algorithm& lock) noexcept {
  return elide::control::now() == elide::mode::automatic && lock.elision == nullptr &&
         lock.traits.remembers_contention;
}

mode fast_path_of(const algorithm& lock, bool recording) noexcept {
  if (config.elides_contended && !has_policy && !recording && !guards.any()) return mode::elided;
  if (config.elides || config.speculates || guards.any()) return mode::general;
  if (has_policy) return lock.traits.glibc_word && !recording ? mode::chosen : mode::general;
  if (lock.traits.glibc_word) return recording ? mode::recorded : mode::automatic;
  if (recording) return mode::general;
  return lock.is_inlined ? mode::tatas : mode::general;
}

// One line for each thing that is wanted of the locks and does nothing beside what else is.
void report_idle(bool recording) noexcept {
  const bool pass = current_mode() == mode::pass;
  report_elision(pass);
  const char* const guard = setting<option::guard>();
  if (guard == nullptr && !pass) return;
  if (pass && guard != nullptr)
    say({"syncopate: SYNCOPATE_GUARD is set, but the locks stay with the C library"});
  if (pass && setting<option::sites>() != nullptr)
    say({"syncopate: SYNCOPATE_SITES is set, but the locks stay with the C library"});
  if (pass) return;
  if (config.lock->traits.runs_ahead && guards.any())
    say({"syncopate: ", config.lock->name.data(),
         ": the guard has to see every lock; nothing runs ahead"});
  if (recording && std::strstr(guard, "epochs") != nullptr)
    say({"syncopate: SYNCOPATE_GUARD has epochs, but while recording no choice is compared"});
}

}  // namespace

// Two threads may come here at once: both compute the same, and `how` is stored last.
void ensure_configured() noexcept {
  if (__builtin_expect(config.how.load(std::memory_order_acquire) != mode::unknown, 1))
    return;  // [C]
  mode how = mode::pass;
  const char* name = setting<option::lock>();
  const bool recording = is_on<option::record>();
  const bool off = is_set_to<option::everything>("off") || is_left_alone();
  // A program with more rights than its caller is left alone.
  if (!off && ::getauxval(AT_SECURE) == 0) {
    const bool pass = name != nullptr && std::strcmp(name, "glibc") == 0;
    // What glibc does, in our code: it can be counted and timed.
    if (pass && recording) name = "futex";
    if (!pass || recording) {
      const algorithm* lock = find_algorithm(name != nullptr ? name : recording ? "futex" : "auto");
      if (lock == nullptr) {
        unknown_lock = true;
        lock = find_algorithm("auto");
      }
      config.lock = lock;
      config.wait_name = lock->wait.data();
      chosen_locks[0] = lock;
      configure_guard(recording);
      // What runs as a transaction takes no lock that the guard could see.
      config.elides = !guards.misuse && configure_elision(*lock);
      config.speculates = !guards.any() && configure_speculation(*lock);
      // Who asks what the policy finds is told also of entries that change nothing here.
      has_policy = is_policy_given(config.elides || is_on<option::verbose>());
      config.elides_contended = config.elides && elides_contended_only(*lock);
      config.asks_rwlocks = config.elides || has_policy;
      how = fast_path_of(*lock, recording);
    }
  }
  config.how.store(how, std::memory_order_release);  // [C]
}

namespace {

[[gnu::constructor]] void begin() {
  ensure_configured();
  if (is_left_alone()) return;
  if (setting<option::everything>() != nullptr && !is_set_to<option::everything>("off"))
    say({"syncopate: SYNCOPATE=", setting<option::everything>(),
         ": only `off` leaves the program as it is"});
  if (unknown_lock)
    say({"syncopate: no lock for a program's mutexes is called '", setting<option::lock>(),
         "'; using auto (`syncopate list` shows the names)"});
  report_idle(is_on<option::record>());
  if (current_mode() == mode::pass) {
    if (is_on<option::verbose>()) say({"syncopate: locks of this program: the C library's"});
    return;
  }
  read_policy();
  start_guard();
  ::pthread_atfork(nullptr, nullptr, open_gates_after_fork);
  // System calls that a sandbox entered later may refuse are made now.
  (void)machine::may_spin();
  (void)machine::self();
  if (is_on<option::record>() &&
      record::start(setting<option::record>(), config.lock->name.data(), config.wait_name)) {
    ::pthread_atfork(nullptr, nullptr, record::after_fork_in_child);
    ::at_quick_exit(record::finish);
  }
  if (record::enabled || guards.any()) prepare_thread_end();
  if (is_on<option::verbose>()) {
    const char* const colon = *config.wait_name != '\0' ? ":" : "";
    // The command line says it where this is not verbose.
    if ((config.lock->traits.runs_ahead || config.lock->elision != nullptr) &&
        !machine::htm::commits())
      say({"syncopate: ", config.lock->name.data(), colon, config.wait_name,
           ": no transaction begins on this machine; the lock waits plainly"});
    say({"syncopate: locks of this program: ", config.lock->name.data(), colon, config.wait_name,
         config.elides ? "; eliding" : "", config.speculates ? "; running ahead" : "",
         record::enabled ? "; recording" : ""});
  }
}

[[gnu::destructor]] void end() {
  record::finish();
  const bool verbose = is_on<option::verbose>();
  if (has_policy && verbose) report_policy();
  finish_guard(verbose);
}

}  // namespace
}  // namespace syncopate::shim

// Who tells of waits that no call of pthread's shows (src/record/told.h).
SYNCOPATE_EXPORT const syncopate::record::telling* syncopate_recorder() {
  return &syncopate::record::told;
}
