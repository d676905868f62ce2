/* Sections that touch bit-fields: themselves, by a macro, and in what they call; and some that touch
   only the whole structure, or names that are bit-fields elsewhere. */
#include "threads.h"

struct flags {
  unsigned low : 3, high : 13;
  unsigned : 4;
  struct {
    int inner : 5;
  } more;
  long whole;
};
struct plain {
  long low;
};

static pthread_mutex_t direct = PTHREAD_MUTEX_INITIALIZER, by_macro = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t by_call = PTHREAD_MUTEX_INITIALIZER, copied = PTHREAD_MUTEX_INITIALIZER;
static struct flags one, two, three, four, five;
static struct plain other;

#define RAISE(FLAGS) ((FLAGS)->more.inner = 1 - (FLAGS)->more.inner)

static void count_in(struct flags* f) { f->high++; }
static void count_deeply(struct flags* f) {
  f->whole++;
  count_in(f);
}

static void* work(void* unused) {
  for (int i = 0; i < 1000; ++i) {
    pthread_mutex_lock(&direct);
    one.low++;
    one.high += 2;
    pthread_mutex_unlock(&direct);
    pthread_mutex_lock(&by_macro);
    RAISE(&two);
    two.whole++;
    pthread_mutex_unlock(&by_macro);
    pthread_mutex_lock(&by_call);
    count_deeply(&three);
    pthread_mutex_unlock(&by_call);
    pthread_mutex_lock(&copied);
    four = five;
    four.whole++;
    five = four;
    other.low += i == 0 ? 1 : 2;
    pthread_mutex_unlock(&copied);
  }
  return unused;
}

int main(void) {
  five.low = 5, five.high = 4321;
  run_threads(work);
  printf("%u %u %d %ld %u %ld\n", one.low, one.high, two.more.inner, two.whole, three.high, three.whole);
  printf("%u %u %ld %ld\n", five.low, five.high, five.whole, other.low);
  return 0;
}
