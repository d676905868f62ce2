#include "program.h"

#include <algorithm>
#include <array>
#include <random>
#include <utility>

namespace fuzz {

namespace {

using enum kind;
using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;

constexpr std::array any_order{memory_order_relaxed, memory_order_acquire, memory_order_release,
                               memory_order_acq_rel, memory_order_seq_cst, memory_order_seq_cst};
constexpr std::array load_order{memory_order_relaxed, memory_order_acquire, memory_order_seq_cst};
constexpr std::array store_order{memory_order_relaxed, memory_order_release, memory_order_seq_cst};
constexpr std::array fence_order{memory_order_acquire, memory_order_release, memory_order_acq_rel,
                                 memory_order_seq_cst, memory_order_seq_cst, memory_order_seq_cst};

// What a program is made of: kinds, a kind that stands twice being twice as likely.
struct profile {
  std::vector<kind> kinds;
  unsigned variables;
  unsigned weight;  // steps of one operation, about: what keeps the enumeration small
};

const std::vector<profile>& profiles() {
  static const std::vector<profile> all{
      {{load, store, modify, compare_exchange, fence}, 2, 1},
      {{load, store, compare_exchange, compare_exchange, modify}, 1, 1},
      {{load, store, modify, compare_exchange, fence, store_if}, 3, 1},
      {{load, store, load, store, fence, compare_exchange, read_if, write_if, write}, 2, 1},
      {{store, store, store, load, load, modify, write_if, read_if}, 2, 1},
      {{store, compare_exchange, await, await_timed, load, modify}, 2, 1},
      {{store, modify, park, park_timed, wake, wake, load, requeue}, 2, 1},
      {{store, compare_exchange, poll, poll_cas, modify}, 2, 1},
      {{lock, unlock, try_lock, lock_timed, read, write, load, store}, 2, 2},
      {{lock, wait, signal, broadcast, wait_timed, store, unlock, write}, 1, 3},
      {{take, post, try_take, take_timed, post, load, store, write}, 2, 2},
      {{lock_shared, lock_exclusive, unlock_any, read, write, store, load}, 1, 2},
      {{lock_shared, lock_exclusive, try_shared, try_exclusive, lock_shared_timed,
        lock_exclusive_timed, unlock_any, unlock_any, write, read},
       1,
       2},
      {{barrier, barrier, once, write, read, load, store}, 1, 2},
      {{barrier, barrier, lock, unlock, store, load}, 2, 2},
      {{lock, unlock, wait, wait_timed, signal, broadcast, signal, try_lock, lock_timed}, 2, 2},
      {{lock, wait, signal, take, post, take_timed, load, store}, 2, 2},
      {{begin, commit, load, store, modify, compare_exchange, abort, fence}, 2, 1},
      {{lock, unlock, take, post, compare_exchange, store, fence, wake, park, await}, 2, 2},
  };
  return all;
}

// By focus. Spurious wake-ups and failures are allowed there always.
const std::vector<std::pair<std::string, std::vector<profile>>>& focused() {
  static const std::vector<std::pair<std::string, std::vector<profile>>> all{
      {"requeue",
       {{{park, park, park_timed, wake, wake, requeue, requeue, store, modify, load}, 2, 1},
        {{park, park_timed, wake, requeue, compare_exchange, fence, store}, 2, 1},
        {{park, wake, requeue, lock, unlock, store}, 2, 1}}},
      {"sleep",
       {{{park, park_timed, wake, wake, store, modify, load}, 2, 1},
        {{lock, wait, signal, broadcast, wait_timed, unlock, store}, 1, 2},
        {{park, wake, take, post, take_timed, store}, 2, 1},
        {{park, wake, poll, poll_cas, store, compare_exchange}, 2, 1}}},
      {"await",
       {{{await, await, await_timed, store, modify, compare_exchange, fence}, 1, 1},
        {{await, await_timed, store, store, modify, fence, load}, 2, 1},
        {{await, take, post, store, modify, fence, park, wake}, 2, 1},
        {{await, begin, commit, store, modify, fence}, 2, 1}}},
      {"shared",
       {{{lock_shared, lock_shared, lock_exclusive, unlock_any, unlock_any, store, load}, 1, 1},
        {{lock_shared, lock_exclusive, unlock_any, write_if, read_if, load, store, modify}, 2, 1},
        {{lock_shared, lock_exclusive, unlock_any, lock, unlock, wait, signal, store}, 1, 2},
        {{lock_shared, lock_exclusive, unlock_any, take, post, barrier, load}, 1, 2}}},
      {"queues",
       {{{park, park, park_timed, wake, requeue, requeue_all, requeue_all, store, modify}, 2, 1},
        {{park, park, wake, requeue_all, requeue_all, await, join, store}, 2, 1}}},
      {"loops",
       {{{loop, loop, store, store, modify, load, fence}, 2, 1},
        {{loop, loop, await, store, store, modify, compare_exchange, join}, 1, 1},
        {{loop, loop_relax, store, store, load, fence, modify}, 2, 1},
        {{loop, loop_two, loop_cas, store, store, modify, load}, 2, 1},
        {{loop_cas, loop_exchange, store, store, load, write_if, read_if}, 1, 1},
        {{loop_exchange, loop_exchange, store, store, modify, load, fence}, 2, 1},
        {{loop, loop_cas, loop_exchange, park, wake, store, lock, unlock}, 2, 1},
        {{loop_try, loop_try, unlock, lock, loop, store, write}, 1, 2}}},
      {"clock",
       {{{clock, clock, load, store, modify, store, fence}, 2, 1},
        {{clock, clock, await, store, compare_exchange, park, wake}, 2, 1},
        {{clock, clock, lock, unlock, store, load, take, post}, 1, 2},
        {{clock, clock, lock_shared, lock_exclusive, unlock_any, barrier, load}, 1, 2},
        {{clock, clock, begin, commit, load, store, join}, 2, 1}}},
      // What the search learns on its way: readers are in order, loops never give up.
      {"readers",
       {{{lock_shared, lock_exclusive, try_exclusive, try_shared, unlock_any, write_if, store, load,
          write},
         1,
         1},
        {{lock_shared, lock_exclusive, lock_exclusive_timed, unlock_any, read, write, modify},
         1,
         1},
        {{lock_shared, lock_exclusive, begin, commit, unlock_any, store, write, read}, 1, 1},
        {{lock_shared, try_exclusive, unlock_any, lock, unlock, take, post, store}, 1, 1}}},
      {"impatient",
       {{{loop_relax, loop_relax, store, load, write_if, read_if, write}, 2, 1},
        {{loop_relax, loop, store, modify, lock, unlock, write}, 2, 1},
        {{loop_relax, park, wake, store, await, read, write}, 2, 1}}},
      // Most accesses seq_cst, the others relaxed.
      {"seq_cst",
       {{{load, load, store, modify, compare_exchange}, 1, 1},
        {{load, store, store, modify, compare_exchange, fence}, 2, 1},
        {{load, await, store, modify, take, post, compare_exchange}, 2, 1},
        {{count, copy, load, store, modify}, 1, 1}}},
      // Values that go from one variable to another.
      {"values",
       {{{copy, copy, load, store, modify}, 2, 1},
        {{copy, count, count, load, store, compare_exchange}, 2, 1},
        {{copy, load, store_if, store, fence, compare_exchange}, 3, 1},
        {{copy, copy, await, load, store, modify}, 2, 1}}},
      // Variables of 1 to 16 bytes side by side, which plain accesses see and make anew.
      {"sizes",
       {{{load, store, modify, compare_exchange, fence, count, copy}, 3, 1},
        {{load, load, store, modify, compare_exchange, peek_if, wipe_if}, 2, 1},
        {{lock, unlock, load, store, modify, peek_if, wipe_if, copy}, 2, 2},
        {{await, poll, poll_cas, store, copy, store_if, peek_if, count}, 2, 1},
        {{loop, loop_cas, store, modify, peek_if, load}, 2, 1},
        {{begin, commit, load, store, modify, compare_exchange, peek_if, wipe_if}, 2, 1}}},
      // Threads that begin on the way, also while their maker has a lock.
      {"spawn",
       {{{spawn, spawn, load, store, modify, fence, compare_exchange}, 2, 1},
        {{spawn, lock, unlock, store, load, write, read}, 1, 1},
        {{spawn, join, store, load, lock_shared, lock_exclusive, unlock_any}, 2, 1},
        {{spawn, spawn, join, park, wake, await, store, take, post}, 2, 1}}},
  };
  return all;
}

class maker {
 public:
  maker(std::uint64_t seed, const std::string& focus)
      : random_(seed), focused_(!focus.empty()), seq_cst_(focus == "seq_cst") {}

