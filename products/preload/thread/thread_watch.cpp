// thread_watch.cpp -- the list behind thread_watch.h.

#include "preload/thread/thread_watch.h"

#include <new>

#include "preload/thread/thread_end.h"
#include "record/system.h"

namespace syncopate::shim {
namespace {

constinit std::atomic<thread_watch*> all{nullptr};
thread_local constinit thread_watch* mine [[gnu::tls_model("initial-exec")]] = nullptr;

thread_watch* take_idle(int id) noexcept {
  for (thread_watch* w = all.load(std::memory_order_acquire); w != nullptr; w = w->next) {  // [P]
    int nobody = 0;
    if (w->id.load(std::memory_order_relaxed) == 0 &&                         // [X]
        w->id.compare_exchange_strong(nobody, id, std::memory_order_acquire,  // [P]
                                      std::memory_order_relaxed))             // [X]
      return w;
  }
  return nullptr;
}

thread_watch* make(int id) noexcept {
  void* const room = record::sys::pages(sizeof(thread_watch));
  if (room == nullptr) return nullptr;
  auto* const fresh = new (room) thread_watch{};
  fresh->id.store(id, std::memory_order_relaxed);                                   // [X]
  fresh->next = all.load(std::memory_order_relaxed);                                // [X]
  while (!all.compare_exchange_weak(fresh->next, fresh, std::memory_order_release,  // [P]
                                    std::memory_order_relaxed)) {                   // [X]
  }
  return fresh;
}

}  // namespace

thread_watch* this_thread_watch() noexcept {
  const int id = machine::self();
  if (mine != nullptr) {
    // In the child of a fork the thread has another id.
    if (mine->id.load(std::memory_order_relaxed) != id)  // [X]
      mine->id.store(id, std::memory_order_relaxed);     // [X]
    return mine;
  }
  mine = take_idle(id);
  if (mine == nullptr) mine = make(id);
  if (mine != nullptr) watch_for_thread_end();
  return mine;
}

thread_watch* watch_of(int id) noexcept {
  for (thread_watch* w = all.load(std::memory_order_acquire); w != nullptr; w = w->next)  // [P]
    if (w->id.load(std::memory_order_relaxed) == id) return w;                            // [X]
  return nullptr;
}

void end_thread_watch() noexcept {
  if (mine == nullptr) return;
  mine->held_count = 0;
  mine->id.store(0, std::memory_order_release);  // [P]
  mine = nullptr;
}

}  // namespace syncopate::shim
