// What a barrier promises, for every barrier of barriers/all.h: nobody leaves an episode before all
// have arrived, and what all did before is seen by all after.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <syncopate/barriers/all.h>
#include <syncopate/barriers/barrier.h>

#include "support.h"

namespace {

using namespace conformance;
namespace waits = syncopate::waits;

// Where nobody sleeps or yields, each change of turns may take a time slice on a busy machine.
int episodes_for(std::string_view wait, int threads) {
  const bool polls = wait == "spin" || wait == "monitor";
  const int episodes = !polls ? 800 : threads > 2 ? 24 : 200;
  return episodes / threads / sanitizer_divisor + 1;
}

// A barrier of any type, so that the tests are compiled once for all.
struct any_barrier {
  any_barrier() = default;
  any_barrier(const any_barrier&) = delete;
  any_barrier& operator=(const any_barrier&) = delete;
  virtual ~any_barrier() = default;
  virtual void arrive_and_wait(std::uint32_t participant) = 0;
  virtual void arrive_work_and_wait(std::uint32_t participant) = 0;  // requires: split
  virtual void arrive_and_drop(std::uint32_t participant) = 0;       // requires: drop
};

template <class Barrier>
class barrier_as final : public any_barrier {
 public:
  explicit barrier_as(std::uint32_t count) : barrier_(count) {}
  ~barrier_as() override { barrier_.check_invariants(); }
  void arrive_and_wait(std::uint32_t participant) override {
    barrier_.arrive_and_wait(participant);
  }
  void arrive_work_and_wait([[maybe_unused]] std::uint32_t participant) override {
    if constexpr (Barrier::traits.split) {
      auto token = barrier_.arrive(participant);
      machine::spin(8);
      barrier_.wait(token, participant);
    } else {
      std::abort();
    }
  }
  void arrive_and_drop([[maybe_unused]] std::uint32_t participant) override {
    if constexpr (Barrier::traits.drop) barrier_.arrive_and_drop(participant);
    else std::abort();
  }

 private:
  Barrier barrier_;
};

struct barrier_kind {
  std::string suite;
  std::string_view wait;
  syncopate::barrier_traits traits;
  std::unique_ptr<any_barrier> (*make)(int count);
};

// One for each barrier of barriers/all.h with each waiting strategy.
const std::vector<barrier_kind>& every_kind() {
  static const std::vector<barrier_kind> kinds = [] {
    std::vector<barrier_kind> all;
    syncopate::for_each_barrier([&]<class Barrier>(const syncopate::barrier_entry<Barrier>& entry) {
      std::string suite = "barrier_" + std::string(entry.name);
      if (!entry.wait.empty()) suite += '_' + std::string(entry.wait);
      all.push_back({suite, entry.wait, Barrier::traits, [](int count) {
                       return std::unique_ptr<any_barrier>(std::make_unique<barrier_as<Barrier>>(
                           static_cast<std::uint32_t>(count)));
                     }});
    });
    return all;
  }();
  return kinds;
}

// Each thread enters what it has done in plain memory; after the barrier it reads everybody's.
void check_episodes(const barrier_kind& kind, int threads, int episodes) {
  const auto barrier = kind.make(threads);
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
      barrier->arrive_and_wait(static_cast<std::uint32_t>(me));
      for (entry& e : entries)
        if (slot(e) != episode) late.fetch_add(1);
    }
  });
  EXPECT_EQ(late.load(), 0);
}

int for_every_barrier(const char* name, void (*body)(const barrier_kind&)) {
  struct test : ::testing::Test {
    test(void (*b)(const barrier_kind&), const barrier_kind& k) : body_(b), kind_(k) {}
    void TestBody() override { body_(kind_); }
    void (*body_)(const barrier_kind&);
    const barrier_kind& kind_;
  };
  int registered = 0;
  for (const barrier_kind& kind : every_kind()) {
    ::testing::RegisterTest(kind.suite.c_str(), name, nullptr, nullptr, __FILE__, __LINE__,
                            [body, &kind]() -> ::testing::Test* { return new test(body, kind); });
    ++registered;
  }
  return registered;
}

const int registered[] = {
    for_every_barrier("OneParticipantNeverWaits",
                      [](const barrier_kind& kind) {
                        const auto barrier = kind.make(1);
                        int episodes = 0;
                        for (; episodes < 100; ++episodes) barrier->arrive_and_wait(0);
                        EXPECT_EQ(episodes, 100);
                      }),
    for_every_barrier("NobodyLeavesBeforeAllHaveArrived",
                      [](const barrier_kind& kind) {
                        for (const int threads : {2, 3, 4})
                          check_episodes(kind, threads, episodes_for(kind.wait, threads));
                      }),
    for_every_barrier("WaitsForTheLast",
                      [](const barrier_kind& kind) {
                        const auto barrier = kind.make(2);
                        std::atomic<bool> left{false};
                        std::jthread first([&] {
                          barrier->arrive_and_wait(0);
                          left.store(true);
                        });
                        sleep_ms(5);
                        EXPECT_FALSE(left.load());
                        barrier->arrive_and_wait(1);
                        first.join();
                        EXPECT_TRUE(left.load());
                      }),
};

