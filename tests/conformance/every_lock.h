// every_lock.h -- registers a test for every lock of locks/all.h with every waiting strategy.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

template <class Lock>
std::string suite_of(const syncopate::lock_entry<Lock>& entry) {
  std::string suite(entry.name);
  if (!entry.wait.empty()) suite += '_' + std::string(entry.wait);
  return suite;
}

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
      ::testing::RegisterTest(suite_of(entry).c_str(), name, nullptr, nullptr, __FILE__, __LINE__,
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

template <class Lock>
class lockable_as final : public lockable {
 public:
  explicit lockable_as(std::shared_ptr<Lock> held) : held_(std::move(held)) {}
  void lock() override { held_->lock(); }
  bool try_lock() override { return held_->try_lock(); }
  void unlock() override { held_->unlock(); }
  [[nodiscard]] bool contended() const override { return held_->contended(); }

 private:
  std::shared_ptr<Lock> held_;
};

// What such a test is given of a lock's type.
struct lock_kind {
  std::string suite;  // as for_every_lock() names it
  bool excludes = false, sleeps = false;
  std::unique_ptr<lockable> (*make)() = nullptr;
  std::unique_ptr<lockable> (*make_of_zeros)() = nullptr;                // zeroed<Lock>
  std::vector<std::unique_ptr<lockable>> (*make_neighbors)() = nullptr;  // an array of three
  bool (*starts_as_zeros)() = nullptr;                                   // in each byte
  int (*operations)(int threads) = nullptr;                              // operations_for()
};

// One for each lock of locks/all.h with each waiting strategy.
const std::vector<lock_kind>& every_kind();

inline bool excludes(const lock_kind& kind) { return kind.excludes; }
inline bool excludes_asleep(const lock_kind& kind) { return kind.excludes && kind.sleeps; }

// The same as for_every_lock() for a body that is called as body(kind).
inline int for_every_kind(const char* name, bool (*which)(const lock_kind&),
                          void (*body)(const lock_kind&)) {
  struct test : ::testing::Test {
    test(void (*b)(const lock_kind&), const lock_kind& k) : body_(b), kind_(k) {}
    void TestBody() override { body_(kind_); }
    void (*body_)(const lock_kind&);
    const lock_kind& kind_;
  };
  int registered = 0;
  for (const lock_kind& kind : every_kind()) {
    if (!which(kind)) continue;
    ::testing::RegisterTest(kind.suite.c_str(), name, nullptr, nullptr, __FILE__, __LINE__,
                            [body, &kind]() -> ::testing::Test* { return new test(body, kind); });
    ++registered;
  }
  return registered;
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
