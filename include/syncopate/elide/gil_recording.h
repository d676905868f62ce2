// gil_recording.h -- records what threads touch between the yield points of an interpreter
// lock, for papers/workloads/gil_replay.cpp, which runs the record again under every way of
// choosing lengths, on machines that the runtime itself was never built for.
//
// For the emulated machine, whose transactions know their footprints. The recording lock runs
// transactions of one stretch (yield point to yield point) each. What ended under the lock has a
// duration only; what a thread did alone, and what it did outside, is left out.
//
// The file, text, one item a line; a thread's items are in the order in which it did them:
//   syncopate-gil-trace 1
//   thread                 the next ones are of another thread
//   after N                it was outside until N threads had ended
//   s PC ACCESSES LINE...  a stretch that began at the yield point PC: accesses in all, and the
//                          lines of 64 bytes (hexadecimal numbers) touched; those written end in +
//   l PC ACCESSES          a stretch that needed the lock, and about as many accesses
//
// Invariants
//   I1  A thread's items are its own until the report; a transaction appends none.
//   I2  ended_ counts the threads that have detached; joined_ is the largest count that a thread
//       has seen when it came back from outside: what it waited for, and what a thread that it
//       starts afterwards comes after.
// Memory order
//   [P]  release CAS of first_ -- synchronizes with [G]: the list of threads.
//   [G]  acquire load of first_, when all threads have detached.
//   [C]  relaxed: counts; a thread that has seen another's end has synchronized with it elsewhere.
// Checked by    tests/gil/test_gil_trace.py
#pragma once

#include <syncopate/elide/gil.h>

#include <atomic>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

extern "C" unsigned syncopate_htm_footprint(std::uint64_t* lines, unsigned room,
                                            std::uint64_t* accesses) noexcept;

namespace syncopate::elide {

class gil_recorder {
 public:
  // The file's name; null: nothing is recorded.
  [[nodiscard]] static const char* file() noexcept {
    static const char* const name = std::getenv("SYNCOPATE_GIL_TRACE");
    return name != nullptr && *name != '\0' ? name : nullptr;
  }

  static void attached() noexcept {
    if (file() == nullptr) return;
    auto* const t = new thread;
    t->items.push_back({kind::after, joined_.load(std::memory_order_relaxed), 0, {}});  // [C]
    t->next = first_.load(std::memory_order_relaxed);                                   // [P]
    while (!first_.compare_exchange_weak(t->next, t, std::memory_order_release,         // [P]
                                         std::memory_order_relaxed)) {                  // [P]
    }
    mine_ = t;
  }

  static void entered() noexcept {
    if (mine_ == nullptr || mine_->items.size() == 1) return;
    const std::uint64_t ended = ended_.load(std::memory_order_relaxed);  // [C]
    if (ended <= joined_.load(std::memory_order_relaxed)) return;        // [C]
    joined_.store(ended, std::memory_order_relaxed);                     // [C]
    mine_->items.push_back({kind::after, ended, 0, {}});
  }

  static void detached() noexcept {
    if (mine_ == nullptr) return;
    mine_ = nullptr;
    ended_.fetch_add(1, std::memory_order_relaxed);  // [C]
  }

  // In a transaction that is about to commit, and after its commit.
  static void look() noexcept {
    if (mine_ != nullptr) mine_->seen = syncopate_htm_footprint(mine_->lines, room, &mine_->work);
  }
  static void add_transaction(const gil_thread& me) {
    if (mine_ == nullptr) return;
    const std::uint32_t count = mine_->seen < room ? mine_->seen : room;
    mine_->ticks += machine::ticks() - me.since;
    mine_->accesses += mine_->work;
    mine_->items.push_back(
        {kind::stretch, place_of(me), mine_->work, {mine_->lines, mine_->lines + count}});
  }

