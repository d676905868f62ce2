// elision.cpp -- SYNCOPATE_ELIDE, SYNCOPATE_ELIDE_POLICY, and the switch of a running program.

#include "preload/elision/elision.h"

#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string_view>

#include "base/option.h"
#include "preload/base/say.h"
#include "preload/choice/algorithms.h"
#include "preload/choice/policy.h"
#include "preload/guard/guard.h"

// Where the mode lies, one byte of elide::mode's values, for whoever changes it from outside
// (`syncopate elide PID off`); null where nothing is elided.
extern "C" __attribute__((visibility("default")))
std::atomic<unsigned char>* syncopate_elision_mode;
constinit std::atomic<unsigned char>* syncopate_elision_mode = nullptr;

namespace syncopate::shim {

constinit elide::retry_policy elision_policy = elide::policies::adaptive;
thread_local constinit counted_section current_section{};

namespace {

// Where nobody asks for it, elision needs processors that would wait otherwise. *Measured* on two:
// kccachetest order with 4 threads 1.38 of glibc's rate, by the lock alone 1.23; memcached with one
// hot key, whose sections conflict, 0.80 and 1.05 (bench/programs.py).
constexpr unsigned enough_processors = 4;

// By its setting, by a lock that elides by itself, or by a policy for some lock.
bool is_asked_for(const algorithm& lock) noexcept {
  const char* const sites = setting<option::sites>();
  return setting<option::elide>() != nullptr || lock.elision != nullptr ||
         (sites != nullptr && std::strstr(sites, "elide=always") != nullptr) ||
         policy_names([](const algorithm& a) { return a.elision != nullptr; });
}

static_assert([] {
  std::string_view names[std::size(elide::named_policies)];
  for (std::size_t i = 0; i < std::size(names); ++i) names[i] = elide::named_policies[i].name;
  return are_words(row_of(option::elide_policy).choices, names);
}());

bool is(const char* value, const char* what) noexcept {
  return value != nullptr && std::strcmp(value, what) == 0;
}

// `run` has many processes, and they all inherit its environment: whoever is the first to say that
// nothing can be elided notes that there, for those that come after it.
void say_once_a_run() noexcept {
  char* const told = std::getenv(variable_of(option::told));
  if (told == nullptr || !is(setting<option::elide>(), "always") || machine::htm::commits()) return;
  if (*told == '1') elide::set_mode(elide::mode::off);  // and nothing else is asked
  else if (*told == '0') *told = '1';
}

}  // namespace

bool configure_elision(const algorithm& lock) noexcept {
  if (const char* const name = setting<option::elide_policy>())
    if (const elide::retry_policy* const known = elide::find_policy(name)) elision_policy = *known;
  if (!is_asked_for(lock) && machine::processors() < enough_processors) return false;
  say_once_a_run();
  if (elide::control::now() == elide::mode::off) return false;
  syncopate_elision_mode = &elide::control::detail::state.now;
  return true;
}

// What is wrong with the mode itself, elide/control.h says.
void report_elision(bool locks_pass) noexcept {
  const char* const mode = setting<option::elide>();
  if ((locks_pass || guards.misuse) && is(mode, "always"))
    say({"syncopate: SYNCOPATE_ELIDE=always, but ",
         locks_pass ? "the locks stay with the C library" : "--guard has to see every lock",
         "; nothing is elided"});
  const char* const name = setting<option::elide_policy>();
  if (name == nullptr) return;
  if (elide::find_policy(name) == nullptr)
    say({"syncopate: no elision policy is called '", name, "'; using auto (",
         choices_of<option::elide_policy>.text, ")"});
  else if (is(mode, "off"))
    say({"syncopate: SYNCOPATE_ELIDE_POLICY is set, but SYNCOPATE_ELIDE=off; nothing is elided"});
}

void count_abort(const machine::htm::status& why) noexcept {
  record::elision_counts& counts = current_section.counts;
  switch (why.why) {
    case machine::htm::cause::conflict: ++counts.conflict; break;
    case machine::htm::cause::capacity: ++counts.capacity; break;
    case machine::htm::cause::explicit_:
      ++(why.code == static_cast<unsigned char>(elide::abort_code::lock_held) ? counts.lock_held
                                                                              : counts.explicit_);
      break;
    default: ++counts.other;
  }
}

bool leave_section(const void* lock) noexcept {
  if (!elide::try_leave(lock)) return false;
  if (__builtin_expect(record::enabled, 0) && !elide::section::active()) {
    ++current_section.counts.committed;
    record::elided(current_section.lock, current_section.counts);
  }
  return true;
}

}  // namespace syncopate::shim
