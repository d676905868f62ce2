// jobs.cpp -- several processes explore one search, and find what one would.
//
// What lies below an alternative of a step depends on the steps before it and on what was tried
// there earlier, no more. So a process that has work further down gives the next alternative of its
// first step that has one to a child. The child is a fork: it explores that alternative to the end
// and tells what it has found, with what its executions ask to be tried before the step
// (search::request). Its parent goes on, and where it comes to that alternative, with the same
// tried before, it takes the findings over as if it had explored it; then the requests, which take
// their effect in the order that one process would give them. Whatever makes the alternative
// another one by then (a thread with a lower number is to be tried first; a loop has turned out to
// be endless), is explored as if nobody had; the child ends.
//
// So the verdict, the counts and the failure are those of one process. A child's failure is
// repeated by its schedule, to be told here. Programs with hardware transactions are not split:
// what a transaction did is not handed over.
//
// Memory order (each tag stands at its site below)
//   [J]  relaxed: a slot is a number; processes that share it share nothing else.
#include "jobs.h"

#include "model/front/libc/signals.h"
#include "model/front/program/runaway.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace syncopate::explored {

// Who runs: a slot for each job. Who waits for a part gives its slot away meanwhile.
struct jobs::shared {
  static constexpr unsigned most = 256;
  std::atomic<pid_t> slots[most];

  int take(unsigned jobs) noexcept {
    for (unsigned i = 0; i < jobs; ++i) {
      pid_t holder = slots[i].load(std::memory_order_relaxed);  // [J]
      // A killed process has not given its own back.
      if (holder != 0 && (::kill(holder, 0) == 0 || errno != ESRCH)) continue;
      if (slots[i].compare_exchange_strong(holder, ::getpid(), std::memory_order_relaxed))  // [J]
        return static_cast<int>(i);
    }
    return -1;
  }
  void give(int slot) noexcept {
    if (slot >= 0) slots[slot].store(0, std::memory_order_relaxed);  // [J]
  }
};

