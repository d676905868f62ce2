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
#include "machine.h"

#include "model/front/libc/signals.h"
#include "model/front/program/runaway.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <type_traits>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace syncopate::explored {

// Who runs: a slot for each job. Who waits for a part gives its slot away meanwhile.
struct machine::shared_jobs {
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

// What a part's process tells, as bytes.
class writer {
 public:
  template <class T>
  void add(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  template <class T>
  void add_all(const T& values) {
    add(values.size());
    for (const auto& each : values) add(each);
  }
  void send(int to) const {
    for (std::size_t done = 0; done < bytes_.size();) {
      const ssize_t n = ::write(to, bytes_.data() + done, bytes_.size() - done);
      if (n <= 0) return;
      done += static_cast<std::size_t>(n);
    }
  }

 private:
  std::string bytes_;
};

class reader {
 public:
  explicit reader(const std::string& bytes) : bytes_(bytes) {}
  template <class T>
  void get(T& value) {
    if (bytes_.size() - at_ < sizeof value) {
      whole_ = false;
      return;
    }
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
  }
  template <class T>
  void get_all(T& values) {
    std::size_t count = 0;
    get(count);
    for (std::size_t i = 0; i < count && whole_; ++i) {
      typename T::value_type each{};
      get(each);
      values.push_back(each);
    }
  }
  [[nodiscard]] bool whole() const noexcept { return whole_; }

