#include "run.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <span>

#include "model/explored/run/program.h"
#include "model/front/compiler/entered.h"
#include "model/front/pthread/cancel.h"
#include "model/front/pthread/ignored_result.h"
#include "model/front/pthread/objects.h"
#include "model/front/scope.h"
#include "posix/once.h"

// What pthread's objects ask of the front end, which is not here.
namespace syncopate::explored {
const options& program_options() {
  static const options all;
  return all;
}
}  // namespace syncopate::explored
namespace syncopate::instrument {
namespace {
bool ignores_barrier = false;  // of the call that is made
}
void test_cancel() {}
void cancelable_sleep_begin(const void*) {}
void cancelable_sleep_end() {}
bool ignores_result(const void*) { return ignores_barrier; }
}  // namespace syncopate::instrument

namespace fuzz {

namespace {

namespace explored = syncopate::explored;
namespace engine = syncopate::engine;
namespace objects = syncopate::instrument::objects;
using syncopate::machine::deadline;

constexpr unsigned most_threads = 4;

// All that the program touches; put back before each execution.
struct state {
  alignas(16) unsigned char variables[fuzz::variables * 16];  // side by side
  bool turned_round;                                          // their sizes
  int cells[fuzz::variables];
  int own[most_threads];  // read by its thread only
  pthread_mutex_t mutexes[fuzz::locks];
  pthread_cond_t conditions[fuzz::locks];
  pthread_rwlock_t shared_lock;
  pthread_barrier_t barrier;
  sem_t semaphores[fuzz::locks];
  std::uint32_t once;
  int ended[most_threads];  // for those who join
  bool gave_up;             // an unrolled loop
  struct {
    int results[most_operations];
    int last;
    bool ended;
    bool holds[fuzz::locks];
    int holds_shared;  // 1 as a reader, 2 exclusively
    bool in_transaction;
  } threads[most_threads];
};
state now;
const program* running = nullptr;
bool turns_before_plain = false;
bool unrolls = false;  // loops
constexpr int most_turns = 3;

// ---- variables of other sizes than an int -------------------------------------------------------

unsigned bytes_of(unsigned variable) {
  return running->bytes[now.turned_round ? fuzz::variables - 1 - variable : variable];
}
unsigned char* variable_at(unsigned variable) {
  unsigned at = 0;
  for (unsigned v = 0; v < variable; ++v) {
    const unsigned next = bytes_of(v + 1);
    at = (at + bytes_of(v) + next - 1) / next * next;
  }
  return now.variables + at;
}
// A value of 16 bytes has both halves alike: one that is made of two values shows.
engine::word widened(int value, unsigned bytes) {
  const engine::word low = static_cast<unsigned>(value);
  if (bytes == 16) return low << 64 | low;
  return bytes < 4 ? low & ((1u << 8 * bytes) - 1) : low;
}
int folded(engine::word value, unsigned bytes) {
  const auto low = static_cast<std::uint64_t>(value),
             high = static_cast<std::uint64_t>(value >> 64);
  const auto both = bytes != 16 || low == high ? low : low ^ (high * 31 + 7);
  return static_cast<int>(both);
}
int peek(unsigned variable) {
  engine::word value = 0;
  std::memcpy(&value, variable_at(variable), bytes_of(variable));
  return folded(value, bytes_of(variable));
}

explored::machine& on() { return *explored::running_machine; }

engine::address at(const volatile void* p) { return reinterpret_cast<engine::address>(p); }

deadline soon() {
  const auto ns = on().nanoseconds(CLOCK_MONOTONIC) + 1'000'000;
  return {timespec{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)},
          CLOCK_MONOTONIC};
}

// One operation of a thread. Each returns what it has found out.
class actor {
 public:
  actor(unsigned thread, const operation& o, engine::place where)
      : me_(now.threads[thread]),
        thread_(thread),
        o_(o),
        where_(where),
        bytes_(bytes_of(o.variable)),
        word_(at(variable_at(o.variable))) {}

  int act();

