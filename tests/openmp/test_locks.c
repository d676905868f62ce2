// Critical sections, atomic operations without an instruction, locks and nest locks: exclusion, and
// what goes beyond the standard: locks of zeroed memory (with libomp only with us, or after another
// lock was made), released by another thread.
#include "check.h"

enum { rounds = 2000 };

static void critical(void) {
  long a = 0, b = 0, c = 0;
  int n = 0;
#pragma omp parallel
  {
#pragma omp atomic
    ++n;
    for (int r = 0; r < rounds; ++r) {
#pragma omp critical
      ++a;
#pragma omp critical(first)
      ++b;
#pragma omp critical(second)
      {
#pragma omp critical(third)
        ++c;
      }
    }
  }
  CHECK(a == (long)n * rounds && b == a && c == a);
}

static void hinted(void) {
  long a = 0;
  int n = 0;
#pragma omp parallel
  {
#pragma omp atomic
    ++n;
    for (int r = 0; r < rounds; ++r) {
#pragma omp critical(with_hint) hint(omp_sync_hint_contended)
      ++a;
    }
  }
  CHECK(a == (long)n * rounds);
}

static void atomic_without_instruction(void) {
  long double sum = 0;
  _Complex double turns = 0;
  int n = 0;
#pragma omp parallel
  {
#pragma omp atomic
    ++n;
    for (int r = 0; r < rounds; ++r) {
#pragma omp atomic
      sum += 1;
#pragma omp critical(turn)
      turns += 1;
    }
  }
  CHECK(sum == (long double)n * rounds && __real__ turns == (double)n * rounds);
}

static void reductions(void) {
  for (int r = 0; r < 100; ++r) {
    long sum = 0, product = 1;
    double most = 0;
    int all = 1;
#pragma omp parallel for reduction(+ : sum) reduction(max : most) reduction(&& : all)
    for (int i = 1; i <= 64; ++i) {
      sum += i;
      if (i > most) most = i;
      all = all && i > 0;
    }
#pragma omp parallel reduction(* : product)
    product *= 1;
    CHECK(sum == 2080 && most == 64 && all && product == 1);
  }
}

static omp_lock_t zeroed;

static void plain_locks(void) {
  enum { count = 300 };
  static omp_lock_t many[count];
  long total = 0;
  int n = 0;
  for (int i = 0; i < count; ++i) omp_init_lock(&many[i]);
#pragma omp parallel
  {
#pragma omp atomic
    ++n;
    for (int r = 0; r < rounds; ++r) {
      omp_set_lock(&many[0]);
      ++total;
      omp_unset_lock(&many[0]);
    }
  }
  CHECK(total == (long)n * rounds);
  // All held at once, and released in another order.
  for (int i = 0; i < count; ++i) CHECK(omp_test_lock(&many[i]));
  for (int i = 0; i < count; ++i) CHECK(!omp_test_lock(&many[i]));
  for (int i = 0; i < count; ++i) omp_unset_lock(&many[(i * 7) % count]);
  for (int i = 0; i < count; ++i) omp_destroy_lock(&many[i]);
}

static void zeroed_locks(void) {
  long total = 0;
  int n = 0;
#pragma omp parallel
  {
#pragma omp atomic
    ++n;
    for (int r = 0; r < rounds; ++r) {
      while (!omp_test_lock(&zeroed)) {
        omp_set_lock(&zeroed);
        break;
      }
      ++total;
      omp_unset_lock(&zeroed);
    }
  }
  CHECK(total == (long)n * rounds);
}

static void released_by_another(void) {
  omp_lock_t turn;
  omp_init_lock(&turn);
  for (int r = 0; r < 20; ++r) {
    omp_set_lock(&turn);
    int shared = 0;
#pragma omp parallel num_threads(2)
    {
      if (omp_get_thread_num() == 1) {
        shared = 1;
        omp_unset_lock(&turn);
      } else {
        omp_set_lock(&turn);
        CHECK(shared == 1);
        omp_unset_lock(&turn);
      }
    }
  }
  omp_destroy_lock(&turn);
}

static void nest_locks(void) {
  omp_nest_lock_t lock;
  omp_init_nest_lock(&lock);
  long total = 0;
  int n = 0;
#pragma omp parallel
  {
#pragma omp atomic
    ++n;
    for (int r = 0; r < rounds; ++r) {
      omp_set_nest_lock(&lock);
      CHECK(omp_test_nest_lock(&lock) == 2);
      omp_set_nest_lock(&lock);
      ++total;
      omp_unset_nest_lock(&lock);
      omp_unset_nest_lock(&lock);
      omp_unset_nest_lock(&lock);
    }
  }
  CHECK(total == (long)n * rounds);
  CHECK(omp_test_nest_lock(&lock) == 1);
  int refused = 0;
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 1) refused = omp_test_nest_lock(&lock) == 0;
  }
  CHECK(refused);
  omp_unset_nest_lock(&lock);
  omp_destroy_nest_lock(&lock);
}

static void locks_made_again(void) {
  for (int r = 0; r < 1000; ++r) {
    omp_lock_t lock;
    omp_nest_lock_t nest;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
    omp_set_lock(&lock);
    omp_set_nest_lock(&nest);
    omp_unset_nest_lock(&nest);
    omp_unset_lock(&lock);
    omp_destroy_nest_lock(&nest);
    omp_destroy_lock(&lock);
  }
}

// A copy of a lock that has been used is another lock, also when the first one is gone; a lock that
// is moved while it is held is released where it is now. (libomp's words are numbers: copies share.)
static void copied_locks(void) {
#ifndef __clang__
  enum { count = 3 };
  omp_lock_t first, copies[count], later;
  omp_nest_lock_t nest, nests[count], later_nest;
  omp_init_lock(&first);
  omp_init_nest_lock(&nest);
  for (int r = 0; r < 2; ++r) {
    omp_set_lock(&first);
    omp_set_nest_lock(&nest);
    omp_unset_lock(&first);
    omp_unset_nest_lock(&nest);
  }
  for (int i = 0; i < count; ++i) copies[i] = first, nests[i] = nest;
  omp_destroy_lock(&first);
  omp_destroy_nest_lock(&nest);
  omp_init_lock(&later);
  omp_init_nest_lock(&later_nest);
  CHECK(omp_test_lock(&later) && omp_test_nest_lock(&later_nest) == 1);
#pragma omp parallel num_threads(count)
  {
    const int me = omp_get_thread_num();
    CHECK(omp_test_lock(&copies[me]) && omp_test_nest_lock(&nests[me]) == 1);
#pragma omp barrier
    CHECK(!omp_test_lock(&copies[(me + 1) % count]));
    CHECK(omp_test_nest_lock(&nests[(me + 1) % count]) == 0);
#pragma omp barrier
    omp_lock_t moved = copies[me];
    omp_nest_lock_t moved_nest = nests[me];
    omp_unset_lock(&moved);
    omp_unset_nest_lock(&moved_nest);
  }
  omp_unset_lock(&later);
  omp_unset_nest_lock(&later_nest);
  for (int i = 0; i < count; ++i) omp_destroy_lock(&copies[i]), omp_destroy_nest_lock(&nests[i]);
  omp_destroy_lock(&later);
  omp_destroy_nest_lock(&later_nest);
#endif
}

int main(void) {
  critical();
  hinted();
  atomic_without_instruction();
  reductions();
  plain_locks();
  zeroed_locks();
  released_by_another();
  nest_locks();
  locks_made_again();
  copied_locks();
  puts("locks: all hold");
  return 0;
}
