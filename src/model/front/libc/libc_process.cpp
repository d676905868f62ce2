// libc_process.cpp -- calls that change what the C library and the kernel keep of the process: the
// environment, the locale, the folder, open files. The environment is one variable of all threads:
// who changes it writes it. The memory that the C library keeps is its own, not of the program's
// heap, which may begin anew while the C library still has it (library_state.h).
#include <cerrno>
#include <clocale>
#include <cstdarg>
#include <cstdlib>
#include <ctime>
#include <cwchar>
#include <tuple>

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <iconv.h>
#include <netdb.h>
#include <pwd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/front/compiler/critical_sections.h"
#include "model/front/libc/call_memory.h"
#include "model/front/libc/file_waits.h"
#include "model/front/program/begun_files.h"
#include "model/front/program/library_state.h"

namespace syncopate::instrument {
namespace {

void looks_at_environment(engine::place where) {
  if (by_program(where)) call_reads(&environ, sizeof environ, where);
}
void changes_environment(engine::place where) {
  if (by_program(where)) call_wrote(&environ, sizeof environ, where);
}
void reads_text(const char* text, engine::place where) {
  if (by_program(where)) call_reads_text(text, where);
}

template <class Call>
auto by_library(Call call) {
  const engine_scope inside;
  return call();
}

}  // namespace
}  // namespace syncopate::instrument

using namespace syncopate::instrument;

// ---- the environment ----------------------------------------------------------------------------

SYNCOPATE_EXPORT char* getenv(const char* name) noexcept {
  reads_text(name, SYNCOPATE_CALLER);
  looks_at_environment(SYNCOPATE_CALLER);
  return SYNCOPATE_REAL(getenv)(name);
}
SYNCOPATE_EXPORT char* secure_getenv(const char* name) noexcept {
  reads_text(name, SYNCOPATE_CALLER);
  looks_at_environment(SYNCOPATE_CALLER);
  return SYNCOPATE_REAL(secure_getenv)(name);
}
SYNCOPATE_EXPORT int setenv(const char* name, const char* value, int anew) noexcept {
  reads_text(name, SYNCOPATE_CALLER);
  reads_text(value, SYNCOPATE_CALLER);
  changes_environment(SYNCOPATE_CALLER);
  return by_library([=] { return SYNCOPATE_REAL(setenv)(name, value, anew); });
}
SYNCOPATE_EXPORT int unsetenv(const char* name) noexcept {
  reads_text(name, SYNCOPATE_CALLER);
  changes_environment(SYNCOPATE_CALLER);
  return by_library([=] { return SYNCOPATE_REAL(unsetenv)(name); });
}
SYNCOPATE_EXPORT int putenv(char* text) noexcept {
  reads_text(text, SYNCOPATE_CALLER);
  changes_environment(SYNCOPATE_CALLER);
  return by_library([=] { return SYNCOPATE_REAL(putenv)(text); });
}
SYNCOPATE_EXPORT int clearenv() noexcept {
  changes_environment(SYNCOPATE_CALLER);
  return by_library([] { return SYNCOPATE_REAL(clearenv)(); });
}

// ---- locales ------------------------------------------------------------------------------------

// What it needs to convert wide characters, the C library makes at their first use.
static locale_t with_conversions(locale_t made) {
  if (made == nullptr) return made;
  const locale_t before = ::uselocale(made);
  std::ignore = std::btowc(0x80);  // (ASCII needs none)
  ::uselocale(before);
  return made;
}
SYNCOPATE_EXPORT char* setlocale(int category, const char* name) noexcept {
  if (name != nullptr) note_locale(SYNCOPATE_CALLER);
  return by_library([=] {
    char* const result = SYNCOPATE_REAL(setlocale)(category, name);
    if (name != nullptr) with_conversions(LC_GLOBAL_LOCALE);
    return result;
  });
}
// (The C++ library calls them by the names with underscores.)
#define OF_LOCALES(name, result, parameters, call)       \
  extern "C" result __##name parameters noexcept;        \
  SYNCOPATE_EXPORT result name parameters noexcept {     \
    return by_library([=] { return call; });             \
  }                                                      \
  SYNCOPATE_EXPORT result __##name parameters noexcept { \
    return by_library([=] { return call; });             \
  }
OF_LOCALES(newlocale, locale_t, (int categories, const char* name, locale_t base),
           with_conversions(SYNCOPATE_REAL(newlocale)(categories, name, base)))
