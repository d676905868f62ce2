#include "openmp/recorded_end.h"

#include <pthread.h>

#include "record/recorder.h"

namespace syncopate::openmp {
namespace {

constinit pthread_key_t of_recorded = 0;

void watch() noexcept { ::pthread_setspecific(of_recorded, ""); }

}  // namespace

void tell_recorder_of_ends() noexcept {
  // Of more keys the C library allocates memory, and who allocates may be the thread's first event.
  constexpr pthread_key_t without_memory = 32;
  if (::pthread_key_create(&of_recorded, [](void*) { record::thread_end(); }) != 0) return;
  if (of_recorded >= without_memory) return;
  record::thread_is_new = watch;
  watch();  // this one is known since the beginning
}

}  // namespace syncopate::openmp
