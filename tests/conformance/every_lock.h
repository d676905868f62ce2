// every_lock.h -- registers a test for every lock of locks/all.h with every waiting strategy.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include <syncopate/locks/all.h>

#include "checks.h"
#include "support.h"

namespace conformance {

template <class Lock>
inline constexpr bool sleeps = !syncopate::never_sleeps<Lock>;

// Whether threads in numbers above the processors' bring the lock almost to a standstill.
template <class Lock>
inline constexpr bool collapses = Lock::traits.collapses && !sleeps<Lock>;

// Operations of each thread for a load of that many threads: few where each hand-over may take as
// long as the scheduler lets others run.
template <class Lock>
constexpr int operations_for(int threads) {
  if (collapses<Lock>) return (threads > 2 ? 100 : 800) / threads;
  if (!sleeps<Lock>) return (threads > 2 ? 2000 : 10'000) / threads;
  return 40'000 / threads / sanitizer_divisor;
}

// Filters for for_every_lock(): which locks a test is about.
inline constexpr auto excluding = []<class Lock>(const syncopate::lock_entry<Lock>&) {
  return Lock::traits.excludes;
};
inline constexpr auto fifo = []<class Lock>(const syncopate::lock_entry<Lock>&) {
  return Lock::traits.fair == syncopate::fairness::fifo;
};
inline constexpr auto timed = []<class Lock>(const syncopate::lock_entry<Lock>&) {
  return Lock::traits.timed;
};
inline constexpr auto sleeping = []<class Lock>(const syncopate::lock_entry<Lock>&) {
  return Lock::traits.excludes && sleeps<Lock>;
};

// Registers the test `name` for every lock for which which(entry) is true, in a suite of the lock's
// own (`ticket_spin.name`). body is called as body.template operator()<Lock>(). For initializers.
template <class Which, class Body>
int for_every_lock(const char* name, Which, Body body) {
  struct test : ::testing::Test {
    explicit test(Body b) : body_(std::move(b)) {}
    Body body_;
  };
  int registered = 0;
  syncopate::for_each_lock([&]<class Lock>(const syncopate::lock_entry<Lock>& entry) {
    if constexpr (Which{}(syncopate::lock_entry<Lock>{})) {
      struct typed : test {
        using test::test;
        void TestBody() override { this->body_.template operator()<Lock>(); }
      };
      std::string suite(entry.name);
      if (!entry.wait.empty()) suite += '_' + std::string(entry.wait);
      ::testing::RegisterTest(suite.c_str(), name, nullptr, nullptr, __FILE__, __LINE__,
                              [body]() -> ::testing::Test* { return new typed(body); });
      ++registered;
    }
  });
  return registered;
}

// A lock of any type, for tests that need no more of it than its operations: compiled once for all.
class lockable {
 public:
  lockable() = default;
  lockable(const lockable&) = delete;
  lockable& operator=(const lockable&) = delete;
  virtual ~lockable() = default;
  virtual void lock() = 0;
  virtual bool try_lock() = 0;
  virtual void unlock() = 0;
  [[nodiscard]] virtual bool contended() const = 0;
};

// `Held` is the lock or a reference to it.
template <class Held>
class lockable_as final : public lockable {
 public:
  lockable_as() = default;
  explicit lockable_as(Held held) : held_(held) {}
  void lock() override { held_.lock(); }
  bool try_lock() override { return held_.try_lock(); }
  void unlock() override { held_.unlock(); }
  [[nodiscard]] bool contended() const override { return held_.contended(); }

 private:
  Held held_;
};

// What such a test is given of a lock's type.
struct lock_kind {
  std::unique_ptr<lockable> (*make)();
  int (*operations)(int threads);  // operations_for()
};

// The same as for_every_lock() for a body that is called as body(kind).
template <class Which>
int for_every_kind(const char* name, Which which, void (*body)(const lock_kind&)) {
  return for_every_lock(name, which, [body]<class Lock>() {
    body({[]() -> std::unique_ptr<lockable> { return std::make_unique<lockable_as<Lock>>(); },
          &operations_for<Lock>});
  });
}

// Memory of zeros that is used as a lock without a constructor, as programs do that call memset().
template <class Lock>
class zeroed {
 public:
  Lock& operator*() { return *std::launder(reinterpret_cast<Lock*>(bytes_)); }
  Lock* operator->() { return &**this; }

 private:
  alignas(Lock) std::byte bytes_[sizeof(Lock)]{};
};

}  // namespace conformance
