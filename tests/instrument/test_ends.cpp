// Ways to end. Without an argument, runs itself once for each and checks its status and output.
#include <sys/wait.h>
#include <unistd.h>

#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

#include "check.h"

namespace {

std::string way;

// Static destructors run while the program's threads still do.
struct background {
  std::thread worker;
  bool stop = false;
  ~background() {
    stop = true;
    if (worker.joinable()) worker.join();
    std::puts("static destructor");
  }
};
background thread_of_static;

void at_the_end() { std::puts("atexit"); }
void say_first() { std::puts("first at_quick_exit"); }
void say_second() {
  std::puts("second at_quick_exit");
  std::fflush(stdout);  // nobody else does
}
thread_local struct says_so {
  bool on = false;
  ~says_so() {
    if (on) std::puts("thread_local destructor");
  }
} local;

void start_background() {
  thread_of_static.worker = std::thread([] {
    while (!thread_of_static.stop) std::this_thread::yield();
  });
}

int end_by(const std::string& how) {
  std::atexit(at_the_end);
  local.on = true;
  start_background();
  if (how == "_exit" || how == "abort" || how == "throw") std::fputs("lost in a buffer\n", stdout);
  if (how == "return") return 3;
  if (how == "exit") std::exit(4);
  if (how == "exit_in_thread") {
    std::thread([] { std::exit(5); }).join();
  }
  if (how == "_exit") _exit(6);
  if (how == "quick_exit") {
    std::at_quick_exit(say_second);  // runs last
    std::at_quick_exit(say_first);
    std::quick_exit(7);
  }
  if (how == "abort") std::abort();
  if (how == "assert") assert(how.empty());
  if (how == "throw") throw std::runtime_error("thrown by main");
  if (how == "terminate") std::terminate();
  if (how == "throw_in_thread") {
    std::thread([] { throw 5; }).join();
  }
  return 99;
}

struct outcome {
  int status;
  std::string output;
};
outcome run(const char* program, const char* how) {
  const std::string command = "'" + std::string(program) + "' " + how + " 2>&1";
  std::FILE* pipe = popen(command.c_str(), "r");
  outcome o{-1, {}};
  char piece[256];
  while (std::fgets(piece, sizeof piece, pipe) != nullptr) o.output += piece;
  const int status = pclose(pipe);
  o.status = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  return o;
}

bool has(const outcome& o, const char* text) { return o.output.find(text) != std::string::npos; }

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2) return end_by(argv[1]);
  const std::string orderly = "thread_local destructor\natexit\nstatic destructor\n";
  outcome o = run(argv[0], "return");
  CHECK(o.status == 3 && o.output == orderly);
  o = run(argv[0], "exit");
  CHECK(o.status == 4 && o.output == orderly);
  o = run(argv[0], "exit_in_thread");  // the thread's own thread_local objects: it has none
  CHECK(o.status == 5 && o.output == "atexit\nstatic destructor\n");
  o = run(argv[0], "_exit");
  CHECK(o.status == 6 && o.output.empty());
  o = run(argv[0], "quick_exit");
  CHECK(o.status == 7 && o.output == "first at_quick_exit\nsecond at_quick_exit\n");
  o = run(argv[0], "abort");
  CHECK(o.status == 134 && has(o, "abort") && !has(o, "destructor") && !has(o, "buffer"));
  o = run(argv[0], "assert");
  CHECK(o.status == 134 && has(o, "Assertion `how.empty()' failed") && !has(o, "atexit"));
  for (const char* how : {"throw", "terminate", "throw_in_thread"}) {
    o = run(argv[0], how);
    CHECK(o.status == 134 && has(o, "terminate called") && !has(o, "destructor") &&
          !has(o, "buffer"));
  }
}
