// gather.h -- collects statistics while the program runs.
#pragma once

#include "model/front/program/options.h"
#include "model/simulated/htm/transactions.h"
#include "model/simulated/kernel/thread.h"
#include "model/simulated/memory/flat_map.h"
#include "statistics.h"

#include <cstdint>
#include <map>
#include <tuple>
#include <unordered_map>

namespace syncopate::simulated {

struct world;

class gatherer {
 public:
  explicit gatherer(world&);

  void accessed(thread& t, cycles begun) {
    if (t.clock - begun <= hit_) [[likely]]
      return;
    ++t.slow;
    t.stalled += t.clock - begun - hit_;
  }
  // `at` is about to be written by an atomic operation.
  void atomic_write(thread& t, engine::address at, bool read_too) {
    writers& known = writers_[at];
    if (known.last != t.index + 1) known = {t.index + 1, known.last};
    if (t.held == at) [[unlikely]]
      holder_writes(t, read_too);
  }
  // The thread that last wrote the word atomically, but for those that then began to wait for it:
  // for most locks the holder. -1: none did.
  [[nodiscard]] int last_writer(engine::address at);

  void wait_began(thread&);  // a poll
  void poll_ended(thread&);
  void park_began(thread&, std::size_t waiters);
  void park_ended(thread&);
  void stretch_ended(const thread&, cycles at);
  void thread_ended(thread&);
  void transaction_began(const transaction&);
  void transaction_committed(const thread&);
  void transaction_aborted(const thread&, const abort_reason&);
  void mark(const thread&, const char* name, std::uint64_t count);

  // Everything, as of `at`, when the run is over.
  statistics results(cycles at);

 private:
  wait_statistics& wait_of(const thread&, engine::address, wait_kind);
  void wait_ended(thread&, engine::address, wait_kind, bool timed_out, std::uint64_t looks);
  void holder_writes(thread&, bool read_too);
  void waits_for(thread&, engine::address);
  transaction_statistics& transaction_of(engine::place);
  void add_span(const span&);

  world& world_;
  const cycles hit_;
  const bool timeline_;
  const bool native_time_, charges_native_;
  bool samples_native() const {
    return native_time_ || charges_native_ || !instrument::option_enabled("QUIET");
  }
  statistics kept_;  // waits, transactions, aborts, marks, timeline
  std::unordered_map<std::uint64_t, std::size_t> wait_index_;
  std::unordered_map<std::uint64_t, std::size_t> waiting_now_;
  std::unordered_map<engine::place, std::size_t> transaction_index_;
  using abort_key =
      std::tuple<abort_cause, unsigned char, engine::place, engine::place, std::uintptr_t>;
  std::map<abort_key, std::size_t> abort_index_;
  struct writers {
    std::uint32_t last = 0, before = 0;  // thread indices + 1
  };
  flat_map<writers> writers_;
};

}  // namespace syncopate::simulated
