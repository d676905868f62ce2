// library_state.cpp -- what library_state.h promises. What takes a system call to put back is put
// back only where the program has changed it.
#include "model/front/program/library_state.h"

#include <algorithm>
#include <clocale>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <locale>
#include <memory_resource>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <fcntl.h>
#include <getopt.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/front/libc/libc_range.h"
#include "model/front/libc/libc_search.h"
#include "model/front/program/begun_files.h"
#include "model/front/program/process_limits.h"
#include "model/front/program/standard_streams.h"

namespace syncopate::instrument {

namespace {

// random()'s numbers: the bytes to which its state points, of the usual size. What is not in use
// holds all that is needed to go on.
struct random_state {
  char* at = nullptr;
  char bytes[128], other[128];

  void keep() {
    at = ::initstate(1, other, sizeof other);
    std::memcpy(bytes, at, sizeof bytes);
    ::setstate(at);
  }
  void restore() {
    ::setstate(other);
    std::memcpy(at, bytes, sizeof bytes);
    ::setstate(at);
  }
};

// drand48()'s.
struct drand48_state {
  unsigned short at[3];

  void keep() {
    unsigned short none[3] = {};
    std::memcpy(at, ::seed48(none), sizeof at);
    restore();
  }
  void restore() {
    unsigned short given[3];
    std::memcpy(given, at, sizeof given);
    ::seed48(given);
  }
};

struct environment {
  char** start = nullptr;
  std::vector<char*> variables;

  void keep() {
    start = environ;
    for (char** each = start; each != nullptr && *each != nullptr; ++each)
      variables.push_back(*each);
  }
  void restore() const {
    environ = start;
    if (start == nullptr) return;
    std::copy(variables.begin(), variables.end(), start);
    start[variables.size()] = nullptr;
  }
};

// std::pmr's default, by the names of its functions: a C++ library before GCC 9's has none.
struct memory_default {
  using set = std::pmr::memory_resource*(std::pmr::memory_resource*);
  using get = std::pmr::memory_resource*();

  set* const give = named<set>("_ZNSt3pmr20set_default_resourceEPNS_15memory_resourceE");
  std::pmr::memory_resource* kept = nullptr;

  memory_default() {
    if (auto* const taken = named<get>("_ZNSt3pmr20get_default_resourceEv")) kept = taken();
  }
  void restore() const {
    if (give != nullptr) give(kept);
  }

 private:
  template <class Function>
  static Function* named(const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
  }
};

struct handlers {
  std::terminate_handler terminate = std::get_terminate();
  std::new_handler no_memory = std::get_new_handler();
  memory_default memory;

  void restore() const {
    std::set_terminate(terminate);
    std::set_new_handler(no_memory);
    memory.restore();
  }
};

// getopt() remembers where it was inside of an argument, too.
void restore_getopt() {
  const int reports = opterr;
  char name[] = "";
  char* const none[] = {name, nullptr};
  optind = 0;
  ::getopt(1, none, "");
  opterr = reports;
}

struct kept_state {
  environment variables;
  random_state random;
  drand48_state drand48;
  handlers called;
  std::string locale;
  std::locale cpp_locale;
  process_limits limits;
  sigset_t signals;
  bool locale_changed = false, signals_changed = false;
  int directory = -1;
  std::optional<mode_t> creation_mask;
  std::vector<std::pair<int, struct sigaction>> actions;  // as they were
  std::vector<int> files;                                 // of the program
};
constinit kept_state* kept = nullptr;

bool counts(engine::place where) { return kept != nullptr && by_program(where); }

void restore_locale() {
  if (!kept->locale_changed) return;
  std::locale::global(kept->cpp_locale);
  ::setlocale(LC_ALL, kept->locale.c_str());
  kept->locale_changed = false;
}

// (Those that wait for a mask to let them in would come to the machine.)
void forget_waiting_signals() {
  sigset_t waiting;
  if (::sigpending(&waiting) != 0 || sigisemptyset(&waiting) != 0) return;
  constexpr timespec none{};
  while (SYNCOPATE_REAL(sigtimedwait)(&waiting, nullptr, &none) > 0) {
  }
}

void restore_signals() {
  if (kept->signals_changed) forget_waiting_signals();
  if (kept->signals_changed) ::sigprocmask(SIG_SETMASK, &kept->signals, nullptr);
  kept->signals_changed = false;
  for (const auto& [signal, action] : kept->actions) ::sigaction(signal, &action, nullptr);
  kept->actions.clear();
}

void restore_files() {
  if (kept->directory >= 0) {
    if (::fchdir(kept->directory) != 0) {
      // It has gone: nobody can be there any more.
    }
    ::close(kept->directory);
    kept->directory = -1;
  }
  if (kept->creation_mask) ::umask(*kept->creation_mask);
  kept->creation_mask.reset();
  for (const int file : kept->files) ::close(file);
  kept->files.clear();
}

}  // namespace

void keep_library_state() {
  kept = new kept_state;
  kept->variables.keep();
  kept->random.keep();
  kept->drand48.keep();
  kept->locale = ::setlocale(LC_ALL, nullptr);
  ::sigprocmask(SIG_SETMASK, nullptr, &kept->signals);
  keep_begun_files();
  keep_standard_streams();
}

void restore_library_state() {
  kept->variables.restore();
  kept->random.restore();
  kept->drand48.restore();
  kept->called.restore();
  restore_getopt();
  restore_locale();
  restore_signals();
  kept->limits.restore();
  restore_files();
  restore_begun_files();
  restore_standard_streams();
  forget_searches();
}

void note_locale(engine::place where) {
  if (counts(where)) kept->locale_changed = true;
}

void note_directory(engine::place where) {
  if (!counts(where) || kept->directory >= 0) return;
  const engine_scope inside;
  kept->directory = ::open(".", O_PATH | O_CLOEXEC);
}

void note_creation_mask(mode_t before, engine::place where) {
  if (counts(where) && !kept->creation_mask) kept->creation_mask = before;
}

void note_signal_mask(engine::place where) {
  if (counts(where)) kept->signals_changed = true;
}

void note_signal_action(int signal, engine::place where) {
  if (!counts(where)) return;
  const engine_scope inside;
  const auto is_same = [&](const auto& known) { return known.first == signal; };
  if (std::any_of(kept->actions.begin(), kept->actions.end(), is_same)) return;
  struct sigaction before {};
  if (SYNCOPATE_REAL(sigaction)(signal, nullptr, &before) == 0)
    kept->actions.emplace_back(signal, before);
}

process_limits* limits_before(engine::place where) {
  return counts(where) ? &kept->limits : nullptr;
}

int note_opened(int file, engine::place where) {
  if (file < 0 || !counts(where)) return file;
  const engine_scope inside;
  kept->files.push_back(file);
  return file;
}

void note_closed(int file) {
  if (kept == nullptr) return;
  const engine_scope inside;
  std::erase(kept->files, file);
}

}  // namespace syncopate::instrument
