// thread.h -- starting and joining threads with lambdas, through pthread_create alone.
#ifndef SYNCOPATE_TESTS_POSIX_THREAD_H
#define SYNCOPATE_TESTS_POSIX_THREAD_H

#include <deque>
#include <functional>
#include <utility>

#include "check.h"

// One thread running a callable; joined when it goes out of scope. The callable's object outlives
// it.
class Thread {
 public:
  explicit Thread(std::function<void()> body) : body_(std::move(body)) {
    if (pthread_create(&thread_, nullptr, &Thread::run, this) != 0) abort();
  }
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;
  ~Thread() {
    if (!joined_) join();
  }
  // Returns: what the thread returned (nullptr, or PTHREAD_CANCELED).
  void* join() {
    void* result = nullptr;
    if (pthread_join(thread_, &result) != 0) abort();
    joined_ = true;
    return result;
  }
  [[nodiscard]] pthread_t handle() const { return thread_; }

 private:
  static void* run(void* self) {
    static_cast<Thread*>(self)->body_();
    return nullptr;
  }
  std::function<void()> body_;
  pthread_t thread_{};
  bool joined_ = false;
};

// Runs body(0) ... body(count - 1), each in a thread of its own, and joins them all.
inline void run_threads(int count, const std::function<void(int)>& body) {
  std::deque<Thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back([&body, i] { body(i); });
}

// For stress under locks that hand over in order and spin: with more threads than processors each
// hand-over may take a time slice. No such waiting is a lock's default: only where one is asked for
// by name (mcs:spin) does the time end. Everything else does all that is asked of it.
class Hourglass {
 public:
  explicit Hourglass(int seconds) : seconds_(seconds) {
    const char* const lock = getenv("SYNCOPATE_LOCK");
    runs_ = lock != nullptr && strchr(lock, ':') != nullptr;
    clock_gettime(CLOCK_MONOTONIC, &begun_);
  }
  [[nodiscard]] bool is_over() const {
    if (!runs_) return false;
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec - begun_.tv_sec >= seconds_;
  }

 private:
  int seconds_;
  bool runs_;
  timespec begun_;
};

// Runs body(part) once, and again until the parts add up to `total` or the time is over.
inline void in_parts(int part, int total, int seconds, const std::function<void(int)>& body) {
  const Hourglass time(seconds);
  int done = 0;
  do {
    body(part);
    done += part;
  } while (done < total && !time.is_over());
  if (done < total) printf("%d of %d rounds: the time was over\n", done, total);
}

// Runs body in another thread and waits for its end: "what would another thread see?".
inline int in_other_thread(const std::function<int()>& body) {
  int result = -1;
  Thread other([&] { result = body(); });
  other.join();
  return result;
}

#endif
