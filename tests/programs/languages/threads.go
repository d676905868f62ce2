// Go with cgo: goroutines enter C, where a pthread mutex and condition variable guard the data.
package main

/*
#cgo LDFLAGS: -pthread
#include <errno.h>
#include <pthread.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static long counter, sum, ready;

static void count(long steps) {
  for (long i = 0; i < steps; ++i) {
    pthread_mutex_lock(&lock);
    ++counter;
    pthread_mutex_unlock(&lock);
  }
}
static void add(long item) {
  pthread_mutex_lock(&lock);
  sum += item;
  pthread_mutex_unlock(&lock);
}
static void announce(void) {
  pthread_mutex_lock(&lock);
  ++ready;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}
static void await(long threads) {
  pthread_mutex_lock(&lock);
  while (ready < threads) pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
}
static int timed_out(void) {
  struct timespec end;
  pthread_mutex_lock(&lock);
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_nsec += 50000000;
  if (end.tv_nsec >= 1000000000) { end.tv_nsec -= 1000000000; ++end.tv_sec; }
  int result;
  while ((result = pthread_cond_timedwait(&changed, &lock, &end)) == 0) {}
  pthread_mutex_unlock(&lock);
  return result == ETIMEDOUT;
}
static long get_counter(void) { return counter; }
static long get_sum(void) { return sum; }
*/
import "C"

import (
	"fmt"
	"sync"
)

const threads, steps = 4, 5000

func main() {
	var group sync.WaitGroup
	for i := 0; i < threads; i++ {
		group.Add(1)
		go func(first int) {
			defer group.Done()
			C.count(steps)
			for item := first; item < 1000; item += threads {
				C.add(C.long(item))
			}
			C.announce()
		}(i)
	}
	C.await(threads)
	group.Wait()
	waits := "wrong"
	if C.timed_out() != 0 {
		waits = "right"
	}
	fmt.Printf("counter=%d sum=%d waits=%s\n", C.get_counter(), C.get_sum(), waits)
}
