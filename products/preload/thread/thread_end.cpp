// thread_end.cpp -- the key behind thread_end.h.

#include "preload/thread/thread_end.h"

#include <atomic>

#include <limits.h>
#include <pthread.h>

#include "preload/thread/thread_watch.h"
#include "record/recorder.h"

namespace syncopate::shim {
namespace {

constinit std::atomic<int> end_key{-1};

// Rounds of destructors that have begun in this thread.
thread_local constinit int rounds [[gnu::tls_model("initial-exec")]] = 0;

// The program's destructors lock, too, and this key is older than theirs: so it asks for another
// round. The last one is left to what watches this library's own accesses, as the emulated machine.
constexpr int rounds_kept = PTHREAD_DESTRUCTOR_ITERATIONS - 1;

void thread_ends(void*) {
  if (++rounds < rounds_kept) return watch_for_thread_end();
  record::thread_end();
  end_thread_watch();
}

}  // namespace

void prepare_thread_end() noexcept {
  pthread_key_t key = PTHREAD_KEYS_MAX;
  if (pthread_key_create(&key, thread_ends) == 0)
    end_key.store(static_cast<int>(key), std::memory_order_release);  // [K]
  // Of more keys the C library allocates memory, and who allocates may be the thread's first event.
  constexpr pthread_key_t without_memory = 32;
  if (key < without_memory) record::thread_is_new = watch_for_thread_end;
}

// A key's destructor runs however the thread ends.
void watch_for_thread_end() noexcept {
  const int key = end_key.load(std::memory_order_acquire);  // [K]
  if (key >= 0) pthread_setspecific(static_cast<pthread_key_t>(key), "");
}

}  // namespace syncopate::shim
