// guard_epochs.h -- when does a lock's choice stop paying? A pure decision, epoch by epoch.
//
// An epoch is a stretch of time in which one lock was acquired with one algorithm. Now and then an
// epoch with the fallback is compared with the epoch of the choice just before it, so that both see
// the same load. The one with more acquisitions in the same time is better; where both had as many,
// the one with less waiting by acquisition.
//
// Invariants
//   I1  A choice is given up only after `losses_needed` comparisons in a row that it lost by more
//       than the margin; once given up, the lock keeps its fallback.
//   I2  Of an undecided lock's epochs with the choice, at most `longest_gap` follow each other
//       without a comparison, and between two comparisons lies at least one.
//   I3  An epoch with fewer than `least_acquisitions` decides nothing: the next one goes on.
#pragma once

#include <cstdint>

namespace syncopate::shim {

struct epoch_tally {
  std::uint64_t acquisitions = 0;
  std::uint64_t waits = 0;
  std::uint64_t wait_ticks = 0;  // within the epoch
  std::uint64_t ticks = 0;       // the epoch's length

  [[nodiscard]] double wait_by_acquisition() const noexcept { return by_acquisition(wait_ticks); }
  [[nodiscard]] double time_by_acquisition() const noexcept { return by_acquisition(ticks); }
  [[nodiscard]] double by_acquisition(std::uint64_t of) const noexcept {
    return acquisitions == 0 ? 0.0 : static_cast<double>(of) / static_cast<double>(acquisitions);
  }
};

enum class guard_step : std::uint8_t {
  stay,            // the same algorithm for another epoch
  try_fallback,    // one epoch with the fallback
  back_to_choice,  // the comparison is over
  give_up,         // the fallback for good
};

// What one lock's guard remembers. All zero: nothing yet.
struct guard_history {
  static constexpr std::uint64_t least_acquisitions = 64;
  static constexpr std::uint64_t least_waits = 16;  // of the choice, to be worth a comparison
  static constexpr double heavy_wait = 20'000;      // or such waits: ticks by acquisition, 10 us
  static constexpr std::uint8_t losses_needed = 3;
  static constexpr std::uint8_t longest_gap = 64;  // epochs between two comparisons
  static constexpr double margin = 1.1;            // below it a difference is noise
  static constexpr double alarm = 4.0;             // times the usual wait: compare now

  bool on_fallback = false, given_up = false;
  std::uint8_t losses = 0;   // in a row
  std::uint8_t gap = 0;      // epochs with the choice between two comparisons
  std::uint8_t since = 0;    // such epochs since the last one
  double choice_wait = 0;    // ticks by acquisition, in the last epoch with the choice
  double choice_time = 0;    // the same of its length
  double fallback_wait = 0;  // both in the last one with the fallback
  double fallback_time = 0;
  double usual_wait = 0;  // of the choice: moving mean

  // What to do after an epoch with `seen`. Changes the history accordingly.
  guard_step after(const epoch_tally& seen) noexcept {
    if (given_up || seen.acquisitions < least_acquisitions) return guard_step::stay;  // I3
    return on_fallback ? after_fallback(seen) : after_choice(seen);
  }

 private:
  guard_step after_choice(const epoch_tally& seen) noexcept {
    choice_wait = seen.wait_by_acquisition();
    choice_time = seen.time_by_acquisition();
    const bool alarming = usual_wait > 0 && choice_wait > alarm * usual_wait;
    usual_wait = usual_wait == 0 ? choice_wait : (7 * usual_wait + choice_wait) / 8;
    if (since < longest_gap) ++since;
    if (seen.waits < least_waits && choice_wait < heavy_wait) return guard_step::stay;
    if (since < gap && !alarming) return guard_step::stay;
    on_fallback = true;
    return guard_step::try_fallback;
  }

  [[nodiscard]] bool has_lost() const noexcept {
    if (choice_time > margin * fallback_time) return true;
    if (fallback_time > margin * choice_time) return false;
    return choice_wait > margin * fallback_wait;
  }

  guard_step after_fallback(const epoch_tally& seen) noexcept {
    fallback_wait = seen.wait_by_acquisition();
    fallback_time = seen.time_by_acquisition();
    since = 0;
    if (!has_lost()) {
      losses = 0;
      gap = gap == 0 ? 1 : gap < longest_gap / 2 ? static_cast<std::uint8_t>(2 * gap) : longest_gap;
    } else if (++losses == losses_needed) {
      given_up = true;
      return guard_step::give_up;
    } else {
      gap = 1;
    }
    on_fallback = false;
    return guard_step::back_to_choice;
  }
};

}  // namespace syncopate::shim
