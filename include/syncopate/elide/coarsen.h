// coarsen.h -- several critical sections in one transaction, so that they share the price of
// its begin and commit.
//
// Source: Yoo, Hughes, Lai & Rajwar, "Performance Evaluation of Intel Transactional Synchronization
// Extensions for High-Performance Computing", SC 2013, section 5.2.2, listings 2 and 3 (TXN_GRAN),
// and section 5.4.3, which asks for a granularity that adjusts itself. Ours does by the abort
// statistics, as Odaira, Castanos & Tomari, "Eliminating Global Interpreter Locks in Ruby through
// Hardware Transactional Memory", PPoPP 2014, section 4.3, do for a runtime's transactions; theirs
// only ever shortens.
//
//   coarse_section merged;                    static: the elided sections in this scope are one
//                                             transaction
//   coarsener batch(lock, 8);                 dynamic: 8 iterations a section of `lock`
//   granularity g;                            adaptive: kept where it lives as long as the loop's
//   coarsener batch(lock, g);                 place in the program, one for each thread
//   for (...) batch([&] { ++bins[value]; });
#pragma once

#include <syncopate/elide/control.h>
#include <syncopate/elide/retry_policy.h>
#include <syncopate/elide/section.h>
#include <syncopate/machine.h>

#include <algorithm>

namespace syncopate::elide {

// How many iterations a transaction takes: grows with commits, shrinks with aborts. A pure state
// machine, without a clock: what it answers depends on what it was told alone.
//
// In the steady state one conflict takes back what clean_batches(size) commits have added, so that
// about one transaction in so many aborts. The ratio falls with the size, as the best one does: let
// a transaction cost as much as k iterations and an iteration meet a conflict with probability p.
// Then its price, k/n + pn/2 per iteration, is least at n = sqrt(2k/p), where pn = 2k/n of the
// transactions abort; ours is 8/n. (Odaira et al., section 5.1, found a constant 6 % best for an
// interpreter on the same processor, and 1 % on zEC12.)
class granularity {
 public:
  static constexpr unsigned longest = 1024;  // by default; a batch may also end up under a lock
  static constexpr unsigned forget_after = 4096;  // commits, until a limit is tried again

  // Commits in a row before a batch of this size grows.
  [[nodiscard]] static constexpr unsigned clean_batches(unsigned size) noexcept {
    return std::max(2u, size / 8);
  }

  // Begins with `first` iterations, stays within 1 and `most`. Requires: 1 <= first <= most.
  constexpr explicit granularity(unsigned first = 1, unsigned most = longest) noexcept
      : size_(first), most_(most), limit_(most) {}
  // Never changes.
  [[nodiscard]] static constexpr granularity fixed(unsigned size) noexcept {
    granularity g(size, size);
    g.adaptive_ = false;
    return g;
  }

  [[nodiscard]] constexpr unsigned size() const noexcept { return size_; }

  // A batch has committed as a transaction.
  constexpr void committed() noexcept {
    if (!adaptive_) return;
    if (limit_ != most_ && ++at_limit_ >= forget_after) {
      limit_ = most_;
      at_limit_ = 0;
    }
    if (++clean_ < clean_batches(size_)) return;
    clean_ = 0;
    size_ = std::min(limit_, starting_ ? 2 * size_ : size_ + quarter());
  }

  // A batch has aborted. An explicit abort tells about a lock, not about the length.
  constexpr void aborted(const machine::htm::status& why) noexcept {
    using machine::htm::cause;
    if (!adaptive_ || why.why == cause::explicit_) return;
    starting_ = false;
    clean_ = 0;
    if (why.why == cause::capacity) {
      // This length does not fit, whoever else runs: stay clear of it.
      limit_ = std::max(1u, size_ - std::min(size_ - 1, quarter()));
      at_limit_ = 0;
      size_ = std::max(1u, size_ / 2);
    } else {
      size_ -= std::min(size_ - 1, quarter());
    }
  }

