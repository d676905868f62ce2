// early_threads.h -- threads that static constructors make. They run natively, beside the machine:
// what they share with the program is not seen, and who waits for the other waits for ever. So they
// have to be over when main begins, joined or detached.
//
// Memory order (each tag stands at its site in early_threads.cpp)
//   [N]  relaxed: counted by who makes, ends and joins them; a join has put those in order.
#pragma once

#include <pthread.h>

namespace syncopate::instrument {

// pthread_create() of a constructor, or of such a thread.
int create_early(pthread_t*, const pthread_attr_t*, void* (*routine)(void*), void* argument);
// One that can be joined was made otherwise.
void note_early();
// One was joined or detached.
void forget_early();

// Ends the process with a line where there still are some.
void refuse_early_threads();

}  // namespace syncopate::instrument
