// The two-level barrier on machines of several memory nodes, described to hwloc: HWLOC_SYNTHETIC,
// and HWLOC_THISSYSTEM so that hwloc takes it for this one. Each in a fresh process, since the
// table of nodes is read once.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include <sched.h>

#include <syncopate/barriers/two_level_barrier.h>

namespace {

namespace waits = syncopate::waits;

constexpr int wrong = 90;

void pin_to(unsigned processor) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(processor, &one);
  if (::sched_setaffinity(0, sizeof one, &one) != 0) std::_Exit(wrong + 1);
}

// Meets 200 times, each thread on the processor that its number chooses, moving to the other one
// halfway; the last thread leaves after 150. Exits with the number of nodes in use, or `wrong`.
void meet_on(const char* description, unsigned threads, unsigned processors) {
  ::setenv("HWLOC_SYNTHETIC", description, 1);
  ::setenv("HWLOC_THISSYSTEM", "1", 1);
  syncopate::two_level_barrier<waits::team_adaptive> barrier(threads);
  std::atomic<unsigned> arrived{0}, early{0};
  std::vector<std::jthread> all;
  for (unsigned me = 0; me < threads; ++me) {
    all.emplace_back([&, me] {
      pin_to(me % processors);
      unsigned expected = 0;
      for (unsigned episode = 0; episode < 200; ++episode) {
        if (episode == 100) pin_to((me + 1) % processors);
        const bool leaves = threads > 1 && me == threads - 1 && episode == 150;
        arrived.fetch_add(1);
        expected += episode <= 150 || threads == 1 ? threads : threads - 1;
        if (leaves) return barrier.arrive_and_drop(me);
        barrier.arrive_and_wait(me);
        if (arrived.load() < expected) early.fetch_add(1);
      }
    });
  }
  all.clear();
  std::_Exit(early.load() == 0 ? static_cast<int>(barrier.nodes_in_use()) : wrong);
}

class BarrierNodes : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  // How many of the processors 0 and 1 this process may use; those are what the tests pin to.
  static unsigned usable_processors() {
    cpu_set_t usable;
    if (::sched_getaffinity(0, sizeof usable, &usable) != 0) return 1;
    return CPU_ISSET(0, &usable) && CPU_ISSET(1, &usable) ? 2 : 1;
  }
};

TEST_F(BarrierNodes, UsesTheNodesThatThreadsAreOn) {
  const unsigned processors = usable_processors();
  const auto nodes = testing::ExitedWithCode(static_cast<int>(processors));
  EXPECT_EXIT(meet_on("node:2 pu:1", 4, processors), nodes, "");
  EXPECT_EXIT(meet_on("node:2 pu:1", 2, processors), nodes, "");
  EXPECT_EXIT(meet_on("node:2 pu:1", 7, processors), nodes, "");
}

TEST_F(BarrierNodes, NodesWithoutThreadsDoNotCount) {
  EXPECT_EXIT(meet_on("node:4 pu:1", 4, 1), testing::ExitedWithCode(1), "");
  EXPECT_EXIT(meet_on("node:2 pu:2", 5, usable_processors()), testing::ExitedWithCode(1), "");
  EXPECT_EXIT(meet_on("node:8 pu:1", 1, 1), testing::ExitedWithCode(1), "");
}

}  // namespace
