// main.cpp -- a random program over the real objects of C++, POSIX and C11.
//
//   explored_fuzz_programs PROFILE SEED DROP DESCRIPTOR [show]
//
// What the program is: plan.h. Each execution writes a line, its outcome, to the descriptor; `show`
// writes the program there instead. check.py compares the outcomes of several searches.
#include <pthread.h>
#include <cstdlib>
#include <cstring>

#include "objects.h"

namespace {

using operation = int (*)(const step&);

constexpr operation all_operations[] = {
#define OPERATION(name) operations::name,
#include "operations.def"
#undef OPERATION
};

plan program;

void* run_thread(void* number) {
  const int t = int(reinterpret_cast<long>(number));
  for (int i = 0; i < program.length[t]; ++i) {
    const step& s = program.steps[t][i];
    tell_result(s, run(s));
  }
  return nullptr;
}

void run_threads() {
  pthread_t ids[most_threads];
  for (long t = 1; t < program.threads; ++t)
    pthread_create(&ids[t], nullptr, run_thread, reinterpret_cast<void*>(t));
  run_thread(nullptr);
  for (int t = 1; t < program.threads; ++t) pthread_join(ids[t], nullptr);
}

bool plan_program(const char* name, const char* seed, const char* drop) {
  for (const profile& each : all_profiles) {
    if (std::strcmp(each.name, name) != 0) continue;
    make_plan(program, each, std::strtoul(seed, nullptr, 10), drop);
    return true;
  }
  return false;
}

}  // namespace

int run(const step& s) { return all_operations[int(s.what)](s); }

timespec soon(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  time.tv_nsec += 1000;
  if (time.tv_nsec >= 1'000'000'000) {
    time.tv_nsec -= 1'000'000'000;
    ++time.tv_sec;
  }
  return time;
}

int main(int argc, char** argv) {
  if (argc < 5 || !plan_program(argv[1], argv[2], argv[3])) return 2;
  tell_outcomes_to(std::atoi(argv[4]));
  if (argc > 5) {
    write_plan(program);
    return 0;
  }
  start_locks();
  start_meetings(program);
  start_threads();
  start_c11();
  run_threads();
  tell_ends_of_atomics();
  tell_ends_of_once();
  tell_ends_of_conditions();
  tell_ends_of_meetings();
  tell_ends_of_nodes();
  write_outcome(program);
}
