// record_contents_test.cpp -- what the recorder writes is what happened: counts, waits, identities.
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <ucontext.h>

#include <cerrno>
#include <new>
#include <set>
#include <thread>

#include "record_support.h"

namespace record_test {
namespace {

TEST(Record, CountsEveryAcquisitionAndEveryWaitOfEveryThread) {
  static constexpr unsigned threads = 4, objects = 200, rounds = 300;
  scratch dir;
  const int status = in_child([&] {
    static object shared[objects];
    if (!record::start(dir.file().c_str(), "auto", "park")) return 1;
    std::vector<std::thread> pool;
    for (unsigned t = 0; t < threads; ++t)
      pool.emplace_back([t] {
        record::thread_begin(0);
        // Dealt out to the threads, since these stand-ins exclude nobody.
        for (unsigned i = 0; i < rounds; ++i)
          for (unsigned o = t; o < std::size(shared); o += threads)
            i % 3 == 0 ? shared[o].contended_round(7) : shared[o].uncontended_round();
        record::thread_end();
      });
    for (auto& t : pool) t.join();
    record::finish();
    return 0;
  });
  ASSERT_EQ(status, 0);
  const contents c = read_record(dir.file());
  EXPECT_EQ(c.header.flags & record::finished, record::finished);
  EXPECT_STREQ(c.header.lock, "auto");
  EXPECT_STREQ(c.header.wait, "park");
  EXPECT_EQ(c.threads.size(), threads + 1);
  ASSERT_EQ(c.locks.size(), objects + 1);  // and lock 0
  for (const auto& [id, e] : c.locks) {
    EXPECT_EQ(e.acquisitions, id == 0 ? 0 : rounds) << "lock " << id;
    EXPECT_EQ(c.waits(id), id == 0 ? 0 : rounds / 3) << "lock " << id;
    std::uint64_t held = 0;
    for (const std::uint32_t n : e.hold_histogram) held += n;
    // Whether an acquisition had to wait does not decide whether its hold counts.
    const auto taken = static_cast<std::uint32_t>(e.acquisitions);
    std::uint32_t samples = 0;
    for (std::uint32_t n = 1; n <= taken; ++n) samples += record::is_sampled(n) ? 1 : 0;
    EXPECT_EQ(e.hold_samples, samples);
    EXPECT_EQ(held, taken == 0 ? 0 : taken - record::since_sampled(taken));
  }
  for (const auto& row : c.rows) {
    EXPECT_TRUE(c.threads.contains(row.owner));
    if (row.item.kind == static_cast<std::uint32_t>(record::wait_kind::holder)) continue;
    std::uint64_t waits = 0;
    for (const std::uint32_t n : row.item.histogram) waits += n;
    EXPECT_EQ(waits, row.item.waits);
  }
}

TEST(Record, WeightsOfEventsNeverSayMoreThanTheRows) {
  constexpr unsigned rounds = 20'000;
  scratch dir;
  const int status = in_child([&] {
    static object one;
    if (!record::start(dir.file().c_str(), "auto", "park")) return 1;
    for (unsigned i = 0; i < rounds; ++i) one.contended_round(42);
    record::finish();
    return 0;
  });
  ASSERT_EQ(status, 0);
  const contents c = read_record(dir.file());
  std::uint64_t waits = 0, holds = 0;
  for (const auto& e : c.events) {
    EXPECT_GE(e.item.weight, 1);
    EXPECT_LE(e.item.start, e.item.end);
    const bool is_wait = e.item.kind == static_cast<std::uint8_t>(record::event_kind::wait);
    (is_wait ? waits : holds) += e.item.weight;
    if (is_wait) {
      EXPECT_EQ(e.item.holder, 42u);
    }
    if (e.item.stack != 0) {
      EXPECT_TRUE(c.stacks.contains(e.item.stack));
    }
  }
  EXPECT_GE(waits, 256u);  // the burst
  EXPECT_LE(waits, rounds);
  EXPECT_GE(holds, 256u);
  EXPECT_LE(holds, rounds);
  EXPECT_EQ(c.waits(1), rounds);
  EXPECT_LT(c.events.size(), 2u * rounds);
  EXPECT_NE(c.header.flags & record::sampled, 0u);
}

TEST(Record, StacksLeadToTheirCallersAndMapsNameTheCode) {
  scratch dir;
  const int status = in_child([&] {
    static object one;
    if (!record::start(dir.file().c_str(), "auto", "park")) return 1;
    one.contended_round();
    record::finish();
    return 0;
  });
  ASSERT_EQ(status, 0);
  const contents c = read_record(dir.file());
  const auto here = reinterpret_cast<std::uintptr_t>(&::testing::UnitTest::GetInstance);
  unsigned with_stack = 0;
  for (const auto& e : c.events) {
    if (e.item.stack == 0) continue;
    const record::stack_entry& s = c.stacks.at(e.item.stack);
    EXPECT_GE(s.depth, 5u);  // this test runs well below main()
    EXPECT_LE(s.depth, record::stack_depth);
    EXPECT_LT(s.pc[0] > here ? s.pc[0] - here : here - s.pc[0], 64u << 20);  // in this program
    ++with_stack;
  }
  EXPECT_EQ(with_stack, 2u);  // the waiter's and the holder's
  ASSERT_FALSE(c.maps.empty());
  EXPECT_NE(c.maps[0].find("r-xp"), std::string::npos);
  EXPECT_NE(c.maps[0].find("libc.so"), std::string::npos);
  EXPECT_GT(c.header.capture_ticks, 0u);
}

// Runs `work` on a stack of the program's own, as coroutine libraries do.
void on_foreign_stack(void (*work)()) {
  static ucontext_t here, there;
  static char stack[256 << 10];
  ::getcontext(&there);
  there.uc_stack.ss_sp = stack;
  there.uc_stack.ss_size = sizeof stack;
  there.uc_link = &here;
  ::makecontext(&there, work, 0);
  ::swapcontext(&here, &there);
}

TEST(Record, OnAForeignStackOnlyTheCallerIsTrusted) {
  scratch dir;
  const int status = in_child([&] {
    if (!record::start(dir.file().c_str(), "auto", "park")) return 1;
    on_foreign_stack([] {
      static object one;
      one.contended_round();
    });
    record::finish();
    return 0;
  });
  ASSERT_EQ(status, 0);
  const contents c = read_record(dir.file());
  ASSERT_EQ(c.events.size(), 2u);
  for (const auto& e : c.events) EXPECT_EQ(c.stacks.at(e.item.stack).depth, 1u);
}

TEST(Record, FramePointersAreFollowedOnRequest) {
  scratch dir;
  const int status = in_child([&] {
    ::setenv("SYNCOPATE_STACKS", "fp", 1);
    if (!record::start(dir.file().c_str(), "auto", "park")) return 1;
    static object one;
    one.contended_round();
    record::finish();
    return 0;
  });
  ASSERT_EQ(status, 0);
  const contents c = read_record(dir.file());
  ASSERT_EQ(c.events.size(), 2u);
  for (const auto& e : c.events) EXPECT_GE(c.stacks.at(e.item.stack).depth, 1u);
}

TEST(Record, ASmallProgramMakesASmallRecord) {
  scratch dir;
  const int status = in_child([&] {
    static object one;
    if (!record::start(dir.file().c_str(), "auto", "park")) return 1;
    one.contended_round();
    record::finish();
    return 0;
  });
  ASSERT_EQ(status, 0);
  EXPECT_LE(std::filesystem::file_size(dir.file()), 300u << 10);
}

TEST(Record, MillionsOfObjectsFromOneCreationSiteShareFewEntries) {
  constexpr unsigned objects = 100'000;
  scratch dir;
  const int status = in_child([&] {
    if (!record::start(dir.file().c_str(), "auto", "park")) return 1;
    static object pool[64];
    for (unsigned i = 0; i < objects; ++i) {
      object& o = pool[i % 64];
      record::object_created(record::object_kind::mutex, 0, &o, &o.slot, pool);
      o.count = 0;
      o.uncontended_round();
      o.uncontended_round();
      record::object_destroyed(record::object_kind::mutex, &o, &o.slot, o.count);
    }
    record::finish();
    return 0;
  });
  ASSERT_EQ(status, 0);
  const contents c = read_record(dir.file());
  EXPECT_LE(c.locks.size(), 20u);
  EXPECT_EQ(c.acquisitions(), 2u * objects);
  for (const auto& [id, e] : c.locks)
    if (id != 0) {
      EXPECT_EQ(e.flags, record::created | record::destroyed);
      EXPECT_NE(e.create_stack, 0u);
    }
}

// A thread that takes a lock of each of its many connections now and then waits for another one.
TEST(Record, WaitsHaveRoomWhereAThreadHasTakenManyLocks) {
  scratch dir;
  const int status = in_child([&] {
    if (!record::start(dir.file().c_str(), "auto", "park")) return 1;
    static object many[20'000], late;
    for (object& o : many) o.uncontended_round();
    late.contended_round();
    record::finish();
    return 0;
  });
  ASSERT_EQ(status, 0);
  const contents c = read_record(dir.file());
  EXPECT_EQ(c.locks.size(), 20'002u);
  EXPECT_EQ(c.waits(20'001), 1u);
  EXPECT_LE(c.rows.size(), 16'384u + 26);
}

TEST(Record, ObjectsThatNobodyUsesTakeNoEntry) {
  scratch dir;
  const int status = in_child([&] {
    if (!record::start(dir.file().c_str(), "auto", "park")) return 1;
    static object many[1000];
    for (object& o : many) record::object_created(record::object_kind::mutex, 0, &o, &o.slot);
    many[500].contended_round();
    record::finish();
    return 0;
  });
  ASSERT_EQ(status, 0);
  const contents c = read_record(dir.file());
  ASSERT_EQ(c.locks.size(), 2u);
  EXPECT_EQ(c.locks.at(1).flags, record::created);
}

TEST(Record, MemoryUsedAgainWithoutDestroyKeepsOneEntryPerAddress) {
  scratch dir;
  const int status = in_child([&] {
    if (!record::start(dir.file().c_str(), "auto", "park")) return 1;
    static object o;
    for (int i = 0; i < 1000; ++i) {  // std::mutex has neither an init nor a destroy call
      o = {};
      o.uncontended_round();
    }
    record::finish();
    return 0;
  });
  ASSERT_EQ(status, 0);
  const contents c = read_record(dir.file());
  EXPECT_EQ(c.locks.size(), 2u);
  EXPECT_EQ(c.acquisitions(), 1000u);
}

// A std::mutex of one class where one of another was: what happens to the one is not the other's.
// Objects of either class share an entry.
[[gnu::noinline]] void use_here(object& o) {
  o.uncontended_round();
  asm volatile("" : : : "memory");  // no tail call
}
[[gnu::noinline]] void use_there(object& o) {
  o.contended_round();
  asm volatile("" : : : "memory");
}

TEST(Record, MemoryOfAnotherClassOfObjectsIsAnotherObject) {
  constexpr unsigned times = 100;
  scratch dir;
  const int status = in_child([&] {
    static object place, other_place;
    if (!record::start(dir.file().c_str(), "auto", "park")) return 1;
    for (unsigned i = 0; i < times; ++i) {
      place = {};
      use_here(place);
      place = other_place = {};
      use_there(place);
      use_there(other_place);
    }
    record::finish();
    return 0;
  });
  ASSERT_EQ(status, 0);
  const contents c = read_record(dir.file());
  ASSERT_EQ(c.locks.size(), 1u + 3);
  std::multiset<std::uint64_t> acquisitions, waits;
  for (const auto& [id, e] : c.locks) {
    acquisitions.insert(e.acquisitions);
    waits.insert(c.waits(id));
  }
  EXPECT_EQ(acquisitions, (std::multiset<std::uint64_t>{0, times, times, times}));
  EXPECT_EQ(waits, (std::multiset<std::uint64_t>{0, 0, times, times}));
}

TEST(Record, ACopiedSlotIsNotBelieved) {
  scratch dir;
  const int status = in_child([&] {
    if (!record::start(dir.file().c_str(), "auto", "park")) return 1;
    static object original, copy;
    original.contended_round();
    copy = original;
    const bool distinct = copy.id() != original.id();
    record::finish();
    return distinct ? 0 : 2;
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(read_record(dir.file()).locks.size(), 3u);
}

TEST(Record, ObjectsWithoutASlotAreFoundByAddressAndKind) {
  constexpr std::uint32_t words = 5000;
  scratch dir;
  const int status = in_child([&] {
    if (!record::start(dir.file().c_str(), "auto", "park")) return 1;
    static char memory[words];
    std::vector<std::uint32_t> ids;
    for (char& c : memory)
      ids.push_back(record::identify(record::object_kind::futex, 0, &c, nullptr));
    if (record::identify(record::object_kind::spinlock, 0, memory, nullptr) == ids[0]) return 2;
    for (std::uint32_t i = 0; i < words; i += 2)
      record::object_destroyed(record::object_kind::futex, &memory[i], nullptr, 0);
    for (std::uint32_t i = 0; i < words; ++i)
      if (record::identify(record::object_kind::futex, 0, &memory[i], nullptr) != ids[i]) return 3;
    record::wait w = record::wait_begin(record::wait_kind::futex, ids[9], 0);
    record::wait_end_now(w);
    record::finish();
    return 0;
  });
  ASSERT_EQ(status, 0);
  const contents c = read_record(dir.file());
  EXPECT_EQ(c.locks.size(), words + 2);
  ASSERT_EQ(c.rows.size(), 1u);
  EXPECT_EQ(c.rows[0].item.kind, static_cast<std::uint32_t>(record::wait_kind::futex));
  EXPECT_EQ(c.rows[0].item.waits, 1u);
}

TEST(Record, AReleaseHasARowAndIsNoPartOfTheHold) {
  scratch dir;
  const int status = in_child([&] {
    static object one;
    if (!record::start(dir.file().c_str(), "auto", "park")) return 1;
    one.counted();  // starts the sample of a hold
    const std::uint64_t ended = record::hold_ends(&one, true);
    if (ended == 0) return 2;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // waking somebody
    record::released(&one, one.slot, true, ended);
    if (record::hold_ends(&one, false) != 0) return 3;  // no sample: nothing to tell
    record::finish();
    return 0;
  });
  ASSERT_EQ(status, 0);
  const contents c = read_record(dir.file());
  ASSERT_FALSE(c.rows.empty());  // before it, one of the hold, where preemptions can be told
  const record::wait_row& row = c.rows.back().item;
  EXPECT_EQ(row.kind, static_cast<std::uint32_t>(record::wait_kind::release));
  EXPECT_EQ(row.waits, 1u);
  ASSERT_EQ(c.locks.size(), 2u);
  EXPECT_EQ(c.locks.at(1).hold_samples, 1u);
  EXPECT_EQ(c.waits(1), 0u);
  ASSERT_EQ(c.events.size(), 1u);
  const record::event& hold = c.events[0].item;
  EXPECT_EQ(hold.end - hold.start, c.locks.at(1).hold_sum);  // not its end plus 20 ms
  EXPECT_GT(row.wait_sum, 0u);
  // Of the release's 20 ms the thread slept most.
  EXPECT_GT(hold.on_processor, 0u);
  EXPECT_LT(hold.on_processor, row.wait_sum / 2);
}

TEST(Record, ObjectsWhoseMemoryIsGoneDoNotHurtTheEnd) {
  scratch dir;
  const int status = in_child([&] {
    if (!record::start(dir.file().c_str(), "auto", "park")) return 1;
    static object before, after;
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    for (int i = 0; i < 10; ++i) {
      before.uncontended_round();
      void* memory =
          ::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      (new (memory) object)->uncontended_round();
      ::munmap(memory, page);
      after.uncontended_round();
    }
    record::finish();
    return 0;
  });
  ASSERT_EQ(status, 0);
  const contents c = read_record(dir.file());
  EXPECT_EQ(c.acquisitions(), 30u);
  EXPECT_NE(c.header.flags & record::finished, 0u);
}

// What is kept of their wakes could look like where a count is.
TEST(Record, ASharedSemaphoresMemoryIsNoCount) {
  scratch dir;
  const int status = in_child([&] {
    if (!record::start(dir.file().c_str(), "auto", "park")) return 1;
    static std::uint32_t memory[64];
    memory[0] = record::identify(record::object_kind::semaphore, 0, memory, nullptr);
    memory[1] = 200;
    for (unsigned i = 0; i != 64; ++i) record::shared_semaphore_posted(memory, false, 0);
    record::shared_semaphore_taken(memory);
    for (unsigned i = 0; i != 4; ++i) record::shared_semaphore_posted(memory, false, 0);
    record::finish();
    return 0;
  });
  ASSERT_EQ(status, 0);
  EXPECT_EQ(read_record(dir.file()).acquisitions(), 0u);
}

TEST(Record, ThreadsAreAnnouncedNamedAndEnded) {
  scratch dir;
  const int status = in_child([&] {
    if (!record::start(dir.file().c_str(), "auto", "park")) return 1;
    for (int i = 0; i < 3000; ++i) {  // more than have entries of their own
      const std::uint32_t creator = record::capture_creator();
      std::thread([creator] {
        static thread_local object mine;
        record::thread_begin(creator);
        mine.contended_round();
        record::thread_end();
        mine.contended_round();  // after its end: not recorded
      }).join();
    }
    record::finish();
    return 0;
  });
  ASSERT_EQ(status, 0);
  const contents c = read_record(dir.file());
  EXPECT_EQ(c.threads.size(), 2048u);
  // A page of rows and one of events for each entry, however many threads there were.
  EXPECT_LE(std::filesystem::file_size(dir.file()), 2048u * (9u << 10) + (1u << 20));
  std::uint64_t waits = 0;
  for (const auto& row : c.rows)
    if (contents::is_wait(row.item)) waits += row.item.waits;
  EXPECT_EQ(waits, 3000u);
  unsigned running = 0, with_creator = 0;
  for (const auto& [id, t] : c.threads) {
    running += t.end_ticks == 0;
    with_creator += t.start_stack != 0;
    EXPECT_NE(t.name[0], 0);
  }
  EXPECT_EQ(running, 1u);
  EXPECT_GE(with_creator, 1u);
}

TEST(Record, CallsBeforeStartAndAfterFinishDoNothingAndKeepErrno) {
  scratch dir;
  const int status = in_child([&] {
    static object o;
    errno = 77;
    o.contended_round();
    record::thread_begin(0);
    record::thread_end();
    record::finish();
    if (!record::start(dir.file().c_str(), "auto", "park") || errno != 77) return 1;
    o.contended_round();
    record::finish();
    record::finish();
    o.contended_round();
    record::object_destroyed(record::object_kind::mutex, &o, &o.slot, o.count);
    return errno == 77 ? 0 : 2;
  });
  ASSERT_EQ(status, 0);
  EXPECT_EQ(read_record(dir.file()).waits(1), 1u);
}

}  // namespace
}  // namespace record_test
