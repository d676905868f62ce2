// Names of code and data, in a fixed-address and in a relocatable executable.
#include "model/front/names/names.h"

#include "here.h"
#include "subject.h"

#include <gtest/gtest.h>

#include <cstdint>

extern "C" __attribute__((noinline)) const void* here() { return __builtin_return_address(0); }

namespace syncopate::instrument {
namespace {

std::uintptr_t address_of(const void* object) { return reinterpret_cast<std::uintptr_t>(object); }

TEST(CodeNames, FunctionFileAndLine) {
  EXPECT_EQ(code_name(subject::place_of_call()), "subject::place_of_call at subject.cpp:10");
  EXPECT_EQ(place_name(subject::place_of_call()), "subject.cpp:10");
}

TEST(CodeNames, InlinedFramesInnermostFirst) {
  const auto frames = code_frames(subject::place_in_inlined());
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].text(), "subject::inner at subject.cpp:15");
  EXPECT_EQ(frames[1].text(), "subject::place_in_inlined at subject.cpp:20");
}

TEST(CodeNames, SkipTheStandardLibrary) {
  const std::string name = code_name(subject::place_behind_library());
  EXPECT_EQ(name, "subject::place_behind_library::lambda at subject.cpp:27");
}

TEST(CodeNames, Lambda) {
  EXPECT_EQ(code_name(subject::place_in_lambda()),
            "subject::place_in_lambda::lambda at subject.cpp:33");
}

TEST(CodeNames, FunctionByItsEntry) {
  EXPECT_EQ(function_name(reinterpret_cast<const void*>(&subject::place_of_call)),
            "subject::place_of_call at subject.cpp:9");
}

TEST(CodeNames, WithoutDebugInformation) {
  EXPECT_EQ(code_name(bare_place()), "bare_place");
  EXPECT_EQ(code_frames(bare_place()).front().line, 0);
}

TEST(CodeNames, InSharedLibrary) {
  EXPECT_EQ(code_name(library::place_of_call()), "library::place_of_call at library.cpp:11");
}

TEST(CodeNames, OutsideEveryModule) {
  EXPECT_EQ(code_name(reinterpret_cast<const void*>(0x10)), "0x10");
  EXPECT_EQ(code_name(nullptr), "?");
}

TEST(DataNames, Variable) {
  EXPECT_EQ(data_name(address_of(&subject::counter)), "subject::counter");
  EXPECT_EQ(data_name(address_of(&subject::counter) + 2), "subject::counter+2");
}

TEST(DataNames, MembersArraysBasesAndUnions) {
  auto& whole = subject::the_whole;
  EXPECT_EQ(data_name(address_of(&whole)), "subject::the_whole.inherited");
  EXPECT_EQ(data_name(address_of(&whole.parts[1].first)), "subject::the_whole.parts[1].first");
  EXPECT_EQ(data_name(address_of(&whole.parts[1].slots[2].word)),
            "subject::the_whole.parts[1].slots[2].word");
  EXPECT_EQ(data_name(address_of(&whole.number)), "subject::the_whole.number");
}

TEST(DataNames, StaticOfFunction) {
  EXPECT_EQ(data_name(address_of(subject::static_of_function())),
            "subject::static_of_function::calls");
}

TEST(DataNames, BySymbolWithoutDebugInformation) {
  EXPECT_EQ(data_name(address_of(&bare_numbers[2])), "bare_numbers+8");
}

TEST(DataNames, InSharedLibrary) {
  EXPECT_EQ(data_name(address_of(library::numbers() + 3)), "library::variable[3]");
}

TEST(DataNames, StacksAndThreadLocals) {
  int on_stack = 0;
  const std::uintptr_t stack = address_of(&on_stack);
  const std::uintptr_t pointer = address_of(__builtin_thread_pointer());
  note_thread(3, stack - 4096, stack + 4096, pointer - 65536, pointer);
  EXPECT_EQ(data_name(stack), "stack of thread 3");
  EXPECT_EQ(data_name(address_of(&subject::per_thread[2])), "subject::per_thread of thread 3[2]");
  forget_blocks_and_threads();
  EXPECT_EQ(data_name(stack).substr(0, 2), "0x");
}

