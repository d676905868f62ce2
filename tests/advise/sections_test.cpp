// What sections access by bytes, where two of them meet, and what of them is counted
// (src/model/simulated/report/section_sets.h, section_totals.h).
#include "model/simulated/report/section_sets.h"
#include "model/simulated/report/section_totals.h"

#include <gtest/gtest.h>

namespace syncopate::simulated {
namespace {

constexpr std::uint64_t line = 64;
const char code[4] = {};  // places

word_list words_of(std::initializer_list<std::tuple<std::uint64_t, std::size_t, use>> accesses) {
  access_set set;
  for (const auto& [at, bytes, what] : accesses)
    set.add(at, bytes, what, what == use::read ? &code[0] : &code[1]);
  return std::move(set).sorted();
}

TEST(Sections, BytesOfOneWordAreToldApart) {
  const auto low = words_of({{0x1000, 4, use::write}}), high = words_of({{0x1004, 4, use::write}});
  const auto found = meetings(low, high, line);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_FALSE(found[0].is_conflict());
  EXPECT_EQ(found[0].first, 0x1000u);
  EXPECT_EQ(found[0].second, 0x1004u);
}

TEST(Sections, AConflictIsAtTheFirstCommonByte) {
  const auto a = words_of({{0x1000, 8, use::read}}), b = words_of({{0x1002, 2, use::write}});
  for (const auto& found : {meetings(a, b, line), meetings(b, a, line)}) {
    ASSERT_EQ(found.size(), 1u);
    EXPECT_TRUE(found[0].is_conflict());
    EXPECT_EQ(found[0].first, 0x1002u);
  }
  EXPECT_EQ(meetings(a, b, line)[0].first_at, &code[0]);
  EXPECT_EQ(meetings(a, b, line)[0].second_at, &code[1]);
}

TEST(Sections, ReadersDoNotMeet) {
  const auto a = words_of({{0x1000, 64, use::read}});
  EXPECT_TRUE(meetings(a, a, line).empty());
}

TEST(Sections, RangesCrossWordsAndLines) {
  const auto range = words_of({{0x103d, 6, use::write}});  // the ends of two lines
  ASSERT_EQ(range.size(), 2u);
  EXPECT_EQ(range[0].written, 0xe0);
  EXPECT_EQ(range[1].written, 0x07);
  const auto found = meetings(range, words_of({{0x1040, 1, use::modify}}), line);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].first, 0x1040u);
}

TEST(Sections, ALineWithAConflictIsNotSharedAsWell) {
  const auto a = words_of({{0x1000, 8, use::modify}, {0x1008, 8, use::write}});
  const auto b = words_of({{0x1000, 8, use::modify}, {0x1010, 8, use::write}});
  const auto found = meetings(a, b, line);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].is_conflict());
}

TEST(Sections, WhatIsTooMuchIsLeftOut) {
  access_set set;
  set.add(0x1000, access_set::most_words * word_bytes, use::read, nullptr);
  EXPECT_FALSE(set.overflowed());
  set.add(0x1000, 8, use::write, nullptr);  // known
  EXPECT_FALSE(set.overflowed());
  set.add(0x2000'0000, 8, use::read, nullptr);
  EXPECT_TRUE(set.overflowed());
  EXPECT_EQ(std::move(set).sorted().size(), access_set::most_words);
}

description small_cache() {
  description machine{};
  machine.l1 = {.size = 4 * 2 * line, .ways = 2, .line = line, .latency = 4, .shared_by = 1};
  return machine;
}

TEST(Sections, AWrittenLineIsNotCountedAsRead) {
  section s;
  s.words = words_of({{0x1000, 8, use::read}, {0x1008, 8, use::write}, {0x1040, 8, use::read}});
  const footprint print = footprint_of(s, small_cache());
  EXPECT_EQ(print.written_lines, 1u);
  EXPECT_EQ(print.read_lines, 1u);
  EXPECT_TRUE(print.fits);
}

TEST(Sections, ASetOfTheCacheHoldsAsManyLinesAsItHasWays) {
  constexpr std::uint64_t same_set = 4 * line;
  section s;
  s.words = words_of({{0, 8, use::write}, {same_set, 8, use::write}, {2 * same_set, 8, use::read}});
  EXPECT_TRUE(footprint_of(s, small_cache()).fits);
  s.words.back().written = 0xff;
  EXPECT_FALSE(footprint_of(s, small_cache()).fits);
}

section of_thread(unsigned thread) {
  section s;
  s.thread = thread;
  s.words = words_of({{0x1000, 8, use::read}});
  return s;
}

TEST(Sections, TheLastOfEachThreadAreKept) {
  recent_sections recent;
  std::int64_t words = 0;
  const auto others = [&](unsigned thread) {
    int count = 0;
    recent.for_others(thread, [&](const section&) { ++count; });
    return count;
  };
  for (int i = 0; i < 10; ++i) words += recent.keep(of_thread(1));
  EXPECT_EQ(others(1), 0);
  EXPECT_EQ(others(2), static_cast<int>(recent_sections::most_of_thread));
  for (unsigned t = 2; t < 40; ++t) words += recent.keep(of_thread(t));
  EXPECT_EQ(others(99), static_cast<int>(recent_sections::most_threads));
  EXPECT_EQ(words, static_cast<std::int64_t>(recent_sections::most_threads));
}

TEST(Sections, FieldsAreBounded) {
  lock_totals totals;
  for (std::uint64_t i = 0; i < 2 * lock_totals::most_fields; ++i)
    totals.count_pair({{8 * i, 8 * i, nullptr, nullptr}});
  EXPECT_EQ(totals.conflicts.size(), lock_totals::most_fields);
  EXPECT_EQ(totals.left_out, lock_totals::most_fields);
  EXPECT_EQ(totals.conflicting, 2 * lock_totals::most_fields);
}

}  // namespace
}  // namespace syncopate::simulated