 private:
  int load(std::memory_order order) {
    return me_.last = folded(on().load(word_, bytes_, order, where_), bytes_);
  }
  int store() {
    on().store(word_, bytes_, widened(o_.value, bytes_), o_.order, where_,
               o_.how == 1 ? engine::sequences::cxx11 : engine::sequences::cxx20);
    return 0;
  }
  int compare_exchange() {
    me_.last = o_.expected;
    return exchange_last(o_.value) ? 1000 : me_.last;
  }
  // The value that was read last for this one.
  bool exchange_last(int value) {
    engine::word expected = widened(me_.last, bytes_);
    const bool done = on().compare_exchange(word_, bytes_, expected, widened(value, bytes_),
                                            o_.order, o_.failure, o_.weak, where_);
    me_.last = folded(expected, bytes_);
    return done;
  }
  int copy() {
    on().store(word_, bytes_, widened(me_.last, bytes_), o_.order, where_);
    return 0;
  }
  int count() {
    (void)load(o_.failure == std::memory_order_seq_cst ? o_.failure : std::memory_order_relaxed);
    for (int turn = 0; turn < 3; ++turn)
      if (exchange_last(me_.last + 1)) return 1000 + turn;
    return me_.last;
  }
  int spawn();
  int plain(bool writes) {
    turn_before_plain();
    int& cell = now.cells[o_.variable];
    on().access(at(&cell), 4, writes ? engine::kind::write : engine::kind::read, where_);
    if (writes) cell = o_.value;
    return cell;
  }
  void turn_before_plain() {
    if (turns_before_plain && !me_.in_transaction)
      (void)on().load(at(&now.own[thread_]), 4, std::memory_order_relaxed, where_);
  }
  int peek_plainly() {
    turn_before_plain();
    on().access(at(variable_at(o_.variable)), bytes_of(o_.variable), engine::kind::read, where_);
    return peek(o_.variable);
  }
  int wipe() {
    turn_before_plain();
    on().access(at(now.variables), sizeof now.variables, engine::kind::write, where_);
    on().access(at(&now.turned_round), 1, engine::kind::write, where_);
    std::memset(now.variables, 0, sizeof now.variables);
    now.turned_round = !now.turned_round;
    return 0;
  }
  int await(std::uint64_t until) {
    std::uint64_t value = 0;
    const auto not_0 = [](void*, std::uint64_t v) { return v != 0; };
    syncopate::instrument::order_is_programs = true;
    const bool came =
        on().await(word_, std::min(bytes_, 8u), o_.order, not_0, nullptr, until, value, where_);
    // (Who waits in vain does not learn what the value was.)
    me_.last = came ? static_cast<int>(value) : 0;
    return came ? me_.last : -1;
  }
  int poll() {
    for (int turn = 0; turn < 3; ++turn) {
      if (o_.what == kind::poll ? load(o_.order) != 0 : compare_exchange() == 1000) return turn;
      on().relax(where_);
    }
    return 9;
  }
  // One turn of a loop; it leaves behind what it has read in `last` only.
  bool turn() {
    const auto enters = [] { syncopate_entered.known = !unrolls; };  // and no register differs
    enters();
    switch (o_.what) {
      case kind::loop_cas: return compare_exchange() == 1000;
      case kind::loop_exchange: {
        const auto exchange = engine::operation::exchange;
        me_.last = folded(
            on().modify(word_, bytes_, exchange, widened(o_.value, bytes_), o_.order, where_),
            bytes_);
        return me_.last == o_.expected;
      }
      case kind::loop_two: {
        const bool first = load(o_.order) != 0;
        if (first) return true;
        enters();
        const auto other = at(variable_at(1 - o_.variable % 2));
        const auto place = reinterpret_cast<std::uintptr_t>(where_) + 50;  // another instruction
        me_.last =
            static_cast<int>(on().load(other, 4, o_.order, reinterpret_cast<engine::place>(place)));
        return me_.last != 0;
      }
      case kind::loop_try: return objects::mutex_trylock(now.mutexes[o_.variable], where_) == 0;
      case kind::loop_relax: syncopate_entered.known = false; [[fallthrough]];
      default: return load(o_.order) != 0;
    }
  }
  int loop() {
    if (o_.what == kind::loop_try && me_.holds[o_.variable]) return 5;
    for (int turns = 0; !unrolls || turns < most_turns; ++turns) {
      if (turn()) return ended();
      if (o_.what == kind::loop_relax && !unrolls) on().relax(where_);
    }
    now.gave_up = true;
    return 0;
  }
  int ended() {
    if (o_.what != kind::loop_try) return me_.last;
    me_.holds[o_.variable] = true;
    return 0;
  }
  int join() {
    if (o_.variable == thread_ || o_.variable >= running->threads.size()) return 5;
    std::uint64_t value = 0;
    const auto ended = [](void*, std::uint64_t v) { return v != 0; };
    on().await(at(&now.ended[o_.variable]), 4, std::memory_order_acquire, ended, nullptr, 0, value,
               where_);
    return 0;
  }
  int clock() {
    constexpr std::uint64_t much = 10'000'000'000;
    return static_cast<int>((on().ticks() - explored::machine::start_of_time + much / 2) / much);
  }
  int park(const deadline* until) {
    return static_cast<int>(
        on().park(word_, static_cast<std::uint32_t>(o_.expected), until, o_.bits, where_));
  }
  int lock(const deadline* until) {
    if (me_.holds[o_.variable]) return 5;
    const int error = objects::mutex_lock(now.mutexes[o_.variable], until, where_);
    me_.holds[o_.variable] = error == 0;
    return error;
  }
  int unlock(unsigned which) {
    if (!me_.holds[which]) return 5;
    me_.holds[which] = false;
    return objects::mutex_unlock(now.mutexes[which], where_);
  }
  int wait(const deadline* until) {
    if (!me_.holds[o_.variable]) (void)lock(nullptr);
    return objects::condition_wait(now.conditions[o_.variable], now.mutexes[o_.variable], until,
                                   where_);
  }
  int lock_any(objects::side side, const deadline* until, bool tries = false) {
    if (me_.holds_shared != 0) return 5;
    const int error = tries ? objects::rwlock_trylock(now.shared_lock, side, where_)
                            : objects::rwlock_lock(now.shared_lock, side, until, where_);
    if (error == 0) me_.holds_shared = side == objects::side::read ? 1 : 2;
    return error;
  }
  int unlock_any() {
    if (me_.holds_shared == 0) return 5;
    me_.holds_shared = 0;
    return objects::rwlock_unlock(now.shared_lock, where_);
  }
  int barrier() {
    syncopate::instrument::ignores_barrier = o_.weak;
    const int result = objects::barrier_wait(now.barrier, where_);
    return o_.weak ? 0 : result;
  }
  int once() {
    const objects::awaited_word word{now.once, where_};
    if (!syncopate::posix::begin_once(word)) return plain(false);
    (void)plain(true);
    syncopate::posix::end_once(word, true);
    return 0;
  }
  int access();
  int pthread();

