// Prints where a program's memory lies. compare_runs.cmake compares two runs, with different
// environments.
#include <pthread.h>

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "../../src/model/front/program/layout.h"
#include "check.h"

namespace layout = syncopate::instrument::layout;

namespace {

int variable;
thread_local int local;
std::map<int, std::string> table{{1, "one"}, {2, std::string(500, 'x')}};

void show(const char* what, const void* p) { std::printf("%-12s %p\n", what, p); }

void worker(int id) {
  int on_stack = id;
  show("stack", &on_stack);
  show("local", &local);
  show("self", reinterpret_cast<void*>(pthread_self()));
  delete[] new int[1000];
  show("small", new int(id));
  show("large", new char[1 << 20]);
}

// Whether a function that the machine called, with this frame, begins where layout.h says, however
// deep the machine's own calls are: two words up its stack pointer was, some pages below the end.
bool begins(const void* frame, std::size_t below_end) {
  return (reinterpret_cast<std::uintptr_t>(frame) + 2 * sizeof(void*) + below_end) % 4096 == 0;
}

void* routine(void*) {
  return begins(__builtin_frame_address(0), layout::before_thread) ? &variable : nullptr;
}

}  // namespace

int main(int, char** argv) {
  CHECK(begins(__builtin_frame_address(0), layout::before_main));
  pthread_t thread;
  void* result = nullptr;
  CHECK(pthread_create(&thread, nullptr, routine, nullptr) == 0);
  CHECK(pthread_join(thread, &result) == 0 && result == &variable);
  std::setvbuf(stdout, nullptr, _IOFBF, 1 << 16);
  show("variable", &variable);
  show("constructor", &table[2][0]);
  show("argument", argv[0]);
  worker(0);
  for (int round = 0; round < 2; ++round) {
    std::vector<std::thread> threads;
    for (int i = 1; i < 4; ++i) threads.emplace_back(worker, i);
    for (std::thread& t : threads) t.join();
  }
  CHECK(std::fflush(stdout) == 0);
}
