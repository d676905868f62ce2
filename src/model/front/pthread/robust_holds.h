// robust_holds.h -- which robust mutexes the threads of the program hold: a thread that ends leaves
// these behind. The machine does not see it; mutexes say the rest in their own words.
#pragma once

#include <pthread.h>

namespace syncopate::instrument {

void note_robust_hold(pthread_mutex_t&, unsigned thread);
void forget_robust_hold(pthread_mutex_t&);
// The one that the thread took last, which is forgotten; null: it holds none.
pthread_mutex_t* take_robust_hold(unsigned thread);
// The same, of any thread: the process ends.
pthread_mutex_t* take_robust_hold();
void forget_robust_holds();

}  // namespace syncopate::instrument