OF_LOCALES(duplocale, locale_t, (locale_t of), with_conversions(SYNCOPATE_REAL(duplocale)(of)))
OF_LOCALES(freelocale, void, (locale_t which), SYNCOPATE_REAL(freelocale)(which))
#undef OF_LOCALES

// ---- what else the C library makes once, and keeps ----------------------------------------------

// Time zones, modules that convert characters, who answers for users and hosts.
#define KEEPS(result, name, parameters, arguments)                     \
  SYNCOPATE_EXPORT result name parameters {                            \
    return by_library([=] { return SYNCOPATE_REAL(name) arguments; }); \
  }
// The same, with results where the caller says.
#define KEEPS_AND_WRITES(result, name, parameters, arguments, ...)     \
  SYNCOPATE_EXPORT result name parameters {                            \
    const results_of_call told(SYNCOPATE_CALLER, __VA_ARGS__);         \
    return by_library([=] { return SYNCOPATE_REAL(name) arguments; }); \
  }
// The same, with a result that the library keeps: threads may not call it at once.
#define KEEPS_RESULT(result, name, parameters, arguments)                               \
  SYNCOPATE_EXPORT result name parameters {                                             \
    auto* const kept = by_library([=] { return SYNCOPATE_REAL(name) arguments; });      \
    if (by_program(SYNCOPATE_CALLER)) call_wrote(kept, sizeof *kept, SYNCOPATE_CALLER); \
    return kept;                                                                        \
  }
KEEPS(void, tzset, () noexcept, ())
KEEPS(iconv_t, iconv_open, (const char* to, const char* from), (to, from))
KEEPS(int, iconv_close, (iconv_t which), (which))
KEEPS_RESULT(passwd*, getpwnam, (const char* name), (name))
KEEPS_RESULT(passwd*, getpwuid, (uid_t user), (user))
KEEPS_AND_WRITES(int, getpwnam_r,
                 (const char* name, passwd* entry, char* room, std::size_t bytes, passwd** found),
                 (name, entry, room, bytes, found), entry, room, found)
KEEPS_AND_WRITES(int, getpwuid_r,
                 (uid_t user, passwd* entry, char* room, std::size_t bytes, passwd** found),
                 (user, entry, room, bytes, found), entry, room, found)
KEEPS_RESULT(group*, getgrnam, (const char* name), (name))
KEEPS_RESULT(group*, getgrgid, (gid_t id), (id))
KEEPS_RESULT(hostent*, gethostbyname, (const char* name), (name))
KEEPS_AND_WRITES(int, getaddrinfo,
                 (const char* name, const char* service, const addrinfo* wanted, addrinfo** found),
                 (name, service, wanted, found), found)
KEEPS(void, freeaddrinfo, (addrinfo * found) noexcept, (found))
#undef KEEPS
#undef KEEPS_AND_WRITES
#undef KEEPS_RESULT

SYNCOPATE_EXPORT std::time_t mktime(std::tm* time) noexcept {
  if (by_program(SYNCOPATE_CALLER)) call_wrote(time, sizeof *time, SYNCOPATE_CALLER);
  return by_library([=] { return SYNCOPATE_REAL(mktime)(time); });
}
SYNCOPATE_EXPORT std::tm* localtime_r(const std::time_t* time, std::tm* to) noexcept {
  if (by_program(SYNCOPATE_CALLER)) {
    call_reads(time, sizeof *time, SYNCOPATE_CALLER);
    call_wrote(to, sizeof *to, SYNCOPATE_CALLER);
  }
  return by_library([=] { return SYNCOPATE_REAL(localtime_r)(time, to); });
}
SYNCOPATE_EXPORT std::size_t strftime(char* to, std::size_t room, const char* format,
                                      const std::tm* time) noexcept {
  const std::size_t length =
      by_library([=] { return SYNCOPATE_REAL(strftime)(to, room, format, time); });
  if (by_program(SYNCOPATE_CALLER)) {
    call_reads(time, sizeof *time, SYNCOPATE_CALLER);
    if (length != 0) call_wrote(to, length + 1, SYNCOPATE_CALLER);
  }
  return length;
}

// ---- folders and files --------------------------------------------------------------------------