  program make(const std::vector<profile>& profiles, bool may_give_up) {
    program p;
    const profile& of = profiles[any(static_cast<unsigned>(profiles.size()))];
    const auto has = [&](kind k) {
      return std::find(of.kinds.begin(), of.kinds.end(), k) != of.kinds.end();
    };
    const bool polls = has(poll) || has(clock);
    clears_ = has(loop_exchange);
    few_values_ = any(2) == 0;
    older_ = any(3) == 0;
    const unsigned threads = 2 + (any(3) == 0 ? 1 : 0) + (any(6) == 0 ? 1 : 0);
    p.threads.resize(threads);
    const unsigned budget = (threads == 2 ? 8 : threads == 3 ? 7 : 6) / of.weight;
    const unsigned total = std::max(threads, 2 + any(budget));
    for (unsigned n = 0; n < total; ++n) {
      auto& thread = p.threads[n < threads ? n : any(threads)];
      thread.push_back(any_operation(of));
    }
    // Limits that would end no program: which loop gives up once they are reached is decided by
    // who could still read an old value.
    p.options = std::string("steps=400,timeouts=9,aborts=1") +
                (polls         ? ",jumps=9"
                 : may_give_up ? ",jumps=1"
                               : ",jumps=0") +
                ",spurious=" + std::to_string(focused_ ? 1 + (any(6) == 0 ? 1 : 0) : any(2));
    if (any(8) == 0) p.options += ",any_waiter";
    return p;
  }