 private:
  [[nodiscard]] constexpr unsigned quarter() const noexcept { return std::max(1u, size_ / 4); }

  unsigned size_, most_, limit_;
  unsigned clean_ = 0;     // commits since the last change
  unsigned at_limit_ = 0;  // commits since the limit was set
  bool starting_ = true;   // nothing has aborted yet: double
  bool adaptive_ = true;
};

// Runs every n-th iteration's end together with the section of `lock` that began n iterations
// before: listing 3, with the last, shorter batch and exceptions taken care of.
//
// Lock is anything with lock() and unlock(): an elided_lock or lockset, so that batches are
// transactions; a coarse_section, whose fall-back is the single sections; or a plain lock.
// What the program does between two iterations is in the section, too. An abort comes back in the
// first iteration of the batch.
template <class Lock>
class coarsener {
 public:
  // Requires: size >= 1.
  coarsener(Lock& lock, unsigned size) noexcept
      : lock_(lock), fixed_(granularity::fixed(size)), size_(&fixed_), shrink_({&fixed_}) {}
  // Requires: no other thread uses `size` meanwhile.
  coarsener(Lock& lock, granularity& size) noexcept
      : lock_(lock), fixed_(granularity::fixed(1)), size_(&size), shrink_({&size}) {}
  coarsener(const coarsener&) = delete;
  coarsener& operator=(const coarsener&) = delete;
  ~coarsener() { finish(); }

  // One iteration. What it throws ends the batch, with what the batch has done so far in effect, as
  // a lock would, and goes on to the caller.
  template <class Iteration>
  void operator()(Iteration&& iterate) {
    if (left_ == 0) {
      lock_.lock();
      left_ = size_->size();
    }
    struct ending {
      coarsener& batch;
      bool thrown = true;
      ~ending() {
        if (thrown) batch.end();
      }
    } early{*this};
    iterate();
    early.thrown = false;
    if (--left_ == 0) end();
  }

  // Ends the batch, however long it is. The next iteration begins another one.
  void finish() {
    if (left_ != 0) end();
  }

 private:
  struct shrinker {
    granularity* size;
    void operator()(const machine::htm::status& why) const noexcept { size->aborted(why); }
  };

  void end() {
    const bool transaction = section::active();
    left_ = 0;
    lock_.unlock();
    if (transaction) size_->committed();
  }

  Lock& lock_;
  granularity fixed_;
  granularity* size_;
  on_abort<shrinker> shrink_;
  unsigned left_ = 0;  // iterations of the batch still to come; an abort takes it back to 0
};

// Static coarsening: from its construction to its end, the elided sections of the calling thread
// are parts of one transaction. When that does not commit, they run as they are written, each by
// itself: the scope has no lock, and gives no atomicity that the program may rely on.
// Also a Lockable, for coarsener.
class coarse_sections {
 public:
  void lock() noexcept {
    if (section::active()) {
      (void)section::begin();
      return;
    }
    if (control::is_off() || control::now() == mode::off) return;
    tally used;
    for (;;) {
      const machine::htm::status s = section::begin();
      if (s.started()) {
        if (control::now() == mode::off) section::abort<abort_code::switched_off>();
        return;
      }
      const decision next = decide(policies::standard, used, s, false);
      if (next.what != next_step::retry && next.what != next_step::wait_then_retry) return;
      used = next.used;
      // A lock inside was held: which one, nobody knows here.
      machine::spin(next.what == next_step::retry ? next.pause : policies::standard.longest_pause);
    }
  }
  void unlock() {
    if (section::active()) section::commit();
  }
};

class coarse_section {
 public:
  coarse_section() noexcept { sections_.lock(); }
  ~coarse_section() { sections_.unlock(); }
  coarse_section(const coarse_section&) = delete;
  coarse_section& operator=(const coarse_section&) = delete;

 private:
  [[no_unique_address]] coarse_sections sections_;
};

}  // namespace syncopate::elide
