// one_spinner_lock: threads give their numbers back, whenever they lock.
#include <mutex>
#include <thread>

#include <syncopate/locks/one_spinner_lock.h>

#include <gtest/gtest.h>

namespace {

syncopate::one_spinner_lock<syncopate::waits::park> lock;
int ended = 0;

struct locks_at_its_end {
  ~locks_at_its_end() {
    const std::scoped_lock hold(lock);
    ++ended;
  }
};

// More threads than there are numbers, one after the other. The object is made before the thread's
// first lock, and so ends after the thread has given its number back.
TEST(OneSpinner, ThreadsThatLockAtTheirVeryEndUseNoNumberUp) {
  constexpr int threads = 4200;
  for (int i = 0; i < threads; ++i)
    std::thread([] {
      static thread_local locks_at_its_end object;
      (void)&object;
      const std::scoped_lock hold(lock);
    }).join();
  EXPECT_EQ(ended, threads);
}

}  // namespace
