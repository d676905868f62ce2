// early_threads.cpp -- see early_threads.h.
#include "model/front/pthread/early_threads.h"

#include <atomic>

#include "model/front/program/options.h"
#include "model/front/pthread/real.h"

namespace syncopate::instrument {

namespace {

constinit std::atomic<int> running_early = 0, unjoined_early = 0;

struct start {
  void* (*routine)(void*);
  void* argument;
};

struct counted {
  ~counted() { running_early.fetch_sub(1, std::memory_order_relaxed); }  // [N]
};

void* run(void* given) {
  const start what = *static_cast<start*>(given);
  delete static_cast<start*>(given);
  const counted until_the_end;  // also by pthread_exit() and cancellation
  return what.routine(what.argument);
}

}  // namespace

int create_early(pthread_t* thread, const pthread_attr_t* attributes, void* (*routine)(void*),
                 void* argument) {
  auto* const what = new start{routine, argument};
  int state = PTHREAD_CREATE_JOINABLE;
  if (attributes != nullptr) ::pthread_attr_getdetachstate(attributes, &state);
  running_early.fetch_add(1, std::memory_order_relaxed);  // [N]
  const int error =
      SYNCOPATE_REAL_VERSION(pthread_create, "GLIBC_2.34")(thread, attributes, run, what);
  if (error != 0) {
    running_early.fetch_sub(1, std::memory_order_relaxed);  // [N]
    delete what;
  } else if (state == PTHREAD_CREATE_JOINABLE) {
    note_early();
  }
  return error;
}

void note_early() { unjoined_early.fetch_add(1, std::memory_order_relaxed); }    // [N]
void forget_early() { unjoined_early.fetch_sub(1, std::memory_order_relaxed); }  // [N]

void refuse_early_threads() {
  if (running_early.load(std::memory_order_relaxed) <= 0 &&  // [N]
      unjoined_early.load(std::memory_order_relaxed) <= 0)   // [N]
    return;
  fail(
      "a static constructor has made a thread that is not over, and joined, when main begins: no "
      "machine sees it; make it in main, or at the first use");
}

}  // namespace syncopate::instrument
