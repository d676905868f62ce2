// exec.cpp -- the exec family, for the recorder only: a program that becomes another one runs no
// destructor, so what is not in its record yet is written before; where the call fails, the
// recording goes on. What is started beside this program (posix_spawn, system) does not come here.
// Nothing allocates: children of vfork call these.
#include <unistd.h>

#include <alloca.h>

#include <cstdarg>
#include <cstddef>
#include <cstring>

#include "preload/base/export.h"
#include "preload/base/real.h"
#include "record/recorder.h"

using namespace syncopate;        // NOLINT(google-build-using-namespace): this file is the ABI
using namespace syncopate::shim;  // NOLINT(google-build-using-namespace)

namespace {

// `call` returns only where it has failed.
template <class Call>
int replaced_by(Call call) noexcept {
  record::about_to_exec();
  const int result = call();
  record::exec_has_failed();
  return result;
}

// Words up to a null pointer, that one included.
std::size_t count_words(const char* first, va_list& more) noexcept {
  std::size_t count = 1;
  for (const char* word = first; word != nullptr; word = va_arg(more, const char*)) ++count;
  return count;
}

}  // namespace

SYNCOPATE_EXPORT int execve(const char* path, char* const* words, char* const* environment) {
  return replaced_by([&] { return real::execve(path, words, environment); });
}

SYNCOPATE_EXPORT int execv(const char* path, char* const* words) {
  return replaced_by([&] { return real::execv(path, words); });
}

SYNCOPATE_EXPORT int execvp(const char* file, char* const* words) {
  return replaced_by([&] { return real::execvp(file, words); });
}

SYNCOPATE_EXPORT int execvpe(const char* file, char* const* words, char* const* environment) {
  return replaced_by([&] { return real::execvpe(file, words, environment); });
}

SYNCOPATE_EXPORT int fexecve(int file, char* const* words, char* const* environment) {
  return replaced_by([&] { return real::fexecve(file, words, environment); });
}

SYNCOPATE_EXPORT int execveat(int folder, const char* path, char* const* words,
                              char* const* environment, int flags) {
  return replaced_by([&] { return real::execveat(folder, path, words, environment, flags); });
}

// Those with an open list of words. The function behind ours gets such a list as well: this one
// with null pointers behind its end. One that is too long for that goes to the function that takes
// an array.
#define SYNCOPATE_WORDS(first, room)                                                       \
  va_list list;                                                                            \
  va_start(list, first);                                                                   \
  const std::size_t count = count_words(first, list);                                      \
  va_end(list);                                                                            \
  const std::size_t slots = count + (room) > real::padded ? count + (room) : real::padded; \
  auto** const words = static_cast<char**>(alloca(slots * sizeof(char*)));                 \
  std::memset(words, 0, slots * sizeof(char*));                                            \
  va_start(list, first);                                                                   \
  words[0] = const_cast<char*>(first);                                                     \
  for (std::size_t i = 1; i < count; ++i) words[i] = va_arg(list, char*)

SYNCOPATE_EXPORT int execl(const char* path, const char* first, ...) {
  SYNCOPATE_WORDS(first, 0);
  va_end(list);
  return replaced_by(
      [&] { return count <= real::padded ? real::execl(path, words) : real::execv(path, words); });
}

SYNCOPATE_EXPORT int execlp(const char* file, const char* first, ...) {
  SYNCOPATE_WORDS(first, 0);
  va_end(list);
  return replaced_by([&] {
    return count <= real::padded ? real::execlp(file, words) : real::execvp(file, words);
  });
}

// The environment stands behind the null pointer.
SYNCOPATE_EXPORT int execle(const char* path, const char* first, ...) {
  SYNCOPATE_WORDS(first, 1);
  char* const* const environment = va_arg(list, char* const*);
  va_end(list);
  return replaced_by([&] {
    if (count >= real::padded) return real::execve(path, words, environment);
    words[count] = reinterpret_cast<char*>(const_cast<char**>(environment));
    return real::execle(path, words);
  });
}
