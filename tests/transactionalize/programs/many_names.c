#include "many_names.h"
#include "threads.h"

static pthread_mutex_t spun = PTHREAD_MUTEX_INITIALIZER, asked = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t told = PTHREAD_MUTEX_INITIALIZER, tabled = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t polite = PTHREAD_MUTEX_INITIALIZER, stays = PTHREAD_MUTEX_INITIALIZER;
static struct account one = {PTHREAD_MUTEX_INITIALIZER, 0};
static const struct operations by_table = {.take = pthread_mutex_lock,
                                           .give = pthread_mutex_unlock};
static const struct operations in_order = {status_lock, pthread_mutex_unlock};
static const struct operations* const chosen = &in_order;
static long counts[7];
static struct box box = {.opened = PTHREAD_MUTEX_INITIALIZER,
                         .watched = PTHREAD_MUTEX_INITIALIZER,
                         .flat = PTHREAD_MUTEX_INITIALIZER};

/* As many as are filled are taken; what a wait stands in the middle of stays a lock. */
static void through_the_box(struct box* b) {
  own_mutex* const watched = &b->watched;
  OWN_LOCK_CHECKED(&b->opened);
  ++b->full;
  OWN_SIGNAL(&b->filled);
  own_unlock(&b->opened);
  OWN_LOCK_CHECKED(&b->opened);
  while (b->full == 0) {
    OWN_WAIT(&b->filled, &b->opened);
  }
  --b->full;
  own_unlock(&b->opened);
  OWN_LOCK_CHECKED(watched);
  ++b->taken;
  while (b->taken < 0) OWN_WAIT(&b->drained, watched);
  ++b->taken;
  own_unlock(watched);
  OWN_LOCK_CHECKED(&b->watched);
  ++b->taken;
  own_unlock(&b->watched);
  OWN_LOCK_CHECKED(&b->flat);
  ++counts[6];
  own_unlock(&b->flat);
}

static void* body(void* unused) {
  for (int i = 0; i < ROUNDS; ++i) {
    through_the_box(&box);
    spin_lock(&spun);
    ++counts[0];
    give_back(&spun);
    TAKE(&asked);
    ++counts[1];
    GIVE_BACK(&asked);
    checked_lock(&told);
    ++counts[2];
    pthread_mutex_unlock(&told);
    by_table.take(&tabled);
    ++counts[3];
    by_table.give(&tabled);
    chosen->take(&tabled);
    ++counts[3];
    chosen->give(&tabled);
    if (i % 64 == 0) { /* each time gives the processor away */
      polite_lock(&polite);
      ++counts[4];
      give_back(&polite);
    }
    member_lock(&one);
    ++one.value;
    member_unlock(&one);
    ENTER(&one);
    ++one.value;
    LEAVE(&one);
    if (spin_lock(&stays) == 0) {
      ++counts[5];
      GIVE_BACK(&stays);
    }
  }
  return unused;
}

int main(void) {
  run_threads(body);
  printf("%ld %ld %ld %ld %ld %ld %ld\n", counts[0], counts[1], counts[2], counts[3], counts[4],
         counts[5], one.value);
  printf("%ld %ld %ld\n", counts[6], box.full, box.taken);
  return 0;
}
