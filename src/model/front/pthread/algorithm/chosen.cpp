// chosen.cpp -- reads SYNCOPATE_LOCK. Not instrumented.

#include "model/front/pthread/algorithm/chosen.h"

#include <syncopate/locks/all.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <unistd.h>

#include "preload/choice/algorithms.h"
#include "preload/choice/offered.h"

namespace syncopate::instrument::chosen {
namespace {

constexpr const char* default_lock = "futex";

// Whether there is such a lock, but none that lies in a mutex's few bytes.
bool is_too_large(std::string_view name) noexcept {
  name = name.substr(0, name.find(':'));
  bool any = false, any_fits = false;
  for_each_lock([&]<class Lock>(lock_entry<Lock> entry) {
    if (entry.name != name || !Lock::traits.excludes) return;
    any = true;
    any_fits = any_fits || shim::fits<Lock>;
  });
  return any && !any_fits;
}

const shim::algorithm& read_choice() noexcept {
  const char* name = std::getenv("SYNCOPATE_LOCK");
  // "glibc" is the preload library's word for "leave mutexes alone".
  if (name == nullptr || *name == '\0' || std::strcmp(name, "glibc") == 0) name = default_lock;
  if (const shim::algorithm* const found = shim::find_algorithm(name)) return *found;
  const char* const text = is_too_large(name)
                               ? "syncopate: the lock '%s' is too large for pthread's mutexes\n"
                               : "syncopate: no lock is called '%s' (`syncopate list` shows the "
                                 "names)\n";
  std::fprintf(stderr, text, name);
  constexpr int not_understood = 2;
  ::_exit(not_understood);
}

const shim::algorithm& choice() noexcept {
  static const shim::algorithm& chosen = read_choice();
  return chosen;
}

[[gnu::constructor]] void complain_early() { (void)choice(); }

}  // namespace

bool glibc_word() noexcept { return choice().traits.glibc_word; }
bool keeps_owner() noexcept { return choice().traits.keeps_owner; }
bool shuns_owner() noexcept { return choice().shuns_owner; }
bool is_timed() noexcept { return choice().lock_until != nullptr; }
void lock(void* state) noexcept { choice().lock(state); }
bool try_lock(void* state) noexcept { return choice().try_lock(state); }
bool lock_until(void* state, const machine::deadline& until) noexcept {
  return choice().lock_until(state, until);
}
void unlock(void* state) noexcept { choice().unlock(state); }
bool is_locked(void* state) noexcept { return choice().is_locked(state); }

}  // namespace syncopate::instrument::chosen
