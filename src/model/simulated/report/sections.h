// sections.h -- the critical sections of a program: what each reads, writes and calls while its
// lock is really held, and whether it would conflict with those of other threads.
// SYNCOPATE_SECTIONS asks for it; docs/advise.md.
//
// A section of a lock is compared with the last few of each other thread, so memory is bounded
// by locks, threads and the limits in section_totals.h. Left out of the comparison are a thread's
// own stack and thread-local memory, and heap blocks that the earlier section cannot have met:
// allocated after it had begun.
#pragma once

#include "model/simulated/kernel/thread.h"
#include "section_totals.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/front/compiler/critical_sections.h"

namespace syncopate::simulated {

class section_watch final : public instrument::section_observer {
 public:
  explicit section_watch(const description& machine) : machine_(machine) {}

  void accessed(const thread& me, engine::address at, std::size_t bytes, use what,
                engine::place where) {
    if (me.index >= threads_.size() || threads_[me.index].in_lock_code) return;
    for (open_section& each : threads_[me.index].open) each.set.add(at, bytes, what, where);
  }
  void allocated(engine::address at, std::size_t bytes);

  void begun(engine::address lock, bool shared, engine::place where) override;
  void ended(engine::address lock) override;
  void called(const char* function, engine::place where) override;
  void in_lock_code(bool) override;

  [[nodiscard]] std::string json() const;  // docs/advise.md

 private:
  static constexpr std::size_t most_locks = 4096, most_open = 16;
  static constexpr std::int64_t most_kept_words = 1 << 20;  // of 32 bytes

  struct open_section {
    engine::address lock;
    section what;
    access_set set;
  };
  struct of_thread {
    std::vector<open_section> open;
    bool in_lock_code = false;
  };
  struct of_lock {
    lock_totals totals;
    recent_sections recent;
  };
  struct block {
    std::size_t bytes;
    std::uint64_t allocated;  // sections begun by then
  };

  of_thread& running();
  void finish(open_section);
  void compare(of_lock&, const section& earlier, const section& later) const;
  [[nodiscard]] bool is_younger(engine::address, const section&) const;
  void forget_recent();

  const description& machine_;
  std::vector<of_thread> threads_;
  std::map<engine::address, of_lock> locks_;
  std::map<engine::address, block> blocks_;
  std::uint64_t begun_ = 0;
  std::uint64_t not_watched_ = 0;  // sections of locks beyond most_locks
  std::int64_t kept_words_ = 0;
};

// Null unless SYNCOPATE_SECTIONS asks for it.
inline constinit section_watch* watched_sections = nullptr;

void watch_sections(const description&);  // before the program runs
bool report_sections();  // after it; also after a deadlock. Returns: whether it is written

}  // namespace syncopate::simulated
