// trials.h -- what `auto` learns: which way of running transactions commits most per second.
//
// Nothing but arithmetic on times and counts that the caller gives; who calls, and what a way is,
// is adaptive.cpp's affair.
//
// Where hardware transactions commit, they are one of the ways, and tried first.
//
// Long transactions run side by side as long as few of them abort, from the first trial on that
// shows them: there are too few to compare rates soon. That is done later, without slices, which
// gain nothing then. For others, an
// experiment runs each way for a while, in turn, and where a challenger won, or all is new, those
// that were close once more in the opposite order: one run is about as long as a scheduler's time
// slice, and the program's own rate may drift. Then the best way stays, and the next experiment
// comes after twice the pause; sooner where the rate falls a lot.
#pragma once

#include "tm/logs/memory.h"

namespace syncopate::tm {

// One transaction at a time, each thread in its turn; the same, a thread alone for a slice of time;
// side by side, under an optimistic algorithm; in hardware transactions, or else one at a time.
enum class way : int { in_turn, in_slices, side_by_side, in_hardware };
inline constexpr int ways = 4;

class trials {
 public:
  static constexpr u64 millisecond = 1'000'000;
  static constexpr u64 trial = 4 * millisecond;
  static constexpr u64 glance =
      millisecond;                         // into a trial: what is plain then needs no more of it
  static constexpr double hopeless = 2.0;  // so much slower than the best of the round
  static constexpr u64 warm_up = 2 * millisecond;  // logs grow, records are touched
  static constexpr u64 watch = 40 * millisecond;   // a rate between experiments
  static constexpr u64 first_pause = 100 * millisecond;
  static constexpr u64 longest_pause = 10'000 * millisecond;
  static constexpr u64 long_pause = 1'000 * millisecond;  // the first one, of long transactions
  static constexpr double doubtful = 1.5;                 // closer than this, another round decides
  static constexpr double worth_it = 1.05;                // a change has to win by this much
  // Commits in a trial: each takes longer than 30 us. Fewer say too little, since such transactions
  // differ in length. *Measured*: bayes of the STAMP-like programs commits 10 to 25 a millisecond.
  static constexpr u64 few = 128;

  // From the next experiment on, transactions may be tried in hardware.
  void allow_hardware() noexcept { has_hardware_ = true; }

  // To be called now and then, with the time in nanoseconds, and the commits and aborts until then.
  // Returns the way to run from now on.
  way step(u64 time, u64 commits, u64 aborts) noexcept {
    if (time < due_) return running_;
    aborts_now_ = aborts;
    const bool stale = time - due_ > watch;  // nobody called: there was no contention
    switch (phase_) {
      case phase::idle: begin_experiment(time, commits); break;
      case phase::warming: measure(time, commits, glance, phase::glancing); break;
      case phase::glancing:
        if (const double now = rate(time, commits);
            now * hopeless < best_rate_ || (!settled_ && is_long(now)))
          note(time, commits);
        else phase_ = phase::measuring, due_ = since_ + trial;
        break;
      case phase::measuring:
        if (stale) run(running_, time, commits);
        else if (commits - commits_ < few && time - since_ < 4 * trial && settled_)
          due_ = time + trial;
        else note(time, commits);
        break;
      case phase::holding: hold(time, commits, stale); break;
    }
    return running_;
  }
  // Until then, step() changes nothing.
  [[nodiscard]] u64 due() const noexcept { return due_; }

 private:
  static constexpr way order[ways] = {way::in_hardware, way::in_turn, way::in_slices,
                                      way::side_by_side};
  enum class phase { idle, warming, glancing, measuring, holding };
  static constexpr int number(way w) noexcept { return static_cast<int>(w); }

  void measure(u64 time, u64 commits, u64 length, phase next) noexcept {
    phase_ = next;
    since_ = time;
    commits_ = commits;
    aborts_ = aborts_now_;
    due_ = time + length;
  }
  [[nodiscard]] double rate(u64 time, u64 commits) const noexcept {
    return static_cast<double>(commits - commits_) / static_cast<double>(time - since_);
  }
  static bool is_long(double rate) noexcept { return rate * trial < few; }
  void run(way w, u64 time, u64 commits) noexcept {
    const bool cold = w == way::side_by_side && w != running_;
    running_ = w;
    measure(time, commits, cold ? warm_up : warm_up / 10, phase::warming);
  }