 private:
  const std::string& bytes_;
  std::size_t at_ = 0;
  bool whole_ = true;
};

// Ends with a mark: without it the process has not come to its end.
constexpr std::uint32_t end_mark = 0x5eedc0deu;

std::string read_all(int from) {
  std::string all;
  char some[1 << 14];
  for (;;) {
    const ssize_t n = ::read(from, some, sizeof some);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return all;
    all.append(some, static_cast<std::size_t>(n));
  }
}

// The counts and the marks of a verdict: all but its words.
struct found {
  std::uint64_t executions, redundant, cut, steps, longest;
  unsigned threads;
  bool load_buffering, signals, ignored, failed, begins_anew, too_many, dropped, usable;
  assumptions::state assumed;
  // Of the part's first step: what there is to choose, which its first execution has found out.
  bool settled, local;
  choice chosen;
  choices rest;
  decltype(verdict::withheld) withheld;
  decltype(verdict::stores) stores;
  decltype(verdict::endless) endless;
};

}  // namespace

// ---- giving away ------------------------------------------------------------------------------

// Returns true in the child, which then explores its part.
bool machine::split(const surroundings& around) {
  const bool can = options_.jobs > 1 && !options_.random && options_.preemptions < 0 &&
                   options_.executions == 0 && options_.weaken == 0 && options_.sites.empty() &&
                   !verdict_.transactions && !assumed_.begins_anew();
  if (!can || verdict_.executions % options_.split != 0) return false;
  if (shared_ == nullptr) {
    void* const memory = ::mmap(nullptr, sizeof(shared_jobs), PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    shared_ = new (memory) shared_jobs{};
    slot_ = shared_->take(options_.jobs);
  }
  // The first step with an alternative that nobody explores, if there is another one behind it.
  const auto has_one = [&](std::uint32_t i) {
    step s = search_.at(i);
    return search_.advance(s);
  };
  const auto size = static_cast<std::uint32_t>(search_.steps().size());
  std::uint32_t root = search_.floor();
  const auto is_given = [&](std::uint32_t i) {
    return std::any_of(parts_.begin(), parts_.end(), [&](const part& p) { return p.step == i; });
  };
  while (root < size && (is_given(root) || !has_one(root))) ++root;
  std::uint32_t other = root + 1;
  while (other < size && !has_one(other)) ++other;
  if (other >= size) return false;
  const int slot = shared_->take(std::min(options_.jobs, shared_jobs::most));
  if (slot < 0) return false;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    shared_->give(slot);
    return false;
  }
  for (int& end : ends)
    if (const int high = ::fcntl(end, F_DUPFD_CLOEXEC, lowest_descriptor); high >= 0) {
      ::close(end);
      end = high;
    }
  const pid_t parent = ::getpid();
  const pid_t child = ::_Fork();
  if (child != 0) {
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
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  shared_->slots[slot].store(::getpid(), std::memory_order_relaxed);  // [J]
  slot_ = slot;
  for (const part& p : parts_) ::close(p.result);
  ::close(ends[0]);
  parts_.clear();
  result_to_ = ends[1];
  endless_given_ = assumed_.endless().size();
  search_.confine(root);
  verdict_ = {};
  verdict_.threads = 1;
  if (around.child) around.child();
  if (around.output) around.output(false);  // it may have begun behind the one that is shown
  return true;
}

// ---- taking over ------------------------------------------------------------------------------

// To the next execution that is to be run here. False: there is none.
bool machine::go_on(const surroundings& around) {
  for (;;) {
    if (assumed_.begins_anew()) {
      abandon_parts(0);
      if (result_to_ >= 0) return false;
      assumed_.has_begun_anew();
      search_.forget();
      return true;
    }
    if (!search_.next()) return false;
    if (!take_over(around)) return true;
    if (outcome_ == outcome::failed || !verdict_.bound.empty()) return false;
  }
}

void machine::abandon_parts(std::uint32_t from) {
  std::erase_if(parts_, [&](const part& p) {
    if (p.step < from) return false;
    ::kill(p.process, SIGKILL);
    ::close(p.result);
    while (::waitpid(p.process, nullptr, 0) < 0 && errno == EINTR) {
    }
    return true;
  });
}

// Whether the alternative that the search has just come to was explored elsewhere.
bool machine::take_over(const surroundings& around) {
  if (parts_.empty()) return false;
  const auto at = static_cast<std::uint32_t>(search_.steps().size() - 1);
  abandon_parts(at + 1);
  const auto p =
      std::find_if(parts_.begin(), parts_.end(), [&](const part& q) { return q.step == at; });
  if (p == parts_.end()) return false;
  const step& s = search_.at(at);
  const bool same = p->at.thread == s.thread && p->at.settled == s.settled &&
                    (!s.settled || p->at.chosen == s.chosen) && p->at.asleep == s.asleep &&
                    p->at.awake == s.awake && p->assumed == assumed_.now();
  if (!same) {
    abandon_parts(at);
    return false;
  }
  shared_->give(std::exchange(slot_, -1));
  const std::string result = read_all(p->result);
  ::close(p->result);
  while (::waitpid(p->process, nullptr, 0) < 0 && errno == EINTR) {
  }
  slot_ = shared_->take(options_.jobs);
  parts_.erase(p);
  return merge(result, around);
}

bool machine::merge(const std::string& result, const surroundings& around) {
  reader from(result);
  found f{};
  std::string bound, schedule;
  std::vector<place> believed;
  std::vector<loop> endless;
  std::vector<search::request> asked;
  from.get(f);
  from.get_all(bound);
  from.get_all(schedule);
  from.get_all(believed);
  from.get_all(endless);
  std::size_t requests = 0;
  from.get(requests);
  for (std::size_t i = 0; i < requests && from.whole(); ++i) {
    search::request r{};
    from.get(r.step);
    from.get(r.what);
    from.get(r.later);
    from.get(r.first);
    from.get_all(r.others);
    asked.push_back(std::move(r));
  }
  std::uint32_t mark = 0;
  from.get(mark);
  if (!from.whole() || mark != end_mark || !f.usable) {
    // The part's process did not come to its end: where time is over, nobody's part does.
    if (instrument::time_is_over == 0) return false;
    verdict_.bound = "time";
    return true;
  }
  step& root = search_.at(static_cast<std::uint32_t>(search_.steps().size() - 1));
  root.settled = f.settled;
  root.local = f.local;
  root.chosen = f.chosen;
  root.rest = f.rest;
  root.may_be_late = false;
  verdict_.executions += f.executions;
  verdict_.redundant += f.redundant;
  verdict_.cut += f.cut;
  verdict_.steps += f.steps;
  verdict_.longest = std::max(verdict_.longest, f.longest);
  verdict_.threads = std::max(verdict_.threads, f.threads);
  verdict_.load_buffering |= f.load_buffering;
  instrument::any_is_unmodeled |= f.signals;
  verdict_.ignored |= f.ignored;
  for (const place each : believed)
    if (std::ranges::find(verdict_.believed, each) == verdict_.believed.end())
      verdict_.believed.push_back(each);
  verdict_.withheld.timeouts |= f.withheld.timeouts;
  verdict_.withheld.jumps |= f.withheld.jumps;
  verdict_.withheld.turns |= f.withheld.turns;
  verdict_.withheld.spurious |= f.withheld.spurious;
  verdict_.withheld.sequences |= f.withheld.sequences;
  verdict_.stores.cxx20 |= f.stores.cxx20;
  verdict_.stores.cxx11 |= f.stores.cxx11;
  if (verdict_.endless.at == nullptr) verdict_.endless = f.endless;
  verdict_.bound = bound;
  if (f.too_many) memory_.note_too_many();
  if (f.dropped) search_.note_dropped();
  assumed_.join(f.assumed, f.begins_anew);
  for (const loop& each : endless) assumed_.add_endless(each);
  for (search::request& r : asked) search_.ask(std::move(r));
  if (f.failed) repeat_failure(schedule, around);
  return true;
}

// The part's process has found it; here it has to be told.
void machine::repeat_failure(const std::string& schedule, const surroundings& around) {
  const verdict counted = verdict_;
  abandon_parts(0);
  search_.forget();
  assumed_
      .forget_endless();  // a loop may give up in it that was found endless after that was chosen
  std::string steps = schedule;
  if (const std::size_t end = steps.find(' '); steps.substr(0, end).find('=') != std::string::npos)
    steps = end == std::string::npos ? "-" : steps.substr(end + 1);
  replay_.read(steps);
  if (around.before) around.before();
  run_once(program_);
  replay_.clear();
  failure again = std::move(verdict_.what);
  verdict_ = counted;
  verdict_.what = std::move(again);
  verdict_.what.schedule = schedule;
  outcome_ = outcome::failed;
}

// The end of a part's process.
void machine::hand_over() {
  found f{};
  f.executions = verdict_.executions;
  f.redundant = verdict_.redundant;
  f.cut = verdict_.cut;
  f.steps = verdict_.steps;
  f.longest = verdict_.longest;
  f.threads = verdict_.threads;
  f.load_buffering = verdict_.load_buffering;
  f.signals = instrument::any_is_unmodeled;
  f.ignored = verdict_.ignored;
  f.failed = outcome_ == outcome::failed;
  f.begins_anew = assumed_.begins_anew();
  f.assumed = assumed_.now();
  f.too_many = memory_.had_too_many();
  f.dropped = search_.dropped();
  // (A program that does something else here may do so since this is another process.)
  f.usable =
      !verdict_.transactions && !(f.failed && verdict_.what.kind == failure_kind::divergence);
  f.withheld = verdict_.withheld;
  f.stores = verdict_.stores;
  f.endless = verdict_.endless;
  const step& root = search_.at(search_.floor() - 1);
  f.settled = root.settled;
  f.local = root.local;
  f.chosen = root.chosen;
  f.rest = root.rest;
  writer to;
  to.add(f);
  to.add_all(verdict_.bound);
  to.add_all(f.failed ? verdict_.what.schedule : std::string());
  to.add_all(verdict_.believed);
  to.add_all(
      std::vector<loop>(assumed_.endless().begin() + static_cast<std::ptrdiff_t>(endless_given_),
                        assumed_.endless().end()));
  to.add(search_.kept_requests().size());
  for (const search::request& r : search_.kept_requests()) {
    to.add(r.step);
    to.add(r.what);
    to.add(r.later);
    to.add(r.first);
    to.add_all(r.others);
  }
  to.add(end_mark);
  to.send(result_to_);
  shared_->give(slot_);
  ::_exit(0);
}

}  // namespace syncopate::explored
