// chosen.cpp -- L4: reads SYNCOPATE_LOCK. Not instrumented.

#include "instrument/pthread/algorithm/chosen.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

#include "pthread/algorithms.h"

namespace syncopate::instrument::chosen {
namespace {

constexpr const char* default_lock = "futex";

const shim::algorithm& read_choice() noexcept {
  const char* name = std::getenv("SYNCOPATE_LOCK");
  // "glibc" is the preload library's word for "leave mutexes alone".
  if (name == nullptr || *name == '\0' || std::strcmp(name, "glibc") == 0) name = default_lock;
  if (const shim::algorithm* const found = shim::find_algorithm(name)) return *found;
  std::fprintf(stderr, "syncopate: no lock is called '%s' (`syncopate list` shows the names)\n",
               name);
  ::_exit(EXIT_FAILURE);
}

const shim::algorithm& choice() noexcept {
  static const shim::algorithm& chosen = read_choice();
  return chosen;
}

[[gnu::constructor]] void complain_early() { (void)choice(); }

}  // namespace

bool glibc_word() noexcept { return choice().glibc_word; }
bool keeps_owner() noexcept { return choice().name[0] == 'a'; }  // auto_lock alone
// elide/elided_lock.h and wait/speculate.h; for one_spinner_lock.h, which this holds for too, it is
// no loss.
bool shuns_owner() noexcept { return !choice().preload; }
bool is_timed() noexcept { return choice().lock_until != nullptr; }
void lock(void* state) noexcept { choice().lock(state); }
bool try_lock(void* state) noexcept { return choice().try_lock(state); }
bool lock_until(void* state, const machine::deadline& until) noexcept {
  return choice().lock_until(state, until);
}
void unlock(void* state) noexcept { choice().unlock(state); }

}  // namespace syncopate::instrument::chosen
