// memory.h -- the memory of the explored machine: what an atomic access may read, where in the
// modification order a store may stand, and what either synchronizes with.
//
// Model: the operational form of C++20's memory model without out-of-thin-air reads (RC11: Lahav,
// Vafeiadis, Kang, Hur & Dreyer, PLDI 2017), after Kang, Hur, Lahav, Vafeiadis & Dreyer, POPL 2017,
// without promises.
//   * Each location has a modification order, a list of messages. A store may be inserted anywhere
//     behind what its thread has seen of the location, but not between a read-modify-write and the
//     message it read. Hence stores of different threads need not be reordered by the search.
//   * A thread's view holds, per location, the newest message that happens-before lets it know. A
//     load may read any message that is not older.
//   * A release store's message carries its thread's view and clock; an acquire load joins them. A
//     read-modify-write passes on those of the message it read (release sequence). Fences: a
//     relaxed store carries the view at the last release fence; a relaxed load keeps what it could
//     have acquired for the next acquire fence.
//   * Until C++17, release sequences go on through stores of the thread that began them. Such a
//     store's message carries what its predecessors in the modification order carry of its own
//     thread, until another thread's store comes to stand in between (renew_sequences).
//   * seq_cst: one global view S. An access joins S for its location only, and raises S there; a
//     fence joins S with the thread's view, both ways. With S in the order of execution these are
//     exactly the four conditions of [atomics.order] paragraph 4. There are total orders S that are
//     no order of execution, in which threads' operations follow each other and reads what they
//     read from. Only programs with weaker accesses, too, can tell: for these, S is a graph
//     (sc_graph.h), and seq_cst accesses and fences are acquires and releases here.
// Not modeled: cycles of program order and reads-from (load buffering).
#pragma once

#include "clock.h"

#include "model/front/engine.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace syncopate::explored {

using engine::address;
using engine::place;
using engine::word;

using location_id = std::uint32_t;
using message_id = std::uint32_t;  // in order of creation; 0 is no message

// Which of a location's messages: 0 is the last of the modification order, 1 the one before, ...
// For a store: how many messages will stand behind it. Sets of choices are masks of 64 bits.
using choice = unsigned;
using choices = std::uint64_t;
inline constexpr unsigned max_choices = 56;  // the bits above have other uses

[[nodiscard]] constexpr bool acquires(std::memory_order order) noexcept {
  return order != std::memory_order_relaxed && order != std::memory_order_release;
}
[[nodiscard]] constexpr bool releases(std::memory_order order) noexcept {
  return order == std::memory_order_release || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}

// A view that does not change any more, with the clock that belongs to it.
struct frozen_view {
  clock happened;
  std::uint32_t size;
  const message_id* newest;  // by location
};

// How a message continues the release sequences that its predecessor is in: not at all; those that
// its thread began; all.
enum class continues : std::uint8_t { nothing, its_own, all };

struct message {
  word value;
  location_id where;
  std::uint32_t position;  // in the modification order; grows, has no gaps
  std::uint32_t step;      // 1 + the step that wrote it; 0: it was there before
  thread_index writer;
  bool by_rmw;                  // must stay directly behind its predecessor
  const frozen_view* released;  // null: acquiring it gives nothing
  std::uint64_t time;           // the writer's clock
  continues sequence = continues::nothing;
  const frozen_view* begins = nullptr;  // what it would give without its predecessors
  message_id changed = 0;               // the newest message when `released` last changed
};

struct location {
  address at = 0;
  std::uint8_t bytes = 0;
  bool fresh = true;               // what memory holds now is to become a new first message
  bool has_own_sequences = false;  // some message continues those of its own thread
  std::uint32_t first_position = 1;
  std::vector<message_id> order;  // the modification order
  message_id sc_floor = 0;        // S
  struct sc_move {
    std::uint32_t step;
    message_id from;  // what sc_floor was before
  };
  std::vector<sc_move> sc_moves;  // of S at this location
  struct reading {
    std::uint32_t step;
    message_id floor;        // the oldest message that its thread could have read
    std::uint64_t time = 0;  // the thread's clock
  };
  std::vector<reading> readings;  // all steps that read, for the search
  // Committed transactions read this message, without writing: whoever comes later in the
  // modification order by a locked instruction comes after them (memory::follow_transactions).
  struct transactional {
    message_id read;
    const frozen_view* ended;
  };
  std::vector<transactional> transactions;
  // 1 + the last step of each thread that ..., for the search.
  std::array<std::uint32_t, max_threads> sc_step{};         // was seq_cst
  std::array<std::uint32_t, max_threads> sc_change_step{};  // and moved S
  std::array<std::uint32_t, max_threads> write_step{};
  std::array<std::uint32_t, max_threads> transaction_step{};  // a transaction that depends on it
};