  decltype(now.threads[0])& me_;
  unsigned thread_;
  const operation& o_;
  engine::place where_;
  unsigned bytes_;
  engine::address word_;
  friend void run_thread(unsigned);
};

int actor::access() {
  switch (o_.what) {
    case kind::load: return load(o_.order);
    case kind::store: return store();
    case kind::store_if: return me_.last != 0 ? store() : 1;
    case kind::modify:
      return me_.last = folded(on().modify(word_, bytes_, static_cast<engine::operation>(o_.how),
                                           widened(o_.value, bytes_), o_.order, where_),
                               bytes_);
    case kind::copy: return copy();
    case kind::count: return count();
    case kind::spawn: return spawn();
    case kind::compare_exchange: return compare_exchange();
    case kind::fence: on().fence(o_.order, where_); return 0;
    case kind::read: return plain(false);
    case kind::write: return plain(true);
    case kind::read_if: return me_.last != 0 ? plain(false) : -1;
    case kind::write_if: return me_.last != 0 ? plain(true) : -1;
    case kind::peek_if: return me_.last != 0 ? peek_plainly() : -1;
    case kind::wipe_if: return me_.last != 0 ? wipe() : -1;
    default: return pthread();
  }
}

int actor::act() {
  switch (o_.what) {
    case kind::await: return await(0);
    case kind::await_timed: return await(on().ticks() + 100);
    case kind::poll:
    case kind::poll_cas: return poll();
    case kind::loop:
    case kind::loop_two:
    case kind::loop_cas:
    case kind::loop_exchange:
    case kind::loop_try:
    case kind::loop_relax: return loop();
    case kind::clock: return clock();
    case kind::join: return join();
    case kind::park: return park(nullptr);
    case kind::park_timed: {
      const deadline until = soon();
      return park(&until);
    }
    case kind::wake: return on().wake(word_, o_.how, o_.bits, where_);
    case kind::requeue:
      return on().requeue(word_, at(variable_at(1 - o_.variable % 2)), o_.expected, 1, where_);
    case kind::requeue_all:
      return on().requeue(word_, o_.weak ? word_ : at(variable_at(1 - o_.variable % 2)),
                          o_.expected, 99, where_);
    default: return access();
  }
}

int actor::pthread() {
  const deadline until = soon();
  switch (o_.what) {
    case kind::lock: return lock(nullptr);
    case kind::lock_timed: return lock(&until);
    case kind::try_lock: {
      if (me_.holds[o_.variable]) return 5;
      const int error = objects::mutex_trylock(now.mutexes[o_.variable], where_);
      me_.holds[o_.variable] = error == 0;
      return error;
    }
    case kind::unlock: return unlock(o_.variable);
    case kind::wait: return wait(nullptr);
    case kind::wait_timed: return wait(&until);
    case kind::signal: objects::condition_signal(now.conditions[o_.variable], where_); return 0;
    case kind::broadcast:
      objects::condition_broadcast(now.conditions[o_.variable], where_);
      return 0;
    case kind::take: return objects::semaphore_wait(now.semaphores[o_.variable], nullptr, where_);
    case kind::take_timed:
      return objects::semaphore_wait(now.semaphores[o_.variable], &until, where_);
    case kind::try_take: return objects::semaphore_trywait(now.semaphores[o_.variable], where_);
    case kind::post: return objects::semaphore_post(now.semaphores[o_.variable], where_);
    case kind::lock_shared: return lock_any(objects::side::read, nullptr);
    case kind::lock_exclusive: return lock_any(objects::side::write, nullptr);
    case kind::lock_shared_timed: return lock_any(objects::side::read, &until);
    case kind::lock_exclusive_timed: return lock_any(objects::side::write, &until);
    case kind::try_shared: return lock_any(objects::side::read, nullptr, true);
    case kind::try_exclusive: return lock_any(objects::side::write, nullptr, true);
    case kind::unlock_any: return unlock_any();
    case kind::barrier: return barrier();
    case kind::once: return once();
    default: return 0;
  }
}

engine::place place_of(unsigned thread, std::size_t i) {
  return reinterpret_cast<engine::place>(std::uintptr_t{100} * (thread + 1) + i);
}

void run_thread(unsigned thread) {
  const auto& all = running->threads[thread];
  auto& me = now.threads[thread];
  bool skips = false;  // what the aborted transaction would have done
  for (std::size_t i = 0; i < all.size(); ++i) {
    const operation& o = all[i];
    const engine::place where = place_of(thread, i);
    const bool ends = o.what == kind::commit || o.what == kind::abort;
    if (now.gave_up) return;
    if (skips) {
      skips = !ends;
      continue;
    }
    if (o.what == kind::begin) {
      if (me.in_transaction) continue;
      const auto s = on().begin_transaction(syncopate::machine::htm::mode::normal, where);
      me.in_transaction = s.started();
      skips = !s.started();
      me.results[i] = 10 + static_cast<int>(s.why);
    } else if (ends) {
      if (!me.in_transaction) continue;
      if (o.what == kind::abort) on().abort_by_program(3);
      on().commit_transaction(where);
      me.in_transaction = false;
    } else {
      me.results[i] = 1 + actor(thread, o, where).act();
    }
  }
  const operation last{};
  actor finally(thread, last, place_of(thread, 90));
  if (me.in_transaction) on().commit_transaction(place_of(thread, 91));
  for (unsigned l = locks; l-- > 0;) (void)finally.unlock(l);
  (void)finally.unlock_any();
  const auto joins = [&](const operation& o) {
    return o.what == kind::join && o.variable == thread;
  };
  for (const auto& other : running->threads)
    if (std::any_of(other.begin(), other.end(), joins)) {
      on().store(at(&now.ended[thread]), 4, 1, std::memory_order_release, place_of(thread, 92));
      break;
    }
  me.ended = true;
}

void begin_thread(std::size_t thread, engine::place where) {
  on().spawn(
      [](void* index) {
        run_thread(static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(index)));
      },
      reinterpret_cast<void*>(thread), 0, where);
}