 private:
  unsigned any(unsigned n) { return static_cast<unsigned>(random_() % n); }
  template <class T>
  auto any_of(const T& all) {
    return all[any(static_cast<unsigned>(all.size()))];
  }

  operation any_operation(const profile& of) {
    operation o;
    o.what = any_of(of.kinds);
    o.variable = static_cast<std::uint8_t>(any(of.variables));
    o.value = few_values_ ? static_cast<int>(any(2)) : ++values_;
    o.expected = any(3) == 0 ? static_cast<int>(any(3)) : 0;
    switch (o.what) {
      case load:
      case await:
      case await_timed:
      case poll:
      case loop:
      case loop_two:
      case loop_relax: o.order = any_of(load_order); break;
      case requeue_all: o.weak = any(4) == 0; break;
      case copy: o.order = any_of(store_order); break;
      case store:
      case store_if:
        o.order = any_of(store_order);
        o.how = older_ && any(3) != 0 ? 1 : 0;
        break;
      case modify:
        o.order = any_of(any_order);
        o.how = static_cast<std::uint8_t>(any(7));
        break;
      case loop_exchange: o.order = any_of(any_order); break;
      case compare_exchange:
      case count:
      case poll_cas:
      case loop_cas:
        o.order = any_of(any_order);
        o.failure = any_of(load_order);
        o.weak = any(3) == 0;
        break;
      case fence: o.order = any_of(fence_order); break;
      case barrier: o.weak = any(2) == 0; break;  // does not look at what it returns
      case wake: o.how = any(3) == 0 ? 99 : 1; break;
      default: break;
    }
    if (seq_cst_)
      o.order = o.what == fence || any(3) != 0 ? memory_order_seq_cst : memory_order_relaxed;
    if (seq_cst_) o.failure = any(2) != 0 ? memory_order_seq_cst : memory_order_relaxed;
    // Test-and-set, which somebody may clear. (Exchanges of several values can go on for ever.)
    if (o.what == loop_exchange) o.value = 1, o.expected = 0;
    if (clears_ && o.what == store && any(2) == 0) o.value = 0;
    // What waits for a value waits for one that somebody may write.
    if (o.what == await || o.what == await_timed || o.what == poll) o.expected = 0;
    if (focused_ && (o.what == park || o.what == park_timed || o.what == wake) && any(4) == 0)
      o.bits = 1 + any(3);
    return o;
  }

