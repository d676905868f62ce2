// C11's threads.
#include <threads.h>

#include "objects.h"

namespace {

mtx_t mutex;
cnd_t condition;

int run_child(void* of) { return run(*static_cast<const step*>(of)->child); }

}  // namespace

namespace operations {

int c11_section(const step& s) {
  mtx_lock(&mutex);
  const int old = swap_cell(s);
  mtx_unlock(&mutex);
  return old;
}

int c11_timed_section(const step& s) {
  const timespec until = soon(CLOCK_REALTIME);
  const int error = s.choice != 0 ? mtx_timedlock(&mutex, &until) : mtx_trylock(&mutex);
  if (error != thrd_success) return -1;
  const int old = swap_cell(s);
  mtx_unlock(&mutex);
  return old;
}

int c11_timed_wait(const step& s) {
  mtx_lock(&mutex);
  const timespec until = soon(CLOCK_REALTIME);
  const int error = cnd_timedwait(&condition, &mutex, &until);
  const int found = cells[s.variable];
  mtx_unlock(&mutex);
  return error * 10 + found;
}

int c11_signal(const step& s) {
  return s.choice != 0 ? cnd_signal(&condition) : cnd_broadcast(&condition);
}

int c11_thread(const step& s) {
  thrd_t child;
  thrd_create(&child, run_child, const_cast<step*>(&s));
  const int found = load(s);
  int result = 0;
  thrd_join(child, &result);
  return found + 100 * result;
}

}  // namespace operations

void start_c11() {
  mtx_init(&mutex, mtx_timed);
  cnd_init(&condition);
}