SYNCOPATE_EXPORT int chdir(const char* to) noexcept {
  end_transaction("chdir", SYNCOPATE_CALLER);
  note_directory(SYNCOPATE_CALLER);
  return SYNCOPATE_REAL(chdir)(to);
}
SYNCOPATE_EXPORT int fchdir(int to) noexcept {
  end_transaction("fchdir", SYNCOPATE_CALLER);
  note_directory(SYNCOPATE_CALLER);
  return SYNCOPATE_REAL(fchdir)(to);
}
SYNCOPATE_EXPORT mode_t umask(mode_t mask) noexcept {
  const mode_t before = SYNCOPATE_REAL(umask)(mask);
  note_creation_mask(before, SYNCOPATE_CALLER);
  return before;
}

#define OPENS(name, parameters, arguments)                                \
  SYNCOPATE_EXPORT int name parameters noexcept {                         \
    end_transaction(#name, SYNCOPATE_CALLER);                             \
    return note_opened(SYNCOPATE_REAL(name) arguments, SYNCOPATE_CALLER); \
  }
OPENS(memfd_create, (const char* called, unsigned flags), (called, flags))
#undef OPENS

// One more number of the same file.
static int note_same(int result, int file, syncopate::engine::place where) {
  if (result < 0 || !by_program(where)) return result;
  note_same_file(result, file);
  return note_opened(result, where);
}
SYNCOPATE_EXPORT int dup(int file) noexcept {
  end_transaction("dup", SYNCOPATE_CALLER);
  return note_same(SYNCOPATE_REAL(dup)(file), file, SYNCOPATE_CALLER);
}
template <class Call>
static int replace(int file, int other, syncopate::engine::place where, Call call) {
  if (!by_program(where) || file == other || ::fcntl(file, F_GETFD) < 0) return call();
  forget_closed(other, where);
  return note_same(call(), file, where);
}
SYNCOPATE_EXPORT int dup2(int file, int other) noexcept {
  end_transaction("dup2", SYNCOPATE_CALLER);
  return replace(file, other, SYNCOPATE_CALLER, [=] { return SYNCOPATE_REAL(dup2)(file, other); });
}
SYNCOPATE_EXPORT int dup3(int file, int other, int flags) noexcept {
  end_transaction("dup3", SYNCOPATE_CALLER);
  return replace(file, other, SYNCOPATE_CALLER,
                 [=] { return SYNCOPATE_REAL(dup3)(file, other, flags); });
}
static int control(int file, int what, void* argument, syncopate::engine::place where) {
  if (what == F_SETFL) note_flags(file, where);
  const int result = SYNCOPATE_REAL(fcntl)(file, what, argument);
  return what == F_DUPFD || what == F_DUPFD_CLOEXEC ? note_same(result, file, where) : result;
}
#define CONTROLS(name)                                      \
  SYNCOPATE_EXPORT int name(int file, int what, ...) {      \
    std::va_list arguments;                                 \
    va_start(arguments, what);                              \
    void* const argument = va_arg(arguments, void*);        \
    va_end(arguments);                                      \
    end_transaction(#name, SYNCOPATE_CALLER);               \
    return control(file, what, argument, SYNCOPATE_CALLER); \
  }
CONTROLS(fcntl)
CONTROLS(fcntl64)
#undef CONTROLS

SYNCOPATE_EXPORT int creat(const char* path, mode_t mode) {
  end_transaction("creat", SYNCOPATE_CALLER);
  return note_opened(SYNCOPATE_REAL(creat)(path, mode), SYNCOPATE_CALLER);
}
SYNCOPATE_EXPORT int creat64(const char* path, mode_t mode) {
  end_transaction("creat64", SYNCOPATE_CALLER);
  return note_opened(SYNCOPATE_REAL(creat64)(path, mode), SYNCOPATE_CALLER);
}
SYNCOPATE_EXPORT DIR* opendir(const char* path) {
  end_transaction("opendir", SYNCOPATE_CALLER);
  DIR* const folder = SYNCOPATE_REAL(opendir)(path);
  if (folder != nullptr) note_opened(::dirfd(folder), SYNCOPATE_CALLER);
  return folder;
}
SYNCOPATE_EXPORT int closedir(DIR* folder) {
  end_transaction("closedir", SYNCOPATE_CALLER);
  note_closed(::dirfd(folder));
  if (by_program(SYNCOPATE_CALLER)) call_wrote(folder, 1, SYNCOPATE_CALLER);  // who reads it?
  return SYNCOPATE_REAL(closedir)(folder);
}