  std::mt19937_64 random_;
  bool focused_;  // more of what is rare otherwise
  bool seq_cst_;
  bool few_values_ = false;
  bool clears_ = false;  // many stores write 0
  bool older_ = false;   // some stores continue release sequences, as in C++17
  int values_ = 0;
};

const char* name(std::memory_order o) {
  switch (o) {
    case memory_order_relaxed: return "relaxed";
    case memory_order_acquire: return "acquire";
    case memory_order_release: return "release";
    case memory_order_acq_rel: return "acq_rel";
    default: return "seq_cst";
  }
}

const char* name(kind k) {
  static const char* const names[] = {"load",
                                      "store",
                                      "modify",
                                      "compare_exchange",
                                      "fence",
                                      "store_if",
                                      "copy",
                                      "count",
                                      "spawn",
                                      "read",
                                      "write",
                                      "read_if",
                                      "write_if",
                                      "peek_if",
                                      "wipe_if",
                                      "await",
                                      "await_timed",
                                      "poll",
                                      "poll_cas",
                                      "loop",
                                      "loop_two",
                                      "loop_cas",
                                      "loop_exchange",
                                      "loop_try",
                                      "loop_relax",
                                      "clock",
                                      "join",
                                      "park",
                                      "park_timed",
                                      "wake",
                                      "requeue",
                                      "requeue_all",
                                      "lock",
                                      "lock_timed",
                                      "try_lock",
                                      "unlock",
                                      "wait",
                                      "wait_timed",
                                      "signal",
                                      "broadcast",
                                      "take",
                                      "take_timed",
                                      "try_take",
                                      "post",
                                      "lock_shared",
                                      "lock_exclusive",
                                      "lock_shared_timed",
                                      "lock_exclusive_timed",
                                      "try_shared",
                                      "try_exclusive",
                                      "unlock_any",
                                      "barrier",
                                      "once",
                                      "begin",
                                      "commit",
                                      "abort"};
  static_assert(std::size(names) == static_cast<std::size_t>(kind::count_));
  return names[static_cast<std::size_t>(k)];
}

std::string text(const operation& o) {
  static const char* const ways[] = {"exchange", "add", "sub", "and", "or", "xor", "nand"};
  const std::string variable = "v" + std::to_string(o.variable);
  const std::string value = std::to_string(o.value), order = name(o.order);
  const std::string bits = o.bits == ~0u ? "" : " of " + std::to_string(o.bits);
  switch (o.what) {
    case load:
    case await:
    case await_timed:
    case poll:
    case loop:
    case loop_two:
    case loop_relax: return std::string(name(o.what)) + " " + variable + " " + order;
    case store:
    case store_if:
      return std::string(name(o.what)) + (o.how == 1 ? "_17 " : " ") + variable + "=" + value +
             " " + order;
    case modify: return std::string(ways[o.how]) + " " + variable + "," + value + " " + order;
    case copy: return "copy " + variable + " " + order;
    case count:
      return std::string(o.weak ? "count weak " : "count ") + variable + " " + order + "," +
             name(o.failure);
    case loop_exchange:
      return std::string(name(o.what)) + " " + variable + "," + value + " until " +
             std::to_string(o.expected) + " " + order;
    case compare_exchange:
    case poll_cas:
    case loop_cas:
      return std::string(name(o.what)) + (o.weak ? " weak " : " ") + variable + ":" +
             std::to_string(o.expected) + "->" + value + " " + order + "," + name(o.failure);
    case fence: return "fence " + order;
    case park:
    case park_timed:
      return std::string(name(o.what)) + " " + variable + "==" + std::to_string(o.expected) + bits;
    case wake: return "wake " + variable + "," + std::to_string(o.how) + bits;
    case requeue: return "requeue " + variable + "," + std::to_string(o.expected);
    case requeue_all:
      return "requeue_all " + variable + (o.weak ? " to itself," : ",") +
             std::to_string(o.expected);
    case barrier: return o.weak ? "barrier" : "if barrier";
    default: return std::string(name(o.what)) + " " + variable;
  }
}

}  // namespace

const std::vector<std::string>& focuses() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const auto& [focus, profiles] : focused()) all.push_back(focus);
    return all;
  }();
  return names;
}

namespace {
bool only_reads(kind k) { return k == loop || k == loop_relax; }
template <class F>
bool any_of_all(const program& p, F f) {
  return std::any_of(p.threads.begin(), p.threads.end(), [&](const auto& thread) {
    return std::any_of(thread.begin(), thread.end(), f);
  });
}
}  // namespace

