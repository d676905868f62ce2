// Memory nodes. A synthetic topology is read by a fresh process, since the table is built once.
#include <gtest/gtest.h>

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include <syncopate/machine.h>

namespace {

namespace machine = syncopate::machine;

// Exits with 10 * node_count() + node() as seen on processor 0 of the described machine.
void tell_nodes(const char* description) {
  ::setenv("HWLOC_SYNTHETIC", description, 1);
  std::_Exit(static_cast<int>(10 * machine::node_count() + machine::node()));
}

TEST(Topology, NodeIsBelowNodeCount) {
  EXPECT_GE(machine::node_count(), 1u);
  EXPECT_LT(machine::node(), machine::node_count());
}

class SyntheticTopology : public testing::Test {
 protected:
  // Death tests start a fresh program, where the table has not been read yet.
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(SyntheticTopology, CountsItsNodes) {
  cpu_set_t zero;
  CPU_ZERO(&zero);
  CPU_SET(0, &zero);
  const auto in_range = [](int low, int high) {
    return [=](int status) {
      return WIFEXITED(status) && WEXITSTATUS(status) >= low && WEXITSTATUS(status) <= high;
    };
  };
  EXPECT_EXIT(tell_nodes("node:4 pu:2"), in_range(40, 43), "");
  EXPECT_EXIT(tell_nodes("pu:8"), in_range(10, 10), "");
}

TEST_F(SyntheticTopology, PlacesTheFirstTwoProcessorsOnTheirNodes) {
  cpu_set_t usable;
  ASSERT_EQ(sched_getaffinity(0, sizeof usable, &usable), 0);
  int tried = 0;
  for (int processor : {0, 1}) {
    if (!CPU_ISSET(processor, &usable)) continue;
    ++tried;
    const auto tell_from = [processor] {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(processor, &one);
      if (sched_setaffinity(0, sizeof one, &one) != 0) std::_Exit(99);
      tell_nodes("node:2 pu:1");
    };
    EXPECT_EXIT(tell_from(), testing::ExitedWithCode(20 + processor), "");
  }
  EXPECT_LE(tried, 2);
}

}  // namespace