int actor::spawn() {
  const std::size_t begins = thread_ + 1 + o_.variable;
  if (begins >= running->threads.size()) return 5;
  const auto by = spawned_by(*running, begins);
  if (!by || &running->threads[by->first][by->second] != &o_) return 5;
  begin_thread(begins, where_);
  return 0;
}

int run_main() {
  for (std::size_t t = 0; t < running->threads.size(); ++t)
    if (!spawned_by(*running, t)) begin_thread(t, place_of(9, t));
  return 0;
}

std::string outcome() {
  std::string all;
  for (unsigned v = 0; v < variables; ++v) {
    const int value = peek(v);
    all.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  all.append(reinterpret_cast<const char*>(now.cells), sizeof now.cells);
  for (std::size_t t = 0; t < running->threads.size(); ++t) {
    const auto& thread = now.threads[t];
    for (std::size_t i = 0; i < running->threads[t].size(); ++i)
      all.append(reinterpret_cast<const char*>(&thread.results[i]), sizeof(int));
    all += thread.ended ? 'e' : 'w';
  }
  return all;
}

}  // namespace

std::string text(const program& p, const std::string& outcome) {
  std::string all;
  std::size_t at = 0;
  const auto number = [&] {
    int value = 0;
    std::memcpy(&value, &outcome[at], sizeof value);
    at += sizeof value;
    return " " + std::to_string(value);
  };
  all += "variables";
  for (unsigned i = 0; i < variables; ++i) all += number();
  all += "; plain";
  for (unsigned i = 0; i < variables; ++i) all += number();
  for (const auto& thread : p.threads) {
    all += "; read";
    for (std::size_t i = 0; i < thread.size(); ++i) all += number();
    all += outcome[at++] == 'e' ? " and ended" : " and waits";
  }
  return all;
}