program make(std::uint64_t seed, const std::string& focus) {
  const std::vector<profile>* of = &profiles();
  for (const auto& [name, those] : focused())
    if (name == focus) of = &those;
  program p = maker(seed, focus).make(*of, focus == "impatient");
  p.seed = seed;
  if (focus == "sizes") {
    std::mt19937_64 random(seed);
    const bool waits =
        any_of_all(p, [](const operation& o) { return o.what == await || o.what == loop; });
    for (std::uint8_t& bytes : p.bytes)
      bytes = static_cast<std::uint8_t>(1u << random() % (waits ? 4 : 5));
  }
  return p;
}

bool has_loops(const program& p) {
  return any_of_all(p, [](const operation& o) { return o.what >= loop && o.what <= loop_relax; });
}

bool has_other_loops(const program& p) {
  return any_of_all(p, [](const operation& o) {
    return o.what >= loop && o.what <= loop_relax && !only_reads(o.what);
  });
}

bool may_give_up(const program& p) {
  return p.options.find("jumps=0") == std::string::npos &&
         any_of_all(p, [](const operation& o) { return o.what == loop_relax; });
}

program with_patience(program p) {
  const std::string hasty = "jumps=1";
  if (const auto at = p.options.find(hasty); at != std::string::npos)
    p.options.replace(at, hasty.size(), "jumps=0");
  return p;
}

program with_awaits(program p) {
  for (auto& thread : p.threads)
    for (operation& o : thread)
      if (only_reads(o.what)) o.what = await;
  return p;
}

std::optional<std::pair<std::size_t, std::size_t>> spawned_by(const program& p,
                                                              std::size_t thread) {
  for (std::size_t t = 0; t < thread; ++t)
    for (std::size_t i = 0; i < p.threads[t].size(); ++i)
      if (const operation& o = p.threads[t][i]; o.what == spawn && t + 1 + o.variable == thread)
        return std::pair{t, i};
  return {};
}

std::string text(const program& p) {
  std::string all = "  seed " + std::to_string(p.seed) + ", --set " + p.options;
  if (p.bytes != program{}.bytes)
    all += ", bytes " + std::to_string(p.bytes[0]) + " " + std::to_string(p.bytes[1]) + " " +
           std::to_string(p.bytes[2]);
  all += "\n";
  for (const auto& thread : p.threads) {
    all += "  ||";
    for (const operation& o : thread) all += " " + text(o) + ";";
    all += '\n';
  }
  return all;
}

program shrink(program p, const std::function<bool(const program&)>& still_fails) {
  const auto take = [&](const program& smaller) {
    if (!still_fails(smaller)) return false;
    p = smaller;
    return true;
  };
  for (bool again = true; again;) {
    again = false;
    for (std::size_t t = 0; t < p.threads.size(); ++t)
      if (program q = p; q.threads.size() > 1) {
        q.threads.erase(q.threads.begin() + static_cast<std::ptrdiff_t>(t));
        if (take(q)) again = true, --t;
      }
    for (std::size_t t = 0; t < p.threads.size(); ++t)
      for (std::size_t i = 0; i < p.threads[t].size(); ++i) {
        program q = p;
        q.threads[t].erase(q.threads[t].begin() + static_cast<std::ptrdiff_t>(i));
        if (take(q)) again = true, --i;
      }
    for (std::size_t t = 0; t < p.threads.size(); ++t)
      for (std::size_t i = 0; i < p.threads[t].size(); ++i) {
        const auto simpler = [&](const std::function<void(operation&)>& change) {
          program q = p;
          operation& o = q.threads[t][i];
          const operation before = o;
          change(o);
          if (o.order == before.order && o.failure == before.failure && o.weak == before.weak &&
              o.variable == before.variable)
            return;
          again |= take(q);
        };
        simpler([](operation& o) { o.weak = false; });
        simpler([](operation& o) { o.failure = memory_order_relaxed; });
        if (p.threads[t][i].what != fence)
          simpler([](operation& o) { o.order = memory_order_relaxed; });
        simpler([](operation& o) { o.variable = 0; });
      }
  }
  return p;
}

}  // namespace fuzz