// Everybody arrives, does something else, and waits: nobody gets through before all have arrived.
void check_split(const barrier_kind& kind, int threads, int episodes) {
  const auto barrier = kind.make(threads);
  std::atomic<int> arrived{0}, early{0};
  on_threads(threads, [&](int me) {
    for (int episode = 1; episode <= episodes; ++episode) {
      arrived.fetch_add(1);
      barrier->arrive_work_and_wait(static_cast<std::uint32_t>(me));
      if (arrived.load() < threads * episode) early.fetch_add(1);
    }
  });
  EXPECT_EQ(early.load(), 0);
}

// Participant p takes part in p + 1 episodes, then leaves. Those who stay are as many as expected,
// whoever comes last.
void check_drop(const barrier_kind& kind, int threads) {
  const auto barrier = kind.make(threads);
  std::vector<std::atomic<int>> arrived(static_cast<std::size_t>(threads));
  std::atomic<int> early{0};
  on_threads(threads, [&](int me) {
    for (int episode = 0; episode < me; ++episode) {
      arrived[static_cast<std::size_t>(episode)].fetch_add(1);
      barrier->arrive_and_wait(static_cast<std::uint32_t>(me));
      // In episode e the participants e and up arrive; the first of them for the last time.
      if (arrived[static_cast<std::size_t>(episode)].load() != threads - episode)
        early.fetch_add(1);
    }
    arrived[static_cast<std::size_t>(me)].fetch_add(1);
    barrier->arrive_and_drop(static_cast<std::uint32_t>(me));
  });
  EXPECT_EQ(early.load(), 0);
}

const int capabilities[] = {
    for_every_barrier("ArrivingAndWaitingCanBeSplit",
                      [](const barrier_kind& kind) {
                        if (!kind.traits.split) {
                          EXPECT_FALSE(kind.traits.drop);
                          return;
                        }
                        for (const int threads : {1, 2, 3, 5})
                          check_split(kind, threads, episodes_for(kind.wait, threads) / 4 + 1);
                      }),
    for_every_barrier("WhoDropsIsNotWaitedFor",
                      [](const barrier_kind& kind) {
                        if (!kind.traits.drop) {
                          EXPECT_FALSE(kind.traits.completion);
                          return;
                        }
                        for (const int threads : {1, 2, 3, 9}) check_drop(kind, threads);
                      }),
};

// The completion function runs once an episode, alone, after all have arrived.
template <template <class, class> class Barrier>
void check_completion() {
  constexpr int threads = 3, episodes = 50;
  int completed = 0;  // plain: the barrier orders it
  std::atomic<int> arrived{0}, wrong{0};
  const auto complete = [&]() noexcept {
    if (arrived.load() < threads * ++completed) wrong.fetch_add(1);
  };
  Barrier<waits::team_adaptive, decltype(complete)> barrier(threads, complete);
  on_threads(threads, [&](int me) {
    for (int episode = 1; episode <= episodes; ++episode) {
      arrived.fetch_add(1);
      barrier.arrive_and_wait(static_cast<std::uint32_t>(me));
      if (completed < episode) wrong.fetch_add(1);
      const int seen = completed;
      machine::spin(4);
      if (completed != seen) wrong.fetch_add(1);  // we have not arrived again
    }
  });
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(completed, episodes);
}

TEST(BarrierCompletion, RunsOnceAnEpisodeBeforeAnybodyGoesOn) {
  check_completion<syncopate::central_barrier>();
  check_completion<syncopate::combining_tree_barrier>();
  check_completion<syncopate::two_level_barrier>();
  check_completion<syncopate::speculating_barrier>();
}

TEST(CombiningTree, HasTheRightShapeForEveryCount) {
  for (std::uint32_t count = 1; count <= 70; ++count) {
    syncopate::combining_tree_barrier<waits::spin> barrier(count);
    auto token = barrier.arrive(0);
    for (std::uint32_t p = 1; p < count; ++p) token = barrier.arrive(p);
    barrier.wait(token);  // returns: nobody is missing
    for (std::uint32_t p = 0; p + 1 < count; ++p) barrier.arrive_and_drop(p);
    barrier.arrive_and_wait(count - 1);
    barrier.arrive_and_wait(count - 1);  // alone now
  }
}

// Used as std::barrier is.
TEST(Barrier, HasTheStandardInterface) {
  static_assert(!std::is_copy_constructible_v<syncopate::barrier<>>);
  static_assert(syncopate::barrier<>::max() > 1000);
  int completed = 0;
  const auto complete = [&completed]() noexcept { ++completed; };
  syncopate::barrier barrier(3, complete);
  auto token = barrier.arrive(2);
  barrier.arrive_and_wait();
  barrier.wait(std::move(token));
  EXPECT_EQ(completed, 1);
  barrier.arrive_and_drop();
  (void)barrier.arrive();
  barrier.arrive_and_wait();
  EXPECT_EQ(completed, 2);
  (void)barrier.arrive();
  barrier.arrive_and_wait();  // two are expected from now on
  EXPECT_EQ(completed, 3);
}

TEST(EveryBarrier, IsInTheSuite) {
  int barriers = 0;
  syncopate::for_each_barrier(
      [&]<class Barrier>(const syncopate::barrier_entry<Barrier>&) { ++barriers; });
  EXPECT_EQ(registered[0], barriers);
  EXPECT_EQ(capabilities[0], barriers);
  EXPECT_GT(barriers, 6);
}

}  // namespace