  void begin_experiment(u64 time, u64 commits) noexcept {
    for (int w = 0; w < ways; ++w) sum_[w] = 0, dropped_[w] = false;
    dropped_[number(way::in_slices)] = long_;
    dropped_[number(way::in_hardware)] = !has_hardware_;
    round_ = 0;
    begin_round(time, commits);
  }
  void begin_round(u64 time, u64 commits) noexcept {
    ++round_;
    tried_ = 0;
    best_rate_ = 0;
    run_next(time, commits);
  }
  void note(u64 time, u64 commits) noexcept {
    const double now = rate(time, commits);
    if (!settled_ && is_long(now)) return keep(way::side_by_side, now, time, commits);
    sum_[number(running_)] += now;
    if (now > best_rate_) best_rate_ = now;
    run_next(time, commits);
  }
  // The next way that is still considered; after the last one, the round is judged.
  void run_next(u64 time, u64 commits) noexcept {
    for (; tried_ < ways; ++tried_) {
      const int w = number(order[round_ == 1 ? tried_ : ways - 1 - tried_]);
      if (dropped_[w]) continue;
      ++tried_;
      return run(static_cast<way>(w), time, commits);
    }
    judge(time, commits);
  }

  // All that are not dropped have run in as many rounds.
  void judge(u64 time, u64 commits) noexcept {
    int top = 0, close = 0;
    for (int w = 0; w < ways; ++w)
      if (!dropped_[w] && (dropped_[top] || sum_[w] > sum_[top])) top = w;
    for (int w = 0; w < ways; ++w) {
      dropped_[w] = dropped_[w] || sum_[w] * doubtful < sum_[top];
      close += dropped_[w] ? 0 : 1;
    }
    const int before = number(best_);
    const bool is_clear = close == 1 || (settled_ && top == before);
    if (!is_clear && round_ == 1) return begin_round(time, commits);
    if (!dropped_[before] && sum_[top] < worth_it * sum_[before]) top = before;
    keep(static_cast<way>(top), sum_[top] / round_, time, commits);
  }

  // `expected`: commits per nanosecond.
  void keep(way w, double expected, u64 time, u64 commits) noexcept {
    const bool is_new = w != best_ || !settled_;
    long_ = is_long(expected);
    if (is_new) pause_ = long_ ? long_pause : first_pause;
    else if (pause_ < longest_pause) pause_ *= 2;
    settled_ = true;
    best_ = running_ = w;
    expected_ = expected;
    experiment_at_ = time + pause_;
    fresh_until_ = time + first_pause;
    measure(time, commits, watch, phase::holding);
  }

  void hold(u64 time, u64 commits, bool stale) noexcept {
    if (!stale && is_disappointing(time, commits)) experiment_at_ = fresh_until_;
    if (time >= experiment_at_) return begin_experiment(time, commits);
    measure(time, commits, watch, phase::holding);
  }

  // Not what was expected: the rate has fallen; or those that were taken for long abort, or are not
  // long.
  [[nodiscard]] bool is_disappointing(u64 time, u64 commits) const noexcept {
    const double now = rate(time, commits);
    if (!long_ || running_ != way::side_by_side) return now * doubtful < expected_;
    return 2 * (aborts_now_ - aborts_) > commits - commits_ || !is_long(now);
  }

  way best_ = way::in_turn, running_ = way::in_turn;
  phase phase_ = phase::idle;
  u64 due_ = 0, since_ = 0, commits_ = 0, aborts_ = 0, aborts_now_ = 0;
  double sum_[ways] = {};  // of the rates that were measured, in commits per nanosecond
  double best_rate_ = 0;   // in this round
  bool dropped_[ways] = {};
  int round_ = 0, tried_ = 0;
  bool has_hardware_ = false;
  bool settled_ = false;  // an experiment has chosen best_
  bool long_ = false;     // the transactions are, by the rate that was expected last
  u64 pause_ = 0, experiment_at_ = 0, fresh_until_ = 0;
  double expected_ = 0;
};

}  // namespace syncopate::tm
