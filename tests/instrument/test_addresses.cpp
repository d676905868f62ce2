// Prints where a program's memory lies. compare_runs.cmake compares two runs, with different
// environments.
#include <pthread.h>

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "check.h"

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

}  // namespace

int main(int, char** argv) {
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