  // The lock is about to be released.
  static void add_held(const gil_thread& me) {
    if (mine_ == nullptr || !me.fallen) return;
    mine_->items.push_back({kind::locked, place_of(me), machine::ticks() - me.since, {}});
  }

  // Writes the file. Requires: all threads have detached.
  template <class Gil>
  static void report(const Gil& lock) {
    if (file() == nullptr) return;
    std::FILE* const out = std::fopen(file(), "w");
    if (out == nullptr) return std::perror(file());
    std::fputs("syncopate-gil-trace 1\n", out);
    const std::vector<const thread*> threads = all();
    double ticks = 1, accesses = 1;
    for (const thread* t : threads) {
      ticks += static_cast<double>(t->ticks);
      accesses += static_cast<double>(t->accesses);
    }
    for (const thread* t : threads) {
      std::fputs("thread\n", out);
      for (const item& each : t->items) print(each, lock, accesses / ticks, out);
    }
    if (std::ferror(out) != 0 || std::fclose(out) != 0) std::perror(file());
  }

 private:
  enum class kind : unsigned char { after, stretch, locked };
  struct item {
    kind what;
    std::uint64_t where;  // an index of the lock's points; after: how many
    std::uint64_t work;   // accesses; locked: ticks
    std::vector<std::uint64_t> lines;
  };
  static constexpr std::uint32_t room = 4096;
  struct thread {
    std::vector<item> items;
    std::uint64_t ticks = 0, accesses = 0;  // of all transactions
    std::uint64_t work = 0;                 // of the one that is about to commit
    std::uint32_t seen = 0;
    std::uint64_t lines[room];
    thread* next = nullptr;
  };

  static std::uint64_t place_of(const gil_thread& me) noexcept { return me.point; }

  // As they attached.
  static std::vector<const thread*> all() {
    std::vector<const thread*> found;
    const thread* const first = first_.load(std::memory_order_acquire);  // [G]
    for (const thread* t = first; t != nullptr; t = t->next) found.insert(found.begin(), t);
    return found;
  }

  template <class Gil>
  static void print(const item& each, const Gil& lock, double accesses_per_tick, std::FILE* out) {
    if (each.what == kind::after) {
      if (each.where != 0) std::fprintf(out, "after %" PRIu64 "\n", each.where);
      return;
    }
    const auto pc =
        reinterpret_cast<std::uintptr_t>(lock.points().pc(static_cast<std::uint32_t>(each.where)));
    const bool locked = each.what == kind::locked;
    const auto work =
        locked ? static_cast<std::uint64_t>(static_cast<double>(each.work) * accesses_per_tick)
               : each.work;
    std::fprintf(out, "%c %" PRIxPTR " %" PRIu64, locked ? 'l' : 's', pc, work);
    for (const std::uint64_t line : each.lines)
      std::fprintf(out, " %" PRIx64 "%s", line / 2, line % 2 != 0 ? "+" : "");
    std::fputc('\n', out);
  }

  static inline thread_local thread* mine_ = nullptr;
  static inline std::atomic<thread*> first_{nullptr};
  static inline std::atomic<std::uint64_t> ended_{0}, joined_{0};
};

// The machine's transactions, recorded. For the lock of <syncopate/gil.h>.
struct gil_recording_backend : gil_machine_backend {
  static void commit() noexcept {
    gil_recorder::look();
    gil_machine_backend::commit();
    gil_recorder::add_transaction(::syncopate_gil_self);
  }
};

// The lock's own lock.
class gil_recording_lock {
 public:
  void lock() noexcept { lock_.lock(); }
  [[nodiscard]] bool try_lock() noexcept { return lock_.try_lock(); }
  void unlock() noexcept {
    gil_recorder::add_held(::syncopate_gil_self);
    lock_.unlock();
  }

 private:
  auto_lock lock_;
};

using recording_gil = gil<gil_recording_lock, gil_recording_backend, auto_lock>;

}  // namespace syncopate::elide
