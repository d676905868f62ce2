// thread_exit.h -- what a thread of the program does when it ends, on its own fiber.
#pragma once

namespace syncopate::instrument {

// Runs the destructors of the calling thread's thread_local objects, the latest first, then those
// of its pthread keys (up to PTHREAD_DESTRUCTOR_ITERATIONS rounds). Call as the program: the
// destructors are its code. Must not be called on a thread that leaves by exit(): see
// run_local_destructors.
void run_thread_exit_duties();

// The thread_local objects' part alone, and what is to follow it: what exit() does for the thread
// that calls it.
void run_local_destructors();

// Calls function(object) on the calling thread when its thread_local objects are gone.
void at_thread_exit(void (*function)(void*), void* object);

// Empties the pthread keys of the running fiber: its thread-control block served another thread.
void forget_thread_keys();

// Which pthread keys there are: keep() notes them, restore() deletes those that were made since.
void keep_thread_keys();
void restore_thread_keys();

}  // namespace syncopate::instrument
