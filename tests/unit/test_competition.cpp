// Who else wants the processors: counted, and acted upon once a wait has been long.
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <ctime>
#include <thread>
#include <vector>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <syncopate/machine.h>
#include <syncopate/machine/runnable.h>
#include <syncopate/wait/competition.h>

namespace {

namespace machine = syncopate::machine;

// Processes that compute for as long as this lives.
class busy_processes {
 public:
  explicit busy_processes(unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      const pid_t child = ::fork();
      if (child == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (std::atomic<unsigned> n{0};;) n.fetch_add(1, std::memory_order_relaxed);
      }
      children_.push_back(child);
    }
  }
  ~busy_processes() {
    for (const pid_t child : children_) ::kill(child, SIGKILL);
    for (const pid_t child : children_) ::waitpid(child, nullptr, 0);
  }
  busy_processes(const busy_processes&) = delete;
  busy_processes& operator=(const busy_processes&) = delete;

 private:
  std::vector<pid_t> children_;
};

// Whether it holds within seconds: a child takes its time to start.
template <class Predicate>
bool soon(Predicate holds) {
  for (int i = 0; i < 1000; ++i) {
    if (holds()) return true;
    const timespec moment{0, 10'000'000};
    ::nanosleep(&moment, nullptr);
  }
  return false;
}

TEST(Runnable, CountsThreadsOfOthers) {
  const busy_processes busy(3);
  EXPECT_TRUE(soon([] { return machine::foreign_runnable() >= 3; }));
}

TEST(Runnable, TellsOwnThreadsFromOthers) {
  EXPECT_GE(machine::detail::own_runnable(), 1u);  // the caller
  std::atomic<bool> stop{false};
  std::vector<std::thread> mine;
  for (int i = 0; i < 3; ++i)
    mine.emplace_back([&stop] {
      while (!stop.load(std::memory_order_relaxed)) machine::relax();
    });
  EXPECT_TRUE(soon([] { return machine::detail::own_runnable() == 4; }));
  stop = true;
  for (std::thread& t : mine) t.join();
  EXPECT_TRUE(soon([] { return machine::detail::own_runnable() == 1; }));
}

TEST(Competition, IsNoticedAfterALongWaitAlone) {
  const unsigned many = machine::processors();
  const busy_processes busy(many);
  ASSERT_TRUE(soon([many] { return machine::foreign_runnable() >= many; }));
  syncopate::waits::competition others;
  others.took(1);  // a short wait is no reason to look
  EXPECT_FALSE(others.is_there());
  EXPECT_TRUE(soon([&others] {
    others.took(1000 * machine::wake_latency());
    return others.is_there();
  }));
}

}  // namespace
