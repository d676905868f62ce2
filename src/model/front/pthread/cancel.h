// cancel.h -- deferred cancellation, as the waiting functions of this folder see it.
//
// A thread that was canceled leaves at its next cancellation point by unwinding its stack: handlers
// of pthread_cleanup_push and destructors run, as with the C library. Cancellation points are
// pthread_testcancel, pthread_join and its relatives, pthread_cond_wait and its relatives, sem_wait
// and its relatives, sleeping, waiting for files and signals, and the system calls of input and
// output (before: libc_output.cpp). Asynchronous cancellation is acted on there, too, and when it
// is switched on.
//
// A request is no event of the machine: an exploration does not try every moment for it. On the
// explored machine it wakes threads in pthread_cond_wait; a thread that already waits in sem_wait
// or pthread_join, or sleeps, acts on it when that wait is over.
#pragma once

namespace syncopate::instrument {

// Whether the thread was canceled and has not disabled that.
bool is_canceled();
// Leaves it then.
void test_cancel();

// Around one sleep (machine::park) on `address`. begin and end are cancellation points; between
// them pthread_cancel wakes the address, so that the sleeper comes to end.
void cancelable_sleep_begin(const void* address);
void cancelable_sleep_end();

// body(); left() as well if a cancellation leaves it.
template <class Body, class Left>
void cancelable(const Body& body, const Left& left) {
  struct guard {
    const Left& left;
    bool over = false;
    ~guard() {
      if (!over) left();
    }
  } leaving{left};
  body();
  leaving.over = true;
}

}  // namespace syncopate::instrument