TEST(DataNames, HeapBlocks) {
  alignas(64) static char arena[256];
  const std::uintptr_t start = address_of(arena);
  note_allocation(start, 64, subject::place_of_call());
  EXPECT_EQ(data_name(start + 8),
            "block of 64 bytes allocated in subject::place_of_call at subject.cpp:10+8");
  note_free(start, bare_place());
  EXPECT_EQ(data_position_of(start).where, region::freed);
  EXPECT_EQ(block_of(start + 63).freed, bare_place());
  EXPECT_EQ(block_of(start + 64).start, 0u);
  forget_blocks_and_threads();
  EXPECT_EQ(block_of(start).start, 0u);
}

TEST(DataNames, LiveBlockBeforeDeadOne) {
  static char arena[256];
  const std::uintptr_t start = address_of(arena);
  note_allocation(start + 32, 64, bare_place());
  note_free(start + 32, nullptr);
  note_allocation(start, 128, bare_place());
  EXPECT_EQ(block_of(start + 40).start, start);
  EXPECT_TRUE(block_of(start + 40).live);
  forget_blocks_and_threads();
}

TEST(DataNames, ManyBlocks) {
  for (std::uintptr_t i = 1; i <= 5000; ++i) note_allocation(i * 48, 48, nullptr);
  for (std::uintptr_t i = 1; i <= 5000; i += 2) note_free(i * 48, nullptr);
  EXPECT_FALSE(block_of(4999 * 48 + 47).live);
  EXPECT_TRUE(block_of(5000 * 48 + 47).live);
  EXPECT_EQ(block_of(5001 * 48).start, 0u);
  forget_blocks_and_threads();
}

TEST(DataNames, OverlappingBlocks) {
  forget_blocks_and_threads();
  note_allocation(1000, 1000, bare_place());
  note_free(1000, bare_place());
  note_allocation(1200, 100, bare_place());
  note_allocation(1250, 300, bare_place());
  note_free(1250, bare_place());
  EXPECT_EQ(block_of(1100).start, 1000u);
  EXPECT_EQ(block_of(1210).start, 1200u);
  EXPECT_EQ(block_of(1260).start, 1200u) << "live, before the dead one that starts last";
  EXPECT_EQ(block_of(1310).start, 1250u);
  EXPECT_EQ(block_of(1600).start, 1000u) << "larger than all that start behind it";
  EXPECT_EQ(block_of(2000).start, 0u);
  note_free(1200, bare_place());
  EXPECT_EQ(block_of(1260).start, 1250u) << "also after a change";
  forget_blocks_and_threads();
  EXPECT_EQ(block_of(1260).start, 0u);
}

TEST(DataNames, LineWithSeveralObjects) {
  const std::uintptr_t line = address_of(&subject::the_whole.parts[0].slots[1].word);
  EXPECT_EQ(range_name(line, 64), "subject::the_whole.parts[0].slots[1].word");
  EXPECT_EQ(range_name(address_of(library::numbers()), 32, 2), "library::variable[0], [1], ...");
  EXPECT_EQ(range_name(address_of(&bare_numbers[0]), 24), "bare_numbers");
}

// Those that std::thread starts: tests/machine_report/programs.
TEST(ThreadNames, RoutineOfAThread) {
  const auto* const routine = reinterpret_cast<const void*>(&subject::place_of_call);
  EXPECT_EQ(thread_routine(2), nullptr);
  note_thread_routine(2, routine, nullptr);
  EXPECT_EQ(thread_routine(2), routine);
  EXPECT_EQ(thread_routine(1), nullptr);
  forget_blocks_and_threads();
  EXPECT_EQ(thread_routine(2), nullptr);
}

}  // namespace
}  // namespace syncopate::instrument
