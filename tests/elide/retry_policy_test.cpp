// The retry policies, case by case: decide() is pure, so a table is the whole test.
#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include <syncopate/elide/retry_policy.h>

namespace {

using namespace syncopate::elide;
using syncopate::machine::htm::cause;
using syncopate::machine::htm::status;

constexpr status conflict{cause::conflict, 0, true, false};
constexpr status capacity{cause::capacity, 0, false, false};
constexpr status hopeless{cause::other, 0, false, false};  // a system call
constexpr status interrupt{cause::other, 0, true, false};
constexpr status by_program{cause::explicit_, 7, false, false};
constexpr status by(abort_code code) {
  return {cause::explicit_, static_cast<unsigned char>(code), false, false};
}
constexpr status found_held = by(abort_code::lock_held);

constexpr bool is_free = false, is_held = true;
constexpr auto retry = next_step::retry;
constexpr auto wait = next_step::wait_then_retry;
constexpr auto take = next_step::take_lock;
constexpr auto learn = next_step::take_lock_and_learn;

struct row {
  const char* name;
  retry_policy policy;
  tally before;
  status why;
  bool held;
  decision expected;
};

void PrintTo(const row& r, std::ostream* out) { *out << r.name; }

// standard: 5 attempts; waits for holders without using them up, at most 16 times.
constexpr retry_policy standard = policies::standard;
constexpr retry_policy taker{.on_held = when_held::take_lock, .protects = false};
constexpr retry_policy stubborn{.heeds_causes = false};
constexpr retry_policy slow{.attempts = 20, .first_pause = 10, .longest_pause = 100};
constexpr retry_policy inside{.on_held = when_held::wait_inside};

constexpr row rows[] = {
    // Conflicts: again, until the attempts are used up; the pause doubles.
    {"ConflictFirst", standard, {0, 0}, conflict, is_free, {wait, 1, {1, 0}}},
    {"ConflictSecond", standard, {1, 0}, conflict, is_free, {wait, 2, {2, 0}}},
    {"ConflictFourth", standard, {3, 0}, conflict, is_free, {wait, 8, {4, 0}}},
    {"ConflictLast", standard, {4, 0}, conflict, is_free, {learn, 0, {5, 0}}},
    {"InterruptedFirst", standard, {0, 0}, interrupt, is_free, {wait, 1, {1, 0}}},
    {"InterruptedLast", standard, {4, 0}, interrupt, is_free, {learn, 0, {5, 0}}},
    // A held lock: waited for, and the attempts stay.
    {"HeldFirst", standard, {0, 0}, found_held, is_held, {wait, 1, {0, 1}}},
    {"HeldLater", standard, {4, 15}, found_held, is_free, {wait, 8, {4, 16}}},
    {"HeldTooOften", standard, {4, 16}, found_held, is_free, {take, 0, {4, 17}}},
    {"ConflictByHolder", standard, {4, 0}, conflict, is_held, {wait, 8, {4, 1}}},
    {"ConflictByHolderTooOften", standard, {0, 16}, conflict, is_held, {take, 0, {0, 17}}},
    {"InnerHeld", standard, {0, 0}, by(abort_code::inner_held), is_free, {wait, 1, {1, 0}}},
    {"InnerHeldLast", standard, {4, 0}, by(abort_code::inner_held), is_free, {learn, 0, {5, 0}}},
    {"HeldInside", inside, {0, 0}, conflict, is_held, {wait, 1, {0, 1}}},
    // What another attempt cannot change.
    {"Capacity", standard, {0, 0}, capacity, is_free, {learn, 0, {1, 0}}},
    {"CapacityWhileHeld", standard, {0, 0}, capacity, is_held, {learn, 0, {1, 0}}},
    {"CapacityRetried", stubborn, {0, 0}, capacity, is_free, {wait, 1, {1, 0}}},
    {"CapacityRetriedLast", stubborn, {4, 0}, capacity, is_free, {learn, 0, {5, 0}}},
    {"SystemCallRetried", stubborn, {0, 0}, hopeless, is_free, {wait, 1, {1, 0}}},
    {"NotByTheProgram", stubborn, {0, 0}, by_program, is_free, {learn, 0, {1, 0}}},
    {"SystemCall", standard, {0, 0}, hopeless, is_free, {learn, 0, {1, 0}}},
    {"ByTheProgram", standard, {0, 0}, by_program, is_free, {learn, 0, {1, 0}}},
    {"NestedTry", standard, {0, 0}, by(abort_code::nested_try), is_free, {learn, 0, {1, 0}}},
    {"NeedsLock", standard, {0, 0}, by(abort_code::needs_lock), is_free, {learn, 0, {1, 0}}},
    {"ActionsFull", standard, {0, 0}, by(abort_code::actions_full), is_free, {learn, 0, {1, 0}}},
    {"SwitchedOff", standard, {0, 0}, by(abort_code::switched_off), is_free, {take, 0, {1, 0}}},
    // Without protection a held lock costs attempts, or ends them.
    {"TakerHeld", taker, {0, 0}, found_held, is_held, {take, 0, {1, 0}}},
    {"TakerConflict", taker, {0, 0}, conflict, is_held, {retry, 1, {1, 0}}},
    {"TakerConflictLast", taker, {4, 0}, conflict, is_free, {learn, 0, {5, 0}}},
    // The paper's: one attempt or ten, whatever ends them. Whoever finds the lock held loops inside
    // the transaction until the release aborts it: a conflict as any other.
    {"Htm1Conflict", policies::htm_1, {0, 0}, conflict, is_free, {learn, 0, {1, 0}}},
    {"Htm1WaitedInside", policies::htm_1, {0, 0}, conflict, is_held, {learn, 0, {1, 0}}},
    {"Htm10Conflict", policies::htm_10, {0, 0}, conflict, is_held, {retry, 1, {1, 0}}},
    {"Htm10ConflictFourth", policies::htm_10, {3, 0}, conflict, is_free, {retry, 8, {4, 0}}},
    {"Htm10ConflictNinth", policies::htm_10, {8, 0}, conflict, is_free, {retry, 256, {9, 0}}},
    {"Htm10ConflictTenth", policies::htm_10, {9, 0}, conflict, is_free, {learn, 0, {10, 0}}},
    {"Htm10Capacity", policies::htm_10, {0, 0}, capacity, is_free, {retry, 1, {1, 0}}},
    {"Htm10CapacityTenth", policies::htm_10, {9, 0}, capacity, is_free, {learn, 0, {10, 0}}},
    {"Htm10SystemCall", policies::htm_10, {4, 0}, hopeless, is_free, {retry, 16, {5, 0}}},
    // Pauses stop growing.
    {"PauseFirst", slow, {0, 0}, conflict, is_free, {wait, 10, {1, 0}}},
    {"PauseFourth", slow, {3, 0}, conflict, is_free, {wait, 80, {4, 0}}},
    {"PauseLongest", slow, {4, 0}, conflict, is_free, {wait, 100, {5, 0}}},
    {"PauseNeverOverflows", slow, {18, 0}, conflict, is_free, {wait, 100, {19, 0}}},
    // One attempt for those who have a way of waiting of their own.
    {"OnceConflict", once(standard), {0, 0}, conflict, is_free, {learn, 0, {1, 0}}},
    {"OnceHeld", once(standard), {0, 0}, found_held, is_held, {take, 0, {1, 0}}},
};

class Decide : public ::testing::TestWithParam<row> {};

TEST_P(Decide, IsAsTheTableSays) {
  const row& r = GetParam();
  const decision got = decide(r.policy, r.before, r.why, r.held);
  EXPECT_EQ(got.what, r.expected.what);
  EXPECT_EQ(got.pause, r.expected.pause);
  EXPECT_EQ(got.used, r.expected.used);
}

INSTANTIATE_TEST_SUITE_P(Table, Decide, ::testing::ValuesIn(rows),
                         [](const auto& info) { return std::string(info.param.name); });

// Whatever the aborts, every policy comes to an end, within its attempts and waits.
TEST(Decide, EndsSoonerOrLater) {
  for (const named_policy& named : named_policies)
    for (const status& why : {conflict, capacity, interrupt, hopeless, found_held})
      for (const bool held : {is_free, is_held}) {
        tally used;
        int steps = 0;
        for (;; ++steps) {
          const decision next = decide(named.policy, used, why, held);
          used = next.used;
          if (next.what == take || next.what == learn) break;
          ASSERT_LE(steps, named.policy.attempts + named.policy.waits) << named.name;
        }
        EXPECT_LE(used.attempts, named.policy.attempts) << named.name;
      }
}

// Izraelevitz, Xiang & Scott, section IV-A.
TEST(Policies, OfThePaperWaitInside) {
  for (const retry_policy& p : {policies::htm_1, policies::htm_10, policies::htm_10_fb_aahtm}) {
    EXPECT_EQ(p.on_held, when_held::wait_inside);
    EXPECT_FALSE(p.heeds_causes);
    EXPECT_FALSE(p.learns);
  }
  EXPECT_EQ(policies::htm_1.attempts, 1);
  EXPECT_EQ(policies::htm_10.attempts, 10);
}

TEST(Policies, AreFoundByName) {
  ASSERT_NE(find_policy("htm_10"), nullptr);
  EXPECT_EQ(*find_policy("htm_10"), policies::htm_10);
  EXPECT_TRUE(find_policy("auto")->learns);
  EXPECT_EQ(find_policy("standard")->attempts, 5);
  EXPECT_EQ(find_policy("htm-10"), nullptr);
  EXPECT_EQ(find_policy(""), nullptr);
}

}  // namespace
