// What a work-stealing deque promises: each element is had once, by its owner or by one thief;
// what was written before its push is seen; the owner's floor holds; a full one refuses.
#include <syncopate/deques/chase_lev_deque.h>
#include <syncopate/deques/stealing_crew.h>

#include <memory>
#include <vector>

#include "support.h"

namespace {

using namespace conformance;

struct element {
  int contents = 0, had = 0;
};

template <std::size_t capacity>
void check_load(int thieves, int elements) {
  syncopate::chase_lev_deque<element, capacity> deque;
  std::vector<element> all(static_cast<std::size_t>(elements));
  std::atomic<int> had{0}, wrong{0};
  const auto have = [&](element* e) {
    if (e == nullptr) return;
    if (e->contents != 7) wrong.fetch_add(1);
    ++e->had;  // plain: two who have it are a race, and a wrong sum
    had.fetch_add(1);
  };
  on_threads(thieves + 1, [&](int me) {
    random_source random = random_of(23, me);
    if (me != 0) {
      while (had.load() < elements) have(deque.steal([](const element*) { return true; }));
      return;
    }
    for (element& e : all) {
      e.contents = 7;
      while (!deque.push(&e)) have(deque.take());
      for (std::uint32_t takes = below(random, 3); takes != 0; --takes) have(deque.take());
    }
    while (had.load() < elements) have(deque.take());
  });
  EXPECT_EQ(wrong.load(), 0);
  for (const element& e : all) ASSERT_EQ(e.had, 1);
}

TEST(chase_lev_deque, each_element_is_had_once_by_owner_or_thief) {
  check_load<64>(1, 200'000 / sanitizer_divisor);
}

TEST(chase_lev_deque, each_element_is_had_once_by_three_thieves_of_a_tiny_one) {
  check_load<2>(3, 50'000 / sanitizer_divisor);
}

TEST(chase_lev_deque, newest_for_the_owner_oldest_for_thieves) {
  syncopate::chase_lev_deque<element, 4> deque;
  element all[4];
  for (element& e : all) ASSERT_TRUE(deque.push(&e));
  EXPECT_FALSE(deque.push(&all[0])) << "it is full";
  const auto any = [](const element*) { return true; };
  EXPECT_EQ(deque.steal(any), &all[0]);
  EXPECT_EQ(deque.steal([](const element*) { return false; }), nullptr);
  EXPECT_EQ(deque.take(), &all[3]);
  EXPECT_EQ(deque.take(2), &all[2]);
  EXPECT_EQ(deque.take(2), nullptr) << "the second lies before the floor";
  EXPECT_FALSE(deque.seems_empty());
  EXPECT_EQ(deque.steal(any), &all[1]);
  EXPECT_TRUE(deque.seems_empty());
  EXPECT_EQ(deque.take(), nullptr);
  EXPECT_EQ(deque.steal(any), nullptr);
}

// Crews of several sizes, one after the other: what one worker made another may have done.
TEST(stealing_crew, ends_each_episode_with_all_done_also_of_fewer_workers) {
  using crew = syncopate::stealing_crew<element, 64>;
  crew workers(4);
  for (const int count : {4, 2, 3, 4, 1}) {
    workers.employ(static_cast<std::uint32_t>(count));
    std::vector<element> all(static_cast<std::size_t>(count * 500));
    std::atomic<int> late{0};
    on_threads(count, [&](int number) {
      const auto me = static_cast<std::uint32_t>(number);
      const auto run = [&](element* e) {
        ++e->had;
        workers.finish(me);
      };
      for (int episode = 0; episode < 5; ++episode) {
        for (int i = episode * 100; i < (episode + 1) * 100; ++i) {
          element& e = all[static_cast<std::size_t>(number * 500 + i)];
          workers.make(me);
          if (!workers.push(me, &e)) run(&e);
        }
        const std::uint64_t token = workers.arrive();
        while (!workers.is_over(token)) {
          if (element* const e = workers.take(me, 0, [](const element*) { return true; })) run(e);
          else if (!workers.end_if_done(token)) machine::yield();
        }
        for (int other = 0; other < count; ++other)
          for (int i = episode * 100; i < (episode + 1) * 100; ++i)
            if (all[static_cast<std::size_t>(other * 500 + i)].had != 1) late.fetch_add(1);
      }
    });
    EXPECT_EQ(late.load(), 0) << count << " workers";
  }
}

}  // namespace
