// flag_pair.h -- what two participants of a barrier tell each other: one miss per episode.
//
// Source        Hensgen, Finkel & Manber, IJPP 17(1), 1988 (a flag each, read by the other). How we
//               deviate: each participant has two flags, for odd and for even episodes, and owns
//               the next one's cache line before it arrives; the other does not look at once.
//               With one flag each, an arrival has to take the line from whoever polls it, who
//               then has to fetch it again: two misses one after the other, or twice the time when
//               both arrive together (*measured* on a Xeon of 2023: 90 and 150 ns).
// Space         768 B.
//
// Invariants
//   I1  flags_[p][e % 2] is written by p only, and holds the last episode of that parity at which p
//       has arrived. Nobody arrives at e + 2 before both have left e: so whoever waits for e finds
//       e there, or an older one.
//
// Memory order (each tag stands at its site below)
//   [R]  release store of a flag -- synchronizes with the acquire load of flag_of() by the other.
//   [X]  relaxed: nobody is there.
#pragma once

#include <syncopate/machine.h>

#include <atomic>
#include <cassert>
#include <cstdint>

namespace syncopate {

class flag_pair {
 public:
  // Arrives at the next episode and returns its number, 1 at first.
  std::uint64_t arrive(std::uint32_t participant) noexcept {
    const std::uint64_t episode = ++arrivals_[participant].value;
    auto& flag = flags_[participant][episode % 2].value;
    flag.store(episode, std::memory_order_release);  // [R]
    machine::demote(&flag);
    return episode;
  }

  // Asserts the invariants. Requires: both have left the last episode.
  void check_invariants() const noexcept {
    const std::uint64_t last = arrivals_[0].value;
    assert(arrivals_[1].value == last);
    for ([[maybe_unused]] const auto& its : flags_)
      for (std::uint64_t episode = last - (last > 0 ? 1 : 0); episode <= last; ++episode)
        assert(its[episode % 2].value.load(std::memory_order_relaxed) == episode);  // I1 [X]
  }

  // What reaches `episode` when the participant arrives at it.
  [[nodiscard]] const std::atomic<std::uint64_t>& flag_of(std::uint32_t participant,
                                                          std::uint64_t episode) const noexcept {
    return flags_[participant][episode % 2].value;
  }

  // To be called between one's arrival and the first look at the other's flag. A look that comes
  // before the other's store takes the line from it, and then that store takes long; so both stores
  // get the time to be done where both arrive together.
  static void let_arrive() noexcept { machine::spin(steps_to_arrive); }

  // To be called when `episode` is over: takes the line of the participant's next flag.
  void prepare_next(std::uint32_t participant, std::uint64_t episode) const noexcept {
    machine::prefetch_to_write(&flags_[participant][(episode + 1) % 2]);
  }

 private:
  // 33 ns on the Xeon; 1 to 3 are as good, 0 takes half as long again (bench/openmp_goals.py).
  static constexpr std::uint32_t steps_to_arrive = 2;

  // 128: processors fetch lines in pairs.
  struct alignas(128) flag {
    std::atomic<std::uint64_t> value{0};
  };
  struct alignas(128) own_count {
    std::uint64_t value = 0;
  };

  flag flags_[2][2];
  own_count arrivals_[2];  // each read and written by its participant only
};

}  // namespace syncopate
