// test_quiet.cpp -- the library writes nothing on the standard streams and takes none of their
// numbers.
//
// The program runs itself again as a quiet program: with its streams in pipes, then with them
// closed.
#include <fcntl.h>

#include <string>

#include "contention.h"

namespace {

int quiet_program() {
  contend_after(4, 100, [] {});
  return check_state->failed == 0 ? 0 : 1;
}

// With 0, 1 and 2 closed, a file opened first is descriptor 0: nobody hides behind these numbers.
int program_without_streams() {
  if (quiet_program() != 0) return 1;
  for (int expected = 0; expected < 3; ++expected)
    if (open("/dev/null", O_RDWR) != expected) return 2;
  return quiet_program() != 0 ? 3 : 0;
}

std::string read_all(int descriptor) {
  std::string text;
  char buffer[1024];
  ssize_t length = 0;
  while ((length = read(descriptor, buffer, sizeof buffer)) > 0)
    text.append(buffer, static_cast<size_t>(length));
  return text;
}

void expect_silence(const char* stream, const std::string& text) {
  if (!text.empty()) check_fail(__FILE__, __LINE__, stream, "nothing", text.c_str());
  CHECK(text.empty());
}

void run_with_pipes(const char* program) {
  int out[2];
  int err[2];
  MUST(pipe(out) == 0 && pipe(err) == 0);
  const pid_t child = check_fork();
  if (child == 0) {
    unsetenv("SYNCOPATE_VERBOSE");
    dup2(out[1], 1);
    dup2(err[1], 2);
    for (const int end : {out[0], out[1], err[0], err[1]}) close(end);
    execl(program, program, "quiet", nullptr);
    _exit(127);
  }
  close(out[1]);
  close(err[1]);
  expect_silence("standard output", read_all(out[0]));
  expect_silence("standard error", read_all(err[0]));
  CHECK_CHILD(child);
}

void run_without_streams(const char* program) {
  const pid_t child = check_fork();
  if (child == 0) {
    for (int descriptor = 0; descriptor < 1024; ++descriptor) close(descriptor);
    execl(program, program, "closed", nullptr);
    _exit(127);
  }
  CHECK_CHILD(child);
}

}  // namespace

int main(int count, char** arguments) {
  check_begin();
  if (count > 1) {
    check_state->quiet = 1;
    return strcmp(arguments[1], "closed") == 0 ? program_without_streams() : quiet_program();
  }
  run_with_pipes("/proc/self/exe");
  run_without_streams("/proc/self/exe");
  return check_end();
}
