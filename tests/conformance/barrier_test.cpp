// What a barrier promises, for every barrier of barriers/all.h: nobody leaves an episode before all
// have arrived, and what all did before is seen by all after.
#include <memory>
#include <string>
#include <vector>

#include <syncopate/barriers/all.h>

#include "support.h"

namespace {

using namespace conformance;

// Where nobody sleeps or yields, each change of turns may take a time slice on a busy machine.
int episodes_for(std::string_view wait, int threads) {
  const bool polls = wait == "spin" || wait == "monitor";
  return (polls && threads > 2 ? 40 : 2000) / threads / sanitizer_divisor;
}

// Each thread enters what it has done in plain memory; after the barrier it reads everybody's.
template <class Barrier>
void check_episodes(int threads, int episodes) {
  Barrier barrier(static_cast<std::uint32_t>(threads));
  struct alignas(64) entry {
    int even = 0, odd = 0;  // two, so that the next episode's entry never meets this one's reader
  };
  std::vector<entry> entries(static_cast<std::size_t>(threads));
  std::atomic<int> late{0};
  on_threads(threads, [&](int me) {
    random_source random = random_of(17, me);
    for (int episode = 1; episode <= episodes; ++episode) {
      const auto slot = [episode](entry& e) -> int& { return episode % 2 == 0 ? e.even : e.odd; };
      machine::spin(below(random, 32));
      slot(entries[static_cast<std::size_t>(me)]) = episode;
      barrier.arrive_and_wait(static_cast<std::uint32_t>(me));
      for (entry& e : entries)
        if (slot(e) != episode) late.fetch_add(1);
    }
  });
  EXPECT_EQ(late.load(), 0);
}

template <class Body>
int for_every_barrier(const char* name, Body body) {
  int registered = 0;
  syncopate::for_each_barrier([&]<class Barrier>(const syncopate::barrier_entry<Barrier>& entry) {
    struct typed : ::testing::Test {
      typed(Body b, std::string_view w) : body(b), wait(w) {}
      void TestBody() override { body.template operator()<Barrier>(wait); }
      Body body;
      std::string_view wait;
    };
    std::string suite = "barrier_" + std::string(entry.name);
    if (!entry.wait.empty()) suite += '_' + std::string(entry.wait);
    const auto make = [body, wait = entry.wait]() -> ::testing::Test* {
      return new typed(body, wait);
    };
    ::testing::RegisterTest(suite.c_str(), name, nullptr, nullptr, __FILE__, __LINE__, make);
    ++registered;
  });
  return registered;
}

const int registered[] = {
    for_every_barrier("OneParticipantNeverWaits",
                      []<class Barrier>(std::string_view) {
                        Barrier barrier(1);
                        int episodes = 0;
                        for (; episodes < 100; ++episodes) barrier.arrive_and_wait(0);
                        EXPECT_EQ(episodes, 100);
                      }),
    for_every_barrier("NobodyLeavesBeforeAllHaveArrived",
                      []<class Barrier>(std::string_view wait) {
                        for (const int threads : {2, 3, 4})
                          check_episodes<Barrier>(threads, episodes_for(wait, threads));
                      }),
    for_every_barrier("WaitsForTheLast",
                      []<class Barrier>(std::string_view) {
                        Barrier barrier(2);
                        std::atomic<bool> left{false};
                        std::jthread first([&] {
                          barrier.arrive_and_wait(0);
                          left.store(true);
                        });
                        sleep_ms(5);
                        EXPECT_FALSE(left.load());
                        barrier.arrive_and_wait(1);
                        first.join();
                        EXPECT_TRUE(left.load());
                      }),
};

TEST(EveryBarrier, IsInTheSuite) {
  int barriers = 0;
  syncopate::for_each_barrier(
      [&]<class Barrier>(const syncopate::barrier_entry<Barrier>&) { ++barriers; });
  EXPECT_EQ(registered[0], barriers);
  EXPECT_GT(barriers, 6);
}

}  // namespace
