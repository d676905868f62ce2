// A table of transactional clones that no compiler can have made is left out, with one line that
// says of which object and why. One that is sound is used.
// Stock: fails
#include <cstring>
#include <string>

#include <unistd.h>

#include "check.h"

extern "C" {
void _ITM_registerTMCloneTable(void* table, std::size_t count);
void _ITM_deregisterTMCloneTable(void* table);
void* _ITM_getTMCloneSafe(void* function);
}

namespace {

struct pair {
  const void *original, *clone;
};
// Places that stand for functions.
char plain, clone, other;

pair lacks_clone[] = {{&plain, &clone}, {&other, nullptr}};
pair sound[] = {{&plain, &clone}, {nullptr, nullptr}};

// What the library writes to standard error as it gets the table.
std::string said_of(void* table, std::size_t count) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  const int kept = dup(STDERR_FILENO);
  CHECK(dup2(ends[1], STDERR_FILENO) >= 0 && close(ends[1]) == 0);
  _ITM_registerTMCloneTable(table, count);
  CHECK(dup2(kept, STDERR_FILENO) >= 0 && close(kept) == 0);
  char text[1024];
  const ssize_t length = read(ends[0], text, sizeof text);
  CHECK(length >= 0 && close(ends[0]) == 0);
  return {text, static_cast<std::size_t>(length)};
}
bool is_one_line(const std::string& text, const char* why) {
  return text.find('\n') == text.size() - 1 && text.find("tm_corrupt_table") != text.npos &&
         text.find(why) != text.npos;
}

}  // namespace

int main() {
  CHECK(is_one_line(said_of(lacks_clone, 2), "has a function without a clone"));
  CHECK(is_one_line(said_of(sound, std::size_t{1} << 40), "reaches out of it"));
  CHECK(is_one_line(said_of(sound, ~std::size_t{0}), "reaches out of it"));
  CHECK(is_one_line(said_of(reinterpret_cast<char*>(sound) + 4, 1), "is not aligned"));
  CHECK(said_of(sound, 2).empty());
  CHECK(_ITM_getTMCloneSafe(&plain) == &clone);
  _ITM_deregisterTMCloneTable(sound);
}
