// model.h -- small concurrent programs for the explored machine, written without the compiler's
// instrumentation: each operation calls the machine itself.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "model/explored/run/machine.h"
#include "model/front/scope.h"

namespace model {

using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;
using syncopate::explored::failure_kind;
using syncopate::explored::machine;
using syncopate::explored::options;
using syncopate::explored::result;
using syncopate::explored::verdict;
inline constexpr auto rlx = memory_order_relaxed;
inline constexpr auto acq = memory_order_acquire;
inline constexpr auto rel = memory_order_release;
inline constexpr auto acq_rel = memory_order_acq_rel;
inline constexpr auto sc = memory_order_seq_cst;

inline machine* on = nullptr;

// A place that differs between operations: the number stands for a source line. As the front end
// does right before each operation, it says that the order is the program's own.
inline const void* line(int n) {
  syncopate::instrument::order_is_programs = true;
  return reinterpret_cast<const void*>(static_cast<std::uintptr_t>(n));
}

// An atomic variable; 0 before each execution.
class var {
 public:
  int load(std::memory_order o, int n = 1) {
    return static_cast<int>(on->load(at(), 4, o, line(n)));
  }
  void store(int v, std::memory_order o, int n = 2) {
    on->store(at(), 4, static_cast<std::uint32_t>(v), o, line(n));
  }
  // As C++17 and C17 mean it.
  void store_17(int v, std::memory_order o, int n = 2) {
    on->store(at(), 4, static_cast<std::uint32_t>(v), o, line(n),
              syncopate::engine::sequences::cxx11);
  }
  int add(int v, std::memory_order o, int n = 3) {
    return static_cast<int>(on->modify(at(), 4, syncopate::engine::operation::add,
                                       static_cast<std::uint32_t>(v), o, line(n)));
  }
  int exchange(int v, std::memory_order o, int n = 4) {
    return static_cast<int>(on->modify(at(), 4, syncopate::engine::operation::exchange,
                                       static_cast<std::uint32_t>(v), o, line(n)));
  }
  bool cas(int expected, int desired, std::memory_order o, std::memory_order failed = rlx,
           bool weak = false) {
    syncopate::engine::word e = static_cast<std::uint32_t>(expected);
    return on->compare_exchange(at(), 4, e, static_cast<std::uint32_t>(desired), o, failed, weak,
                                line(5));
  }
  int await(int wanted, std::memory_order o, std::uint64_t until = 0) {
    std::uint64_t value = 0;
    std::uint64_t context = static_cast<std::uint64_t>(wanted);
    syncopate::instrument::order_is_programs = true;
    on->await(
        at(), 4, o, [](void* c, std::uint64_t v) { return v == *static_cast<std::uint64_t*>(c); },
        &context, until, value, line(6));
    return static_cast<int>(value);
  }
  bool park(int expected, std::uint32_t bitset = ~0u) {
    return on->park(at(), static_cast<std::uint32_t>(expected), nullptr, bitset, line(7)) ==
           syncopate::machine::park_result::woken;
  }
  int wake(int count = 1, std::uint32_t bitset = ~0u) {
    return on->wake(at(), count, bitset, line(8));
  }
  int requeue(var& to, int count, int limit) {
    return on->requeue(at(), to.at(), count, limit, line(16));
  }

  int value = 0;

 private:
  syncopate::engine::address at() { return reinterpret_cast<syncopate::engine::address>(&value); }
};

// A plain variable.
class cell {
 public:
  int read(int n = 9) {
    on->access(at(), 4, syncopate::engine::kind::read, line(n));
    return value;
  }
  void write(int v, int n = 10) {
    on->access(at(), 4, syncopate::engine::kind::write, line(n));
    value = v;
  }
  int value = 0;

 private:
  syncopate::engine::address at() { return reinterpret_cast<syncopate::engine::address>(&value); }
};

namespace htm = syncopate::machine::htm;

// A transaction; see machine.h.
[[nodiscard]] inline htm::status begin(htm::mode how = htm::mode::normal) {
  return on->begin_transaction(how, line(20));
}
inline void commit() { on->commit_transaction(line(21)); }
inline void abort(unsigned char code) { on->abort_by_program(code); }

inline void fence(std::memory_order o) { on->fence(o, line(11)); }
inline void relax() { on->relax(line(12)); }
inline void check(bool ok) {
  if (!ok) on->finish(syncopate::engine::end::failed_check, 1, "check failed", line(13));
}

// The variables of all programs.
inline var x, y, z, w;
inline cell a, b;
inline std::array<int, 8> r;  // registers

using body = std::function<void()>;
inline const std::vector<body>* bodies = nullptr;

inline int run_bodies() {
  for (const body& each : *bodies)
    on->spawn([](void* p) { (*static_cast<const body*>(p))(); }, const_cast<body*>(&each), 0,
              line(14));
  return 0;
}

struct found {
  verdict how;
  std::set<std::vector<int>> outcomes;  // the registers, then x, y, z, w

  bool has(std::initializer_list<int> registers) const {
    for (const auto& o : outcomes)
      if (std::equal(registers.begin(), registers.end(), o.begin())) return true;
    return false;
  }
};

// Explores the threads to the end. all_must_end: one that sleeps for good is a deadlock.
// stack: what the running thread has on it (machine.h).
inline found explore(const std::vector<body>& threads, const options& o = {},
                     bool all_must_end = true,
                     std::span<const unsigned char> (*stack)() = nullptr) {
  static machine* last = nullptr;
  delete last;
  last = new machine(o);
  on = last;
  bodies = &threads;
  found result;
  machine::surroundings around;
  around.all_must_end = all_must_end;
  around.stack = stack;
  around.before = [] {
    x.value = y.value = z.value = w.value = a.value = b.value = 0;
    r.fill(0);
  };
  around.after = [&result] {
    std::vector<int> all(r.begin(), r.end());
    for (const var* v : {&x, &y, &z, &w}) all.push_back(v->value);
    result.outcomes.insert(all);
  };
  result.how = on->explore(&run_bodies, around);
  return result;
}

inline options with(const char* text) {
  options o;
  syncopate::explored::parse(text, o);
  return o;
}

}  // namespace model
