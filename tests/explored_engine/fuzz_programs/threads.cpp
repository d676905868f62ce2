// Threads that threads begin, what runs at their ends, and requests to stop.
#include <pthread.h>
#include <semaphore.h>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include "objects.h"

namespace {

sem_t detached_done;
pthread_key_t key;
std::optional<std::stop_source> source;

// At the thread's end it adds to a variable, if a step has asked for that.
struct at_end {
  int variable = 0;
  std::memory_order order = std::memory_order_relaxed;
  bool asked = false;

  ~at_end() {
    if (asked) variables[variable].fetch_add(100, order);
  }
};

thread_local at_end at_this_end;

void add_at_end(void* thousands) {
  variables[0].fetch_add(1000 * int(reinterpret_cast<long>(thousands)), std::memory_order_relaxed);
}

void run_child(const step& s) { tell_child_result(s, run(*s.child)); }

}  // namespace

namespace operations {

int spawn_in_section(const step& s) {
  std::unique_lock held(outer);
  std::thread child([&s] { run_child(s); });
  cells[s.variable] = s.value;
  held.unlock();
  child.join();
  return 0;
}

// The semaphore tells that it is done, but not that it has ended.
int spawn_detached(const step& s) {
  std::thread([&s] {
    run_child(s);
    sem_post(&detached_done);
  }).detach();
  const int found = load(s);
  while (sem_wait(&detached_done) != 0) {
  }
  return found;
}

int spawn_and_join(const step& s) {
  const std::jthread child([&s] { run_child(s); });
  return load(s);
}

int thread_local_end(const step& s) {
  at_this_end.variable = s.variable;
  at_this_end.order = change_orders[s.order];
  at_this_end.asked = true;
  return 0;
}

int thread_keys(const step& s) {
  return pthread_setspecific(key, reinterpret_cast<void*>(long(3 + s.choice)));
}

int stop_request(const step&) { return source->request_stop(); }

int stop_requested(const step&) { return source->stop_requested(); }

int stop_waiting_thread(const step& s) {
  std::jthread child([&s](const std::stop_token& token) {
    while (!token.stop_requested()) std::this_thread::yield();
    run_child(s);
  });
  const int found = load(s);
  child.request_stop();
  return found;
}

int stop_callback(const step& s) {
  int found;
  {
    const std::stop_callback told(source->get_token(), [&s] {
      variables[s.variable].fetch_add(10, std::memory_order_relaxed);
    });
    found = run(*s.child);
  }
  return found * 100 + load_relaxed(s);
}

}  // namespace operations

void start_threads() {
  sem_init(&detached_done, 0, 0);
  pthread_key_create(&key, add_at_end);
  source.emplace();
}