class memory {
 public:
  memory();

  // ---- between executions ---------------------------------------------------------------------
  // s_by_graph: S is not the order of execution (sc_graph.h).
  void reset(bool s_by_graph = false);
  [[nodiscard]] bool has_s_by_graph() const noexcept { return s_by_graph_; }

  // The next accesses are this step's.
  void begin_step(std::uint32_t step) noexcept { step_ = step; }

  // ---- locations ------------------------------------------------------------------------------
  static constexpr location_id none = 0;
  // The location of an atomic access; none if another living location overlaps it.
  location_id find(address at, unsigned bytes);
  // A plain write, an allocation or a release of the bytes: atomic accesses start anew there.
  // Returns whether there have been any.
  bool overwrite(address at, std::size_t bytes) {
    return may_have_location(at, bytes) && overwrite_locations(at, bytes);
  }
  // What memory holds is compared with the last message: a write that nobody told us of makes a
  // new first message.
  void refresh(location_id);
  [[nodiscard]] bool is_overlapped(location_id first, address at, unsigned bytes) const noexcept;
  location& at(location_id id) noexcept { return locations_[id]; }
  [[nodiscard]] const location& at(location_id id) const noexcept { return locations_[id]; }
  message& get(message_id id) noexcept { return messages_[id]; }
  [[nodiscard]] const message& get(message_id id) const noexcept { return messages_[id]; }
  [[nodiscard]] message_id last_message() const noexcept {
    return static_cast<message_id>(messages_.size() - 1);
  }
  // The message that a choice names, and back.
  message_id named(const location& l, choice c) const noexcept {
    return l.order[l.order.size() - 1 - c];
  }

  // ---- threads --------------------------------------------------------------------------------
  struct thread {
    clock happened;
    std::vector<message_id> newest;  // the view, by location
    clock acquirable;                // for the next acquire fence
    std::vector<message_id> acquirable_newest;
    bool has_acquirable = false;
    const frozen_view* fenced = nullptr;  // at the last release fence
    std::uint64_t time = 0;
  };
  thread& of(thread_index t) noexcept { return threads_[t]; }
  [[nodiscard]] const thread& of(thread_index t) const noexcept { return threads_[t]; }
  void begin_thread(thread_index t, const thread* parent, thread_index parent_index);
  // The thread has done something that others may synchronize with: a new epoch begins.
  void tick(thread_index t) noexcept { ++threads_[t].happened.at[t]; }

  // ---- accesses -------------------------------------------------------------------------------
  [[nodiscard]] choices readable(thread_index, location_id, bool seq_cst);
  [[nodiscard]] choices writable(thread_index, location_id, bool seq_cst);
  // Some operation had more messages to choose from than are followed.
  void note_too_many() noexcept { too_many_ = true; }
  [[nodiscard]] bool had_too_many() const noexcept { return too_many_; }
  // Whether a read-modify-write may still stand directly behind the message.
  [[nodiscard]] bool unclaimed(const location& l, choice c) const noexcept;
  // Those of `all` that were written after `since` messages existed.
  [[nodiscard]] choices newer(const location& l, choices all, message_id since) const noexcept;

  // Whether a thread with this clock that may read either message need not read the newer one: it
  // gets the same value from the older one, knows less of others afterwards, and so can do all that
  // it could do otherwise.
  [[nodiscard]] bool stands_for(message_id older, message_id newer, std::uint64_t time,
                                bool by_value = true) const noexcept;
  // Of `all`, those for which no other stands.
  // by_value: the thread gets to know the value.
  [[nodiscard]] choices distinct(thread_index, const location& l, choices all,
                                 bool by_value = true) const noexcept;

  // Both return the message. raised: the access moved S of the location.
  message_id read(thread_index, location_id, choice, std::memory_order, bool& raised);
  message_id write(thread_index, location_id, choice behind, word value, std::memory_order,
                   std::uint32_t step, bool& raised, message_id rmw_of = 0,
                   continues sequence = continues::nothing);
  // The messages that would give less if a store of another thread came to stand before the last
  // `behind` ones: calls f with each.
  template <class F>
  void for_broken(const location& l, choice behind, F f) {
    if (!l.has_own_sequences) return;
    const std::size_t first = l.order.size() - behind;
    for (std::size_t i = first; i < l.order.size(); ++i) {
      const message& m = messages_[l.order[i]];
      if (m.sequence == continues::nothing) return;
      if (!within(m.released, of_sequences(l, i, first))) f(m);
    }
  }
  void fence(thread_index, std::memory_order);
  // What the thread knows, for others to acquire.
  const frozen_view* release(thread_index);
  void acquire(thread_index, const frozen_view&, std::uint64_t time);
  // The thread knows of the message, without having read it.
  void learn(thread_index, location_id, message_id of);

