// record_thinning_test.cpp -- what is measured once in a while, and what is known again, is right.
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>
#include <utility>

#include "record/internal.h"
#include "record/stacks.h"
#include "record/threads.h"
#include "record/trails.h"
#include "record_support.h"

namespace record_test {
namespace {

// ---- stacks known again by their trails ---------------------------------------------------------

struct known_stacks {
  record::trails trails{};
  std::uint64_t pc[8][record::stack_depth] = {};
  std::uint32_t count = 0;
  std::uintptr_t frame = 0;  // of the last look()
};

// What the recorder does for a stack: its number, and whether it was walked.
[[gnu::noinline]] std::pair<std::uint32_t, bool> look(known_stacks& all) {
  const auto frame = all.frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const std::uint32_t known =
      all.trails.find(frame, [&](std::uint32_t id) { return all.pc[id - 1]; });
  if (known != 0) return {known, false};
  const std::uint32_t id = ++all.count;
  record::walk_stack(record::find_stack_bounds(), all.pc[id - 1], &all.trails.begin(), frame);
  all.trails.keep(frame, id);
  return {id, true};
}

// Two ways to the same frame: the callers' frames are alike.
template <int way>
[[gnu::noinline]] std::pair<std::uint32_t, bool> come_by(known_stacks& all) {
  const auto seen = look(all);
  asm volatile("" : : "i"(way));  // no tail call, and not one function for both
  return seen;
}

TEST(RecordThinning, AStackIsKnownAgainByTheWayToIt) {
  std::pair<std::uint32_t, bool> (*const ways[])(known_stacks&) = {come_by<1>, come_by<2>};
  known_stacks all;
  std::set<std::uintptr_t> frames;
  const auto go = [&](int way) {
    const auto seen = ways[way](all);
    frames.insert(all.frame);
    return seen;
  };
  for (int round = 0; round < 3; ++round)
    for (std::uint32_t way = 0; way < 2; ++way) {
      const auto [id, walked] = go(static_cast<int>(way));
      EXPECT_EQ(id, way + 1);
      EXPECT_EQ(walked, round == 0);
    }
  EXPECT_EQ(frames.size(), 1u);  // else this would test nothing
  EXPECT_NE(std::memcmp(all.pc[0], all.pc[1], sizeof all.pc[0]), 0);
  all.trails.forget();
  EXPECT_TRUE(go(0).second);
}

TEST(RecordThinning, OnlySoManyTrailsAreKept) {
  known_stacks all;
  record::trails& trails = all.trails;
  record::trail way{};
  const auto none = [](std::uint32_t) -> const std::uint64_t* { return nullptr; };
  for (std::uint32_t id = 1; id <= 100; ++id) {  // of no places: each holds
    trails.begin() = way;
    trails.keep(id * 16, id);
  }
  EXPECT_EQ(trails.find(100 * 16, none), 100u);
  EXPECT_EQ(trails.find(60 * 16, none), 60u);
  EXPECT_EQ(trails.find(1 * 16, none), 0u);
  way.spoiled = true;
  trails.begin() = way;
  trails.keep(7777, 101);
  EXPECT_EQ(trails.find(7777, none), 0u);
}

// ---- contended releases -------------------------------------------------------------------------

TEST(RecordThinning, EachLockHasItsShareOfReleasesAlsoWhereTheyAreReleasedInTurn) {
  constexpr unsigned locks = 20, rounds = 50'000;
  scratch dir;
  const int status = in_child([&] {
    static object pool[locks];
    if (!record::start(dir.file().c_str(), "auto", "park")) return 1;
    for (object& o : pool) o.id();
    for (unsigned i = 0; i < rounds; ++i)
      for (object& o : pool) {
        const std::uint64_t ended = record::hold_ends(&o, true);
        if (ended != 0) record::released(&o, o.slot, true, ended);
      }
    record::finish();
    return 0;
  });
  ASSERT_EQ(status, 0);
  const contents c = read_record(dir.file());
  std::map<std::uint32_t, std::uint64_t> releases, events;
  for (const auto& row : c.rows) {
    ASSERT_EQ(row.item.kind, static_cast<std::uint32_t>(record::wait_kind::release));
    releases[row.item.lock] += row.item.waits;
    std::uint64_t in_histogram = 0;
    for (const std::uint32_t n : row.item.histogram) in_histogram += n;
    EXPECT_EQ(in_histogram, row.item.waits);
  }
  for (const auto& e : c.events) events[e.item.lock] += e.item.weight;
  ASSERT_EQ(releases.size(), locks);
  std::uint64_t sum = 0;
  for (const auto& [lock, n] : releases) {
    EXPECT_NEAR(static_cast<double>(n), rounds, 0.1 * rounds) << "lock " << lock;
    EXPECT_LE(events[lock], n);
    sum += n;
  }
  EXPECT_LE(sum, std::uint64_t{locks} * rounds);
  EXPECT_GT(sum, std::uint64_t{locks} * (rounds - 32));
}

// Who waited behind it waited as long, and is to be told who held it.
TEST(RecordThinning, AReleaseAfterALongTimeIsNotLeftOutAmongManyOthers) {
  constexpr unsigned long_ones = 20, between = 2000;
  scratch dir;
  std::uint64_t ends[long_ones] = {};
  int channel[2];
  ASSERT_EQ(::pipe(channel), 0);
  const int status = in_child([&] {
    static object one;
    if (!record::start(dir.file().c_str(), "auto", "park")) return 1;
    one.id();
    for (std::uint64_t& end : ends) {
      for (unsigned i = 0; i < between; ++i)
        if (const std::uint64_t ended = record::hold_ends(&one, true); ended != 0)
          record::released(&one, one.slot, true, ended);
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
      end = record::hold_ends(&one, true);
      if (end != 0) record::released(&one, one.slot, true, end);
    }
    record::finish();
    return ::write(channel[1], ends, sizeof ends) == sizeof ends ? 0 : 2;
  });
  ASSERT_EQ(status, 0);
  ASSERT_EQ(::read(channel[0], ends, sizeof ends), ssize_t{sizeof ends});
  ::close(channel[0]);
  ::close(channel[1]);
  const contents c = read_record(dir.file());
  for (const std::uint64_t end : ends) {
    unsigned found = 0;
    for (const auto& e : c.events)
      if (e.item.end == end) found += e.item.weight;
    EXPECT_EQ(found, 1u) << end;
  }
}

TEST(RecordThinning, TheFirstContendedReleasesAreAllMeasured) {
  scratch dir;
  const int status = in_child([&] {
    static object one;
    if (!record::start(dir.file().c_str(), "auto", "park")) return 1;
    one.id();
    for (unsigned i = 0; i < 64; ++i) {
      const std::uint64_t ended = record::hold_ends(&one, true);
      if (ended == 0) return 2;
      record::released(&one, one.slot, true, ended);
    }
    record::finish();
    return 0;
  });
  ASSERT_EQ(status, 0);
  EXPECT_EQ(read_record(dir.file()).rows.at(0).item.waits, 64u);
}

// ---- holds inside each other -------------------------------------------------------------------

// `depth` locks that are always taken together, so that it is the turn of all or of none: each by
// `nap` after the one before, and released in this order. What the record says of them.
constexpr unsigned turns = 16;
contents nested(unsigned depth, std::vector<unsigned> released, std::vector<unsigned> again = {}) {
  scratch dir;
  const int status = in_child([&] {
    static object locks[8];
    if (!record::start(dir.file().c_str(), "auto", "park")) return 1;
    for (unsigned i = 0; i < turns * record::first_period; ++i) {
      for (unsigned n = 0; n < depth; ++n) {
        locks[n].wanted();
        locks[n].counted();
        if (locks[n].count % record::first_period == 1) ::usleep(500);
      }
      for (const unsigned n : again) {  // let go of and taken inside, as by a condition variable
        locks[n].unlocked();
        locks[n].counted();
      }
      for (const unsigned n : released) locks[n].unlocked();
    }
    for (unsigned n = 0; n < depth; ++n)
      if (record::may_be_measured(&locks[n])) return 2;
    record::finish();
    return 0;
  });
  EXPECT_EQ(status, 0);
  return read_record(dir.file());
}

double milliseconds(const contents& c, std::uint64_t ticks) {
  return 1e3 * static_cast<double>(ticks) / static_cast<double>(c.header.ticks_per_second);
}

std::uint64_t count_of(const contents& c, std::uint32_t lock, record::wait_kind kind,
                       unsigned counter = 64) {
  std::uint64_t sum = 0;
  for (const auto& row : c.rows)
    if (row.item.lock == lock && row.item.kind == static_cast<std::uint32_t>(kind))
      sum += counter < 64 ? row.item.histogram[counter] : row.item.waits;
  return sum;
}

// Whether the kernel shows a sleep in a thread's mark.
bool shows_sleeps() {
  syncopate::machine::switch_mark mark;
  mark.set();
  ::usleep(1000);
  return mark.taken().voluntary != 0;
}

TEST(RecordThinning, HoldsInsideEachOtherAreAllMeasured) {
  const std::uint64_t watched = syncopate::machine::switch_mark::is_possible() ? turns : 0;
  const std::uint64_t slept = shows_sleeps() ? turns : 0;
  for (const auto& order :
       {std::vector<unsigned>{0}, {1, 0}, {0, 1}, {2, 1, 0}, {0, 1, 2}, {1, 0, 2}, {3, 1, 2, 0}}) {
    const auto depth = static_cast<unsigned>(order.size());
    const contents c = nested(depth, order);
    for (unsigned n = 0; n < depth; ++n) {
      const record::lock_entry& lock = c.locks.at(n + 1);
      EXPECT_EQ(lock.hold_samples, turns) << n << " of " << depth;
      // The longest: from its own pause to the end of the last one's.
      EXPECT_GE(milliseconds(c, lock.hold_max), 0.45 * (depth - n)) << n << " of " << depth;
      EXPECT_EQ(count_of(c, n + 1, record::wait_kind::holder), watched);
      EXPECT_EQ(count_of(c, n + 1, record::wait_kind::holder, record::sleeping_holds), slept);
      EXPECT_GT(count_of(c, n + 1, record::wait_kind::outside), 0u) << n << " of " << depth;
    }
  }
}

TEST(RecordThinning, AnOuterHoldGoesOnWhereAnInnerLockIsLetGoOf) {
  const contents c = nested(2, {1, 0}, {1});
  const record::lock_entry &outer = c.locks.at(1), &inner = c.locks.at(2);
  EXPECT_EQ(outer.hold_samples, turns);
  EXPECT_GE(milliseconds(c, outer.hold_max), 0.9);
  EXPECT_EQ(inner.acquisitions, 2 * outer.acquisitions);
  EXPECT_EQ(inner.hold_samples, 2 * turns);
}

// Which is as long as one that another thread has released is waited for, where there is no room.
TEST(RecordThinning, AHoldOfMoreThanASecondIsMeasuredHoweverManyLocksAreTakenInIt) {
  scratch dir;
  const int status = in_child([&] {
    static object outer, inner, lost[4], newest;
    if (!record::start(dir.file().c_str(), "auto", "park")) return 1;
    outer.counted();
    for (int i = 0; i < 12; ++i) {
      for (unsigned n = 0; n <= record::first_period; ++n) inner.uncontended_round();
      ::usleep(100'000);
    }
    outer.unlocked();
    for (object& each : lost) each.counted();
    ::usleep(1'100'000);
    newest.uncontended_round();
    record::finish();
    return 0;
  });
  EXPECT_EQ(status, 0);
  const contents c = read_record(dir.file());
  EXPECT_EQ(c.locks.at(1).hold_samples, 1u);
  EXPECT_GE(milliseconds(c, c.locks.at(1).hold_max), 1'200);
  EXPECT_EQ(c.locks.at(7).hold_samples, 1u);
}

TEST(RecordThinning, MoreHoldsThanThereIsRoomForLeaveTheOuterOnesAlone) {
  const contents c = nested(6, {5, 4, 3, 2, 1, 0});
  for (unsigned n = 0; n < 6; ++n)
    EXPECT_EQ(c.locks.at(n + 1).hold_samples, n < 4 ? turns : 0u) << n;
}

// ---- acquisitions that each thread counts by itself ---------------------------------------------

// A stand-in for a reader-writer lock that readers take, as the preload library counts them.
struct shared_object {
  std::uint32_t count = 0;
  std::uint32_t slot = 0;

  bool taken() {
    if (record::counted_by_thread(this)) return true;
    const std::uint32_t n = __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
    if (record::is_sampled(n))
      record::counted(record::object_kind::rwlock, 0, this, &slot, &count, n);
    if (record::may_be_measured(this)) record::released(this, slot, false);
    return false;
  }
};

TEST(RecordThinning, WhatThreadsCountByThemselvesIsExact) {
  static constexpr unsigned threads = 4, rounds = 30'000;
  scratch dir;
  const int status = in_child([&] {
    static shared_object busy[12], calm;  // more than a thread counts by itself
    if (!record::start(dir.file().c_str(), "auto", "park")) return 1;
    static std::atomic<unsigned> by_thread, done;
    static std::atomic<bool> over;
    std::vector<std::thread> pool;
    for (unsigned t = 0; t < threads; ++t)
      pool.emplace_back([t] {
        record::thread_begin(0);
        for (unsigned i = 0; i < rounds; ++i)
          for (shared_object& o : busy) by_thread += o.taken() ? 1 : 0;
        for (unsigned i = 0; i < 100; ++i) calm.taken();
        if (t != 0) return record::thread_end();
        ++done;  // this one still runs at the end
        while (!over) std::this_thread::yield();
      });
    for (unsigned t = 1; t < threads; ++t) pool[t].join();
    while (done == 0) std::this_thread::yield();
    record::finish();
    over = true;
    pool[0].join();
    return by_thread > 0 ? 0 : 2;
  });
  ASSERT_EQ(status, 0);
  const contents c = read_record(dir.file());
  ASSERT_EQ(c.locks.size(), 1u + 12 + 1);
  for (const auto& [id, e] : c.locks) {
    const bool is_calm = e.acquisitions == threads * 100u;
    EXPECT_TRUE(id == 0 || is_calm || e.acquisitions == threads * rounds) << e.acquisitions;
  }
  EXPECT_EQ(c.acquisitions(), threads * (12 * rounds + 100u));
}

TEST(RecordThinning, AThreadCountsNoOtherLockThatCameToTheAddress) {
  static constexpr unsigned rounds = 20'000;
  scratch dir;
  const int status = in_child([&] {
    static shared_object one;
    if (!record::start(dir.file().c_str(), "auto", "park")) return 1;
    bool by_thread = false;
    for (unsigned i = 0; i < rounds; ++i) by_thread = one.taken();
    if (!by_thread) return 2;
    record::object_destroyed(record::object_kind::rwlock, &one, &one.slot, one.count);
    one = {};
    static int other_place;
    record::object_created(record::object_kind::rwlock, 0, &one, &one.slot, &other_place);
    if (one.taken()) return 3;
    for (unsigned i = 1; i < 100; ++i) one.taken();
    record::finish();
    return 0;
  });
  ASSERT_EQ(status, 0);
  const contents c = read_record(dir.file());
  ASSERT_EQ(c.locks.size(), 3u);
  EXPECT_EQ(c.locks.at(1).acquisitions, rounds);
  EXPECT_EQ(c.locks.at(2).acquisitions, 100u);
}

// ---- waits --------------------------------------------------------------------------------------

TEST(RecordThinning, ShortWaitsAreCountedWithoutMeasuringTheirHolds) {
  constexpr unsigned rounds = 20'000;
  scratch dir;
  const int status = in_child([&] {
    static object one;
    if (!record::start(dir.file().c_str(), "auto", "park")) return 1;
    unsigned measured = 0;
    for (unsigned i = 0; i < rounds; ++i) {
      record::wait w = record::wait_begin(record::wait_kind::mutex, one.id(), 7);
      record::wait_end(w, &one);
      const std::uint64_t ended = record::hold_ends(&one, false);
      if (ended != 0) record::released(&one, one.slot, false, ended);
      measured += ended != 0 ? 1 : 0;
    }
    record::wait w = record::wait_begin(record::wait_kind::mutex, one.id(), 7);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    record::wait_end(w, &one);
    if (record::hold_ends(&one, false) == 0) return 2;  // after a long one it is
    record::finish();
    return measured >= 256 && measured < rounds / 4 ? 0 : 3;
  });
  ASSERT_EQ(status, 0);
  EXPECT_EQ(read_record(dir.file()).waits(1), rounds + 1);
}

// Waits on one lock, by way of wait_end() or of wait_end_now(); a long one among many short ones.
template <class End>
void expect_long_waits_stand_for_themselves(End end) {
  constexpr unsigned rounds = 20'000, long_every = 1000;
  scratch dir;
  std::uint64_t long_ones[3] = {};  // how many, their ticks, how long is long
  int channel[2];
  ASSERT_EQ(::pipe(channel), 0);
  const int status = in_child([&] {
    static object one;
    if (!record::start(dir.file().c_str(), "auto", "park")) return 1;
    const std::uint64_t long_wait = long_ones[2] = record::milliseconds(1);
    // As in a program that has run for long, whose short waits become ever fewer events.
    {
      const record::entry inside;
      record::event_budget& budget = record::this_thread()->wait_events;
      for (std::uint64_t at = 0; at != 20'000; ++at) (void)budget.allows_beginning(at * long_wait);
    }
    for (unsigned i = 0; i < rounds; ++i) {
      record::wait w = record::wait_begin(record::wait_kind::mutex, one.id(), 7);
      if (i % long_every == 0) std::this_thread::sleep_for(std::chrono::milliseconds(3));
      end(w, &one);
      if (w.end - w.start < long_wait) continue;
      ++long_ones[0];
      long_ones[1] += w.end - w.start;
    }
    record::finish();
    return ::write(channel[1], long_ones, sizeof long_ones) == sizeof long_ones ? 0 : 2;
  });
  ASSERT_EQ(status, 0);
  ASSERT_EQ(::read(channel[0], long_ones, sizeof long_ones), ssize_t{sizeof long_ones});
  ::close(channel[0]);
  ::close(channel[1]);
  const contents c = read_record(dir.file());
  std::uint64_t count = 0, ticks = 0, shorter = 0, with_stack = 0;
  for (const auto& e : c.events) {
    const std::uint64_t length = e.item.end - e.item.start;
    if (e.item.kind != static_cast<std::uint8_t>(record::event_kind::wait)) continue;
    if (length < long_ones[2]) {
      shorter += e.item.weight;
      continue;
    }
    count += e.item.weight;
    ticks += e.item.weight * length;
    with_stack += e.item.stack != 0 ? 1 : 0;
  }
  EXPECT_GT(with_stack, count / 2);  // as the budget allows
  EXPECT_EQ(count, long_ones[0]);
  EXPECT_EQ(ticks, long_ones[1]);
  EXPECT_EQ(c.waits(1), rounds);
  EXPECT_LE(count + shorter, rounds);
  EXPECT_GT(shorter, rounds / 2);
}

TEST(RecordThinning, LongWaitsForLocksStandForThemselves) {
  expect_long_waits_stand_for_themselves([](record::wait& w, object* o) {
    record::wait_end(w, o);
    if (record::may_be_measured(o)) record::released(o, o->slot, false);
  });
}

TEST(RecordThinning, LongOtherWaitsStandForThemselves) {
  expect_long_waits_stand_for_themselves([](record::wait& w, object*) { record::wait_end_now(w); });
}

}  // namespace
}  // namespace record_test
