// Dense thread numbers: distinct among living threads, the lowest free one first, given back.
#include <gtest/gtest.h>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <thread>
#include <vector>

#include <syncopate/machine.h>

namespace {

using syncopate::machine::thread_index;

unsigned index_of_new_thread() {
  unsigned index = ~0u;
  std::thread([&] { index = thread_index(); }).join();
  return index;
}

TEST(ThreadIndex, StaysTheSameInAThread) {
  const unsigned first = thread_index();
  EXPECT_EQ(thread_index(), first);
}

TEST(ThreadIndex, IsDistinctAndDenseAmongLivingThreads) {
  constexpr int threads = 100;  // more than one 64-bit word of the bitmap
  static_cast<void>(thread_index());
  std::vector<unsigned> indices(threads);
  std::barrier all_have_one(threads);
  std::vector<std::jthread> running;
  for (int i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      indices[static_cast<std::size_t>(i)] = thread_index();
      all_have_one.arrive_and_wait();
    });
  }
  running.clear();
  indices.push_back(thread_index());
  std::ranges::sort(indices);
  for (unsigned i = 0; i < indices.size(); ++i) EXPECT_EQ(indices[i], i);
}

TEST(ThreadIndex, IsReusedByLaterThreads) {
  const unsigned first = index_of_new_thread();
  for (int i = 0; i < 300; ++i) ASSERT_EQ(index_of_new_thread(), first);
}

thread_local struct asks_when_destroyed {
  unsigned* answer = nullptr;
  ~asks_when_destroyed() {
    if (answer != nullptr) *answer = thread_index();
  }
} at_end;

TEST(ThreadIndex, IsKeptThroughDestructorsOfThreadLocals) {
  unsigned alive = 0, dying = ~0u;
  std::thread([&] {
    at_end.answer = &dying;
    alive = thread_index();
  }).join();
  EXPECT_EQ(dying, alive);
}

// A thread whose first question comes from a destructor must not keep a number for ever.
TEST(ThreadIndex, AskedFirstWhileTheThreadEndsIsGivenBack) {
  const unsigned before = index_of_new_thread();
  for (int i = 0; i < 10; ++i) {
    unsigned dying = ~0u;
    std::thread([&] { at_end.answer = &dying; }).join();
    EXPECT_EQ(dying, before);
  }
  EXPECT_EQ(index_of_new_thread(), before);
}

TEST(ThreadIndex, IsKeptThroughThreadSpecificDataDestructors) {
  static unsigned dying;
  dying = ~0u;
  pthread_key_t key;
  ASSERT_EQ(pthread_key_create(&key, [](void*) { dying = thread_index(); }), 0);
  unsigned alive = 0;
  std::thread([&] {
    alive = thread_index();
    pthread_setspecific(key, &alive);
  }).join();
  EXPECT_EQ(dying, alive);
  pthread_key_delete(key);
}

TEST(ThreadIndex, OfVanishedThreadsIsFreeInTheChildOfAFork) {
  const unsigned own = thread_index();
  std::barrier step(2);
  std::jthread other([&] {
    static_cast<void>(thread_index());
    step.arrive_and_wait();
    step.arrive_and_wait();
  });
  step.arrive_and_wait();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const unsigned lowest = own == 0 ? 1 : 0;
    _exit(thread_index() == own && index_of_new_thread() == lowest ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  step.arrive_and_wait();
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
