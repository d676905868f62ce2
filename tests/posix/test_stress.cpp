// test_stress.cpp -- threads x mutexes of all kinds x all calls, by seed, for a second: every
// counter exact.
#include "mutex_kinds.h"
#include "thread.h"

namespace {

constexpr int threads = 6;
constexpr int cells = 12;
constexpr long long duration_ms = 1200;

// A mutex of some kind, a condition variable, and what they guard.
struct Cell {
  pthread_mutex_t mutex;
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  int type = 0;
  volatile long counter = 0;
  volatile int owner = -1;
  long expected = 0;
};

Cell all_cells[cells];
int violations = 0;

void report(const char* what, int error) {
  char name[32];
  add_int(&violations, 1);
  check_fail(__FILE__, __LINE__, what, "0", check_errno_name(error, name));
}

void expect_zero(const char* what, int error) {
  if (error != 0) report(what, error);
}

// Returns: whether the mutex was taken, by a form that the random number picks.
bool take(Cell* cell, unsigned choice) {
  timespec deadline;
  int error = 0;
  switch (choice % 6) {
    case 0:
      error = pthread_mutex_trylock(&cell->mutex);
      if (error == EBUSY) return false;
      break;
    case 1:
      deadline = in_ms(CLOCK_REALTIME, static_cast<long>(choice % 5) - 1);
      error = pthread_mutex_timedlock(&cell->mutex, &deadline);
      if (error == ETIMEDOUT) return false;
      break;
    case 2:
      deadline = in_ms(CLOCK_MONOTONIC, static_cast<long>(choice % 5) - 1);
      error = pthread_mutex_clocklock(&cell->mutex, CLOCK_MONOTONIC, &deadline);
      if (error == ETIMEDOUT) return false;
      break;
    default: error = pthread_mutex_lock(&cell->mutex);
  }
  expect_zero("taking a mutex", error);
  return error == 0;
}

void inside(Cell* cell, int self) {
  cell->owner = self;
  cell->counter = cell->counter + 1;
  if (cell->owner != self) report("owner inside", cell->owner);
  ++cell->expected;
}

// Gives the mutex away for a while: other owners come and go, then it is ours again.
void wait_a_moment(Cell* cell, int self, unsigned choice) {
  const clockid_t clock = choice % 2 != 0 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
  const timespec deadline = in_ms(clock, 1);
  const int error = pthread_cond_clockwait(&cell->cond, &cell->mutex, clock, &deadline);
  if (error != ETIMEDOUT) expect_zero("condition wait", error);
  inside(cell, self);
}

void again_by_the_owner(Cell* cell) {
  const int error = pthread_mutex_trylock(&cell->mutex);
  if (cell->type == PTHREAD_MUTEX_RECURSIVE) {
    expect_zero("recursion", error);
    expect_zero("unlock of a recursion", pthread_mutex_unlock(&cell->mutex));
  } else if (error != EBUSY) {
    report("trylock by the owner", error);
  }
  if (cell->type == PTHREAD_MUTEX_ERRORCHECK && pthread_mutex_lock(&cell->mutex) != EDEADLK)
    report("relock of an errorcheck mutex", 0);
}

void run(int self, unsigned seed) {
  unsigned random = seed + static_cast<unsigned>(self) * 104729u;
  const long long end = now_ms() + duration_ms;
  while (now_ms() < end) {
    for (int i = 0; i < 50; ++i) {
      const unsigned choice = next_random(&random);
      // Most visits go to the first two cells, so that there is contention.
      const unsigned at = choice % 4 != 0 ? choice / 4 % 2 : choice / 4 % cells;
      Cell* cell = &all_cells[at];
      if (!take(cell, choice / 64)) continue;
      inside(cell, self);
      const unsigned then = choice / 4096;
      if (then % 64 == 0) wait_a_moment(cell, self, choice);
      if (then % 8 == 1) again_by_the_owner(cell);
      if (then % 16 == 2) expect_zero("broadcast", pthread_cond_broadcast(&cell->cond));
      if (then % 128 == 3) sched_yield();
      if (then % 8 == 4) {
        // A second mutex, in order of address, so that no circle can close.
        Cell* second = &all_cells[at + then / 8 % (cells - at)];
        if (second != cell && take(second, choice / 128)) {
          inside(second, self);
          expect_zero("unlock of the second", pthread_mutex_unlock(&second->mutex));
        }
      }
      expect_zero("unlock", pthread_mutex_unlock(&cell->mutex));
      if (then % 16 == 5) expect_zero("signal", pthread_cond_signal(&cell->cond));
    }
  }
}

}  // namespace

int main() {
  check_begin();
  const unsigned seed = check_seed();
  for (int i = 0; i < cells; ++i) {
    const MutexKind& kind = mutex_kinds[i % 4];
    all_cells[i].type = kind.type;
    make_mutex(&all_cells[i].mutex, kind, makings[i / 4 % 2]);
  }
  run_threads(threads, [=](int self) { run(self, seed); });
  CHECK_EQ(violations, 0);
  long total = 0;
  for (Cell& cell : all_cells) {
    CHECK_EQ(cell.counter, cell.expected);
    total += cell.counter;
    CHECK_OK(pthread_cond_destroy(&cell.cond));
    CHECK_OK(pthread_mutex_destroy(&cell.mutex));
  }
  CHECK(total > 0);
  return check_end();
}
