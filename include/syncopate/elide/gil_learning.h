// gil_learning.h -- what the threads of an elided interpreter lock learn together about its
// yield points: the rules of gil_lengths.h, applied to the table of gil_points.h.
//
// A thread counts by itself, in records that nobody else touches, and tells of some transactions at
// once. Outside of transactions only (gil_points.h, I1).
#pragma once

#include <syncopate/elide/gil_lengths.h>
#include <syncopate/elide/gil_points.h>

#include <cstdint>

namespace syncopate::elide {

template <std::uint32_t Size>
class gil_learning {
 public:
  using points_table = gil_points<Size>;
  using changes = gil_history<4 * Size>;
  // Of a thread: one for each yield point, and for the program.
  static constexpr std::uint32_t records = Size + 1;

  explicit gil_learning(const length_options& options) noexcept : options_(options) {}

  [[nodiscard]] std::uint32_t find(const void* pc) noexcept { return points_.find(pc); }
  [[nodiscard]] const points_table& points() const noexcept { return points_; }
  [[nodiscard]] points_table& points() noexcept { return points_; }
  [[nodiscard]] const changes& history() const noexcept { return history_; }

  // Of the next transaction that begins there.
  [[nodiscard]] std::uint16_t length(std::uint32_t point) const noexcept {
    const std::uint16_t own = points_.state(point).length;
    return own != 0 ? own : common();
  }

  // A transaction begins at the point. Returns its length. now: ticks, for the history.
  [[nodiscard]] std::uint16_t begins(gil_record* mine, std::uint32_t point,
                                     std::uint64_t now) noexcept {
    if (options_.rule == length_rule::balancing) return balanced(mine, point, now);
    const length_state before = points_.state(point);
    const length_state s = lengths::begins(before, options_);
    change(point, before, s, now);
    return s.length;
  }

  // It has aborted for the first time.
  void first_abort(std::uint32_t point, std::uint64_t now) noexcept {
    const length_state known = points_.state(point);
    change(point, known, lengths::first_abort(known, options_), now);
  }

  // The length at the point has cost so much time, in eighths of what a transaction costs. Much at
  // once is learned at once.
  void lose(gil_record* mine, std::uint32_t point, std::uint64_t eighths,
            std::uint64_t now) noexcept {
    if (options_.rule != length_rule::balancing) return;
    const bool judged = points_.state(point).length != 0;
    lose_at(mine[point], point, eighths, now);
    if (!judged) lose_at(mine[program], program, eighths, now);
  }

 private:
  static constexpr std::uint32_t program = points_table::program;
  static constexpr std::uint32_t batch = 16;  // transactions that a thread counts by itself
  static constexpr std::uint32_t most_lost = 1u << 24;

  [[nodiscard]] std::uint16_t balanced(gil_record* mine, std::uint32_t point,
                                       std::uint64_t now) noexcept {
    count(mine[point], point, now);
    if (const std::uint16_t own = points_.state(point).length) return own;
    count(mine[program], program, now);
    return common();
  }

  // The length of points that were not judged yet.
  [[nodiscard]] std::uint16_t common() const noexcept {
    const std::uint16_t learned = points_.state(program).length;
    return learned != 0 ? learned : options_.middle;
  }

  void count(gil_record& mine, std::uint32_t point, std::uint64_t now) noexcept {
    if (++mine.begun >= batch) learn(mine, point, now);
  }

  void lose_at(gil_record& mine, std::uint32_t point, std::uint64_t eighths,
               std::uint64_t now) noexcept {
    const std::uint64_t sum = mine.lost + eighths;
    mine.lost = sum < most_lost ? static_cast<std::uint32_t>(sum) : most_lost;
    if (mine.lost >= 8u * options_.window) learn(mine, point, now);
  }

  void learn(gil_record& mine, std::uint32_t point, std::uint64_t now) noexcept {
    const length_state known = points_.state(point);
    const length_state next = lengths::learn(known, mine.begun, mine.lost, common(), options_);
    change(point, known, next, now);
    mine.begun = mine.lost = 0;
  }

  void change(std::uint32_t point, length_state before, length_state after,
              std::uint64_t now) noexcept {
    if (after == before) return;
    points_.set_state(point, after);
    if (after.length != before.length) history_.add({now, point, after.length});
  }

  const length_options options_;
  points_table points_;
  changes history_;
};

}  // namespace syncopate::elide