std::vector<int> values(const program& p, const std::string& outcome) {
  std::vector<int> last(variables), read;
  std::size_t at = 2 * variables * sizeof(int);
  for (const auto& thread : p.threads) {
    for (const operation& o : thread) {
      int result = 0;
      std::memcpy(&result, &outcome[at], sizeof result);
      at += sizeof result;
      if (o.what == kind::load || o.what == kind::modify) read.push_back(result - 1);
    }
    ++at;
  }
  std::memcpy(last.data(), outcome.data(), variables * sizeof(int));
  read.insert(read.end(), last.begin(), last.end());
  return read;
}

namespace {

bool all_must_end = false;

found explore(const program& p, const explored::options& o) {
  const auto machine = std::make_unique<explored::machine>(o);
  explored::running_machine = machine.get();
  running = &p;
  found result;
  explored::machine::surroundings around;
  around.before = [] {
    std::memset(&now, 0, sizeof now);
    objects::barrier_init(now.barrier, 2, nullptr);
  };
  around.after = [&] {
    if (!now.gave_up) result.outcomes.insert(outcome());
  };
  around.all_must_end = all_must_end;
  around.loops_may_stay = !all_must_end;
  around.stack = [] {
    static constexpr std::array<unsigned char, 8> always_the_same{};
    return std::span<const unsigned char>(always_the_same);
  };
  result.how = machine->explore(&run_main, around);
  return result;
}

found explore(const program& p, const std::string& more) {
  explored::options o;
  const std::string all = p.options + more;
  if (!explored::parse(all.c_str(), o).empty()) std::abort();
  return explore(p, o);
}

}  // namespace

found explore_reduced(const program& p, std::uint64_t most_executions) {
  turns_before_plain = false;
  return explore(p, ",executions=" + std::to_string(most_executions));
}

found explore_unrolled(const program& p, std::uint64_t most_executions) {
  unrolls = true;
  found result = explore_reduced(p, most_executions);
  unrolls = false;
  return result;
}

found explore_in_jobs(const program& p, unsigned jobs) {
  turns_before_plain = false;
  return explore(p, ",split=1,jobs=" + std::to_string(jobs));
}

found explore_schedule(const program& p, const std::string& schedule) {
  turns_before_plain = false;
  explored::options o;
  o.schedule = schedule;
  return explore(p, o);
}

strictly::strictly() { all_must_end = true; }
strictly::~strictly() { all_must_end = false; }

found explore_every_order(const program& p, std::uint64_t most_executions) {
  turns_before_plain = true;
  return explore(p, ",every_order,executions=" + std::to_string(most_executions));
}

}  // namespace fuzz