  // ---- transactions ---------------------------------------------------------------------------
  // Between begin_transaction() and one of the other two only this thread acts.
  void begin_transaction(thread_index);
  void roll_back(thread_index);  // locations and the thread's view are as they were
  // Inside: the newest message is read, and acquired.
  message_id read_newest(thread_index, location_id);
  // At the end, for each location that was written, then for all. Messages appear together.
  void write_newest(thread_index, location_id, word value, std::uint32_t step);
  const frozen_view* commit(thread_index);
  void note_transaction(location_id, message_id read, const frozen_view* ended);
  // A locked instruction has written directly behind the message.
  void follow_transactions(thread_index, location_id, message_id behind);

  [[nodiscard]] static word peek(address at, unsigned bytes) noexcept;
  static void poke(address at, unsigned bytes, word value) noexcept;

  // In the modification order; and the newest message that the thread knows.
  [[nodiscard]] std::uint32_t position(message_id m) const noexcept {
    return m == 0 ? 0 : messages_[m].position;
  }
  [[nodiscard]] message_id known(thread_index t, location_id id) const noexcept {
    return seen(threads_[t], id);
  }
  [[nodiscard]] location_id locations() const noexcept { return static_cast<location_id>(used_); }

 private:
  // How many messages, from the end, a thread may still name.
  [[nodiscard]] std::size_t reach(const location& l, message_id floor) const noexcept;
  void raise(message_id& entry, message_id to) const noexcept {
    if (entry != to && position(to) > position(entry)) entry = to;
  }
  void raise_sc(location& l, message_id to) {
    if (l.sc_floor == to || position(to) <= position(l.sc_floor)) return;
    l.sc_moves.push_back({step_, l.sc_floor});
    l.sc_floor = to;
  }
  void join(std::vector<message_id>& newest, const message_id* other, std::size_t size) const;
  const frozen_view* freeze(const clock&, const std::vector<message_id>& newest);
  std::byte* take(std::size_t bytes);
  [[nodiscard]] message_id seen(const thread&, location_id) const noexcept;
  const frozen_view* both(const frozen_view*, const frozen_view*);
  const frozen_view* of_sequences(const location&, std::size_t index, std::size_t first = 0);
  void renew_sequences(location&, std::size_t index);
  [[nodiscard]] bool within(const frozen_view* less, const frozen_view* more) const noexcept;
  [[nodiscard]] bool moves_s(std::memory_order order) const noexcept {
    return order == std::memory_order_seq_cst && !s_by_graph_;
  }

  std::deque<location> locations_;  // the first used_ are this execution's; 0 is none
  std::size_t used_ = 1;
  std::vector<message> messages_;
  std::array<thread, max_threads> threads_;
  std::vector<message_id> both_;  // scratch
  bool too_many_ = false;
  bool s_by_graph_ = false;
  std::uint32_t step_ = 0;

  // The transaction that runs: what is to be put back, and what it has written.
  struct kept_location {
    location_id id;
    location was;
  };
  bool in_transaction_ = false;
  thread before_;
  std::vector<kept_location> kept_;
  std::vector<message_id> written_;
  const frozen_view* last_commit_ = nullptr;  // of any thread

  // Locations by their 16 bytes of memory: chains through next_.
  struct slot {
    address granule = 0;
    std::uint32_t execution = 0;
    location_id first = none;
  };
  slot& slot_of(address granule);
  void grow_slots();
  bool overwrite_locations(address at, std::size_t bytes);
  // A set of granules that has all those with locations, and perhaps others.
  static constexpr unsigned granule_bits = 4;  // no atomic access crosses 16 aligned bytes
  [[nodiscard]] static unsigned filter_bit(address granule) noexcept {
    return static_cast<unsigned>((granule * 0x9e3779b97f4a7c15u) >> 54);
  }
  [[nodiscard]] bool may_have_location(address at, std::size_t bytes) const noexcept {
    if (bytes > 16) return true;
    const auto has = [&](address granule) {
      const unsigned bit = filter_bit(granule);
      return (filter_[bit / 64] >> bit % 64 & 1) != 0;
    };
    return has(at >> granule_bits) || has((at + bytes - 1) >> granule_bits);
  }
  std::array<std::uint64_t, 16> filter_{};
  std::vector<slot> slots_;
  std::size_t slots_used_ = 0;
  std::vector<location_id> next_;
  std::uint32_t execution_ = 1;

  // Frozen views live until the execution ends.
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::size_t block_ = 0, block_used_ = 0;
};

}  // namespace syncopate::explored