namespace {

constexpr int lowest_descriptor = 200;  // the program's own stay the numbers that they are

bool open_pipe(int (&ends)[2]) {
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  for (int& end : ends)
    if (const int high = ::fcntl(end, F_DUPFD_CLOEXEC, lowest_descriptor); high >= 0) {
      ::close(end);
      end = high;
    }
  return true;
}

void bury(int process) {
  while (::waitpid(process, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

// ---- giving away ------------------------------------------------------------------------------

bool jobs::may_split() const {
  return options_.jobs > 1 && !options_.random && options_.preemptions < 0 &&
         options_.executions == 0 && options_.weaken == 0 && options_.sites.empty() &&
         !verdict_.transactions && !assumed_.begins_anew() &&
         verdict_.executions % options_.split == 0;
}

// The first step with an alternative that nobody explores, if there is another one behind it.
std::optional<std::uint32_t> jobs::step_to_give() {
  const auto has_one = [&](std::uint32_t i) {
    step s = search_.at(i);
    return search_.advance(s);
  };
  const auto is_given = [&](std::uint32_t i) {
    return std::ranges::any_of(parts_, [&](const part& p) { return p.step == i; });
  };
  const auto size = static_cast<std::uint32_t>(search_.steps().size());
  std::uint32_t root = search_.floor();
  while (root < size && (is_given(root) || !has_one(root))) ++root;
  std::uint32_t other = root + 1;
  while (other < size && !has_one(other)) ++other;
  return other < size ? std::optional(root) : std::nullopt;
}

bool jobs::split(const surroundings& around) {
  if (!may_split()) return false;
  if (shared_ == nullptr) {
    void* const memory =
        ::mmap(nullptr, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    shared_ = new (memory) shared{};
    slot_ = shared_->take(options_.jobs);
  }
  const std::optional<std::uint32_t> root = step_to_give();
  if (!root) return false;
  const int slot = shared_->take(std::min(options_.jobs, shared::most));
  return slot >= 0 && give(*root, slot, around);
}

bool jobs::give(std::uint32_t root, int slot, const surroundings& around) {
  int ends[2];
  if (!open_pipe(ends)) {
    shared_->give(slot);
    return false;
  }
  const pid_t parent = ::getpid();
  const pid_t child = ::_Fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    ::close(ends[0]);
    explore_part(root, slot, ends[1], around);
    return true;
  }
  ::close(ends[1]);
  if (child < 0) {
    ::close(ends[0]);
    shared_->give(slot);
    return false;
  }
  part p{root, child, ends[0], search_.at(root), assumed_.now()};
  search_.advance(p.at);
  parts_.push_back(std::move(p));
  return false;
}

void jobs::explore_part(std::uint32_t root, int slot, int result_to, const surroundings& around) {
  shared_->slots[slot].store(::getpid(), std::memory_order_relaxed);  // [J]
  slot_ = slot;
  for (const part& p : parts_) ::close(p.result);
  parts_.clear();
  result_to_ = result_to;
  endless_given_ = assumed_.endless().size();
  search_.confine(root);
  verdict_ = {};
  verdict_.threads = 1;
  if (around.child) around.child();
  if (around.output) around.output(false);  // it may have begun behind the one that is shown
}

// ---- taking over ------------------------------------------------------------------------------

jobs::next jobs::go_on() {
  for (;;) {
    if (assumed_.begins_anew()) {
      abandon();
      if (explores_part()) return next::is_none;
      assumed_.has_begun_anew();
      search_.forget();
      return next::is_here;
    }
    if (!search_.next()) return next::is_none;
    const taken part = take_over();
    if (part == taken::none) return next::is_here;
    if (part == taken::failed) return next::failed;
    if (!verdict_.bound.empty()) return next::is_none;
  }
}

void jobs::abandon() { abandon_from(0); }

void jobs::abandon_from(std::uint32_t step) {
  std::erase_if(parts_, [&](const part& p) {
    if (p.step < step) return false;
    ::kill(p.process, SIGKILL);
    ::close(p.result);
    bury(p.process);
    return true;
  });
}

// Whether the alternative that the search has just come to was explored elsewhere.
jobs::taken jobs::take_over() {
  if (parts_.empty()) return taken::none;
  const auto at = static_cast<std::uint32_t>(search_.steps().size() - 1);
  abandon_from(at + 1);
  const auto p = std::ranges::find_if(parts_, [&](const part& q) { return q.step == at; });
  if (p == parts_.end()) return taken::none;
  const step& s = search_.at(at);
  const bool same = p->at.thread == s.thread && p->at.settled == s.settled &&
                    (!s.settled || p->at.chosen == s.chosen) && p->at.asleep == s.asleep &&
                    p->at.awake == s.awake && p->assumed == assumed_.now();
  if (!same) {
    abandon_from(at);
    return taken::none;
  }
  shared_->give(std::exchange(slot_, -1));
  findings found;
  const bool whole = found.receive(p->result);
  ::close(p->result);
  bury(p->process);
  slot_ = shared_->take(options_.jobs);
  parts_.erase(p);
  if (whole && found.of.usable) return merge(found);
  // The part's process did not come to its end: where time is over, nobody's part does.
  if (instrument::time_is_over == 0) return taken::none;
  verdict_.bound = "time";
  return taken::over;
}

jobs::taken jobs::merge(const findings& f) {
  step& root = search_.at(static_cast<std::uint32_t>(search_.steps().size() - 1));
  root.settled = f.of.settled;
  root.local = f.of.local;
  root.chosen = f.of.chosen;
  root.rest = f.of.rest;
  root.may_be_late = false;
  join(verdict_, f);
  instrument::any_is_unmodeled |= f.of.signals;
  if (f.of.too_many) memory_.note_too_many();
  if (f.of.dropped) search_.note_dropped();
  assumed_.join(f.of.assumed, f.of.begins_anew);
  for (const loop& each : f.endless) assumed_.add_endless(each);
  for (const search::request& r : f.asked) search_.ask(r);
  if (!f.of.failed) return taken::over;
  failed_schedule_ = f.schedule;
  return taken::failed;
}

findings jobs::found_here(bool failed) const {
  findings f;
  f.of.executions = verdict_.executions;
  f.of.redundant = verdict_.redundant;
  f.of.cut = verdict_.cut;
  f.of.steps = verdict_.steps;
  f.of.longest = verdict_.longest;
  f.of.threads = verdict_.threads;
  f.of.load_buffering = verdict_.load_buffering;
  f.of.sc_orders = verdict_.sc_orders;
  f.of.signals = instrument::any_is_unmodeled;
  f.of.ignored = verdict_.ignored;
  f.of.failed = failed;
  f.of.begins_anew = assumed_.begins_anew();
  f.of.assumed = assumed_.now();
  f.of.too_many = memory_.had_too_many();
  f.of.dropped = search_.dropped();
  // (A program that does something else here may do so since this is another process.)
  f.of.usable =
      !verdict_.transactions && !(failed && verdict_.what.kind == failure_kind::divergence);
  f.of.withheld = verdict_.withheld;
  f.of.stores = verdict_.stores;
  f.of.endless = verdict_.endless;
  f.bound = verdict_.bound;
  if (failed) f.schedule = verdict_.what.schedule;
  f.believed = verdict_.believed;
  const auto known = static_cast<std::ptrdiff_t>(endless_given_);
  f.endless.assign(assumed_.endless().begin() + known, assumed_.endless().end());
  f.asked = search_.kept_requests();
  return f;
}

void jobs::hand_over(bool failed) {
  findings f = found_here(failed);
  const step& root = search_.at(search_.floor() - 1);
  f.of.settled = root.settled;
  f.of.local = root.local;
  f.of.chosen = root.chosen;
  f.of.rest = root.rest;
  f.send(result_to_);
  shared_->give(slot_);
  ::_exit(0);
}

}  // namespace syncopate::explored
