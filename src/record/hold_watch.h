// hold_watch.h -- the holds of a thread that are being measured, and whether it lost its processor
// in them.
//
// Locks are taken inside each other and released in any order, so that several holds may be under
// way. A new one leaves the others alone: were an outer one given up for it, long holds would be
// the ones missing; were it left out, so would be all of a lock that is only taken where an outer
// one is measured, as two locks that are always taken together are.
#pragma once

#include <cstdint>

#include <syncopate/machine/switch_mark.h>

namespace syncopate::record {

struct thread_state;

// What a hold has to ask the kernel for.
enum class asking : std::uint8_t {
  always,   // at most one system call, and only if the thread was switched since it last asked
  if_free,  // watch only if that takes none
};

struct hold_sample {
  const void* object = nullptr;
  std::uint64_t since = 0;  // ticks
  std::uint32_t id = 0;
  std::uint32_t weight = 0;  // of how many acquisitions it is the sample
  enum : std::uint8_t { unwatched, watching, watched } watch = unwatched;
  std::uint32_t preemptions = 0, sleeps = 0, pages_read = 0;  // while watched
  bool counts_pages = false;
  std::uint32_t pages_given = 0;  // once it has ended; until then, what the kernel counted before
  bool reads = false;             // once it has ended: of a reader-writer lock, for reading

  // Whether it was watched, and kept its processor, but for giving it up by itself.
  [[nodiscard]] bool ran_on() const noexcept { return watch == watched && preemptions == 0; }
};

// One thread's. The calls for one hold are begin(), end_watch(), take().
class hold_samples {
 public:
  // Inside the section. `since`: ticks, 0: what this takes is no part of the hold. Where there is
  // no room it is left out.
  void begin(const void* object, std::uint64_t since, std::uint32_t id, std::uint32_t weight,
             asking) noexcept;
  [[nodiscard]] bool has(const void* object) const noexcept;
  // Before the release; `now`: ticks.
  void end_watch(const void* object, std::uint64_t now, bool reads) noexcept;
  // Behind it; one without an object where there is none.
  hold_sample take(const void* object) noexcept;
  void drop_all() noexcept;

 private:
  static constexpr std::uint32_t most = 4, most_short_ones = 16;

  void drop(std::uint32_t place) noexcept;
  void tell_fast_paths() const noexcept;
  void note_switches() noexcept;
  void note_pages(hold_sample&, std::uint64_t now) noexcept;

  machine::switch_mark mark_;
  std::uint32_t short_ones_ =
      0;  // holds of this thread that counted pages, behind the last long one
  std::uint32_t count_ = 0;
  hold_sample holds_[most];  // the newest one last
};

// Counts a hold that was watched in a row of kind `holder` (format.h). `held`: ticks.
void write_hold_watch(thread_state&, std::uint32_t lock, const hold_sample&,
                      std::uint64_t held) noexcept;

// Finds out how long the kernel takes to give a new page, for write_hold_watch() to tell. Once, at
// the start.
void measure_new_page() noexcept;

}  // namespace syncopate::record
