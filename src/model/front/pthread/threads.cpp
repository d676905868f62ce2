// threads.cpp -- creating, joining and detaching threads.

#include "model/front/pthread/threads.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <dlfcn.h>
#include <link.h>

#include "model/front/compiler/critical_sections.h"
#include "model/front/compiler/transaction_memory.h"
#include "model/front/libc/libc_range.h"
#include "model/front/libc/signals.h"
#include "model/front/names/names.h"
#include "model/front/program/identity.h"
#include "model/front/program/options.h"
#include "model/front/pthread/callers.h"
#include "model/front/pthread/cancel.h"
#include "model/front/pthread/early_threads.h"
#include "model/front/pthread/objects.h"
#include "model/front/pthread/on_engine.h"
#include "model/front/pthread/real.h"
#include "model/front/threads/thread_exit.h"
#include "posix/once.h"

namespace syncopate::instrument {
namespace {

constexpr std::size_t most_threads = 16'384;  // alive or not yet joined, at one time
constexpr std::size_t default_stack = std::size_t{8}
                                      << 20;  // Linux' default; only touched pages count

// Its first is main's. Simulated programs' threads access it: its place in a page is the same
// whatever other variables this library has.
alignas(4096) constinit thread_record table[most_threads] = {};
constinit std::atomic<std::size_t> highest{1};  // records from here on were never used
thread_local constinit thread_record* self [[gnu::tls_model("initial-exec")]] = nullptr;

std::uint32_t owner_of(const thread_record& r) {
  return r.status.load(std::memory_order_acquire) & thread_record::owner_mask;  // [S]
}

// Changes the owner from one to another and returns the status before; fails when it is not `from`.
bool change_owner(thread_record& r, std::uint32_t from, std::uint32_t to, std::uint32_t& before) {
  before = r.status.load(std::memory_order_relaxed);  // [G]
  do {
    if ((before & thread_record::owner_mask) != from) return false;
  } while (!r.status.compare_exchange_weak(before, (before & ~thread_record::owner_mask) | to,
                                           std::memory_order_acq_rel));  // [S]
  return true;
}

// Where the program runs several times, each thread has a record that had no user before: that who
// took it comes behind that user is in no order of the program's.
thread_record* take_record(std::uint32_t owner) {
  std::size_t i = engine::runs_again() ? highest.load(std::memory_order_relaxed) : 1;  // [H]
  for (; i < most_threads; ++i) {
    std::uint32_t expected = thread_record::unused;
    if (table[i].status.load(std::memory_order_relaxed) != expected ||  // [G]
        !table[i].status.compare_exchange_strong(expected, owner,
                                                 std::memory_order_acq_rel))  // [S]
      continue;
    std::size_t known = highest.load(std::memory_order_relaxed);  // [H]
    while (known <= i &&
           !highest.compare_exchange_weak(known, i + 1, std::memory_order_seq_cst)) {  // [Q]
    }
    return &table[i];
  }
  return nullptr;
}

void free_record(thread_record& r) {
  r.status.store(thread_record::unused, std::memory_order_release);  // [S]
}

const void* entry_of(const thread_record& r) {
  return r.routine != nullptr ? reinterpret_cast<const void*>(r.routine)
                              : reinterpret_cast<const void*>(r.c11_routine);
}

void adopt_fiber(thread_record& r) {
  self = &r;
  r.index = on_engine([] { return engine::current(); });
  r.runs_on = running_fiber();
}

void thread_entry(void* argument) {
  thread_record& r = *static_cast<thread_record*>(argument);
  const program_scope program;
  adopt_fiber(r);
  on_engine([&] { note_thread_routine(r.index, entry_of(r), r.argument); });
  if (engine::has_signals()) begin_signals(r.index, r.signal_mask);
  if (r.has_affinity)
    on_engine([&] { engine::set_affinity(r.index, r.affinity, thread_record::affinity_bytes); });
  call_with_root(r);
  end_thread(r);
}

// What a new thread gets from its attributes and its creator.
struct start_conditions {
  std::uint32_t owner = thread_record::joinable;
  std::size_t stack = default_stack;
};

start_conditions conditions_of(const pthread_attr_t* attributes) {
  start_conditions c;
  if (attributes == nullptr) return c;
  int state = PTHREAD_CREATE_JOINABLE;
  ::pthread_attr_getdetachstate(attributes, &state);
  if (state == PTHREAD_CREATE_DETACHED) c.owner = thread_record::detached;
  ::pthread_attr_getstacksize(attributes, &c.stack);
  return c;
}

// Linux: the creator's affinity is inherited, the attributes' goes before it.
void set_initial_affinity(thread_record& r, const pthread_attr_t* attributes) {
  const thread_record& creator = self_record();
  r.has_affinity = creator.has_affinity;
  std::memcpy(r.affinity, creator.affinity, sizeof r.affinity);
  unsigned char mask[thread_record::affinity_bytes] = {};
  if (attributes == nullptr ||
      ::pthread_attr_getaffinity_np(attributes, sizeof mask, reinterpret_cast<cpu_set_t*>(mask)) !=
          0)
    return;
  // The C library answers "all" when none was set.
  if (std::all_of(mask, mask + sizeof mask, [](unsigned char byte) { return byte == 0xff; }))
    return;
  r.has_affinity = true;
  std::memcpy(r.affinity, mask, sizeof mask);
}

// Gives the right to join back when the join ends without one: its time was up, or a cancellation.
class join_claim {
 public:
  explicit join_claim(thread_record& r) : record_(r) {}
  ~join_claim() {
    std::uint32_t before;
    if (!joined_) change_owner(record_, thread_record::joining, thread_record::joinable, before);
  }
  join_claim(const join_claim&) = delete;
  join_claim& operator=(const join_claim&) = delete;
  void joined() {
    joined_ = true;
    free_record(record_);
  }

 private:
  thread_record& record_;
  bool joined_ = false;
};

// Where threads were made before, by the address: to be told which library that is in takes as long
// as a small execution.
constinit std::array<std::atomic<engine::place>, 16> makers{};

// Libraries whose threads wait by instructions of their own for the system call: as fibers they
// would stop the whole process, for good.
void refuse_threads_of_runtimes(engine::place where) {
  auto& known = makers[reinterpret_cast<std::uintptr_t>(where) / 4 % makers.size()];
  if (known.load(std::memory_order_relaxed) == where) return;  // [P]
  known.store(where, std::memory_order_relaxed);               // [P]
  Dl_info found;
  link_map* module = nullptr;
  if (dladdr1(where, &found, reinterpret_cast<void**>(&module), RTLD_DL_LINKMAP) == 0) return;
  if (module->l_name[0] == '\0' || needs_machine(module->l_ld)) return;  // the program's
  const char* const slash = std::strrchr(module->l_name, '/');
  const char* const name = slash != nullptr ? slash + 1 : module->l_name;
  for (const char* runtime : {"libgomp.so", "libomp.so", "libomp5.so", "libiomp5.so", "libtbb"})
    if (std::strncmp(name, runtime, std::strlen(runtime)) == 0)
      fail(
          "%s makes threads, which would wait in ways that this machine does not see: build what"
          " uses it for the machine, too (docs/machines.md, \"Compile\"), or let it use one thread",
          name);
}

}  // namespace

thread_record& self_record() {
  if (__builtin_expect(self == nullptr, 0)) self = &table[0];
  return *self;
}

thread_record* find_record(pthread_t thread) {
  const std::uintptr_t offset = thread - reinterpret_cast<std::uintptr_t>(table);
  if (offset >= sizeof table || offset % sizeof table[0] != 0) return nullptr;
  thread_record& r = table[offset / sizeof table[0]];
  return &r == &table[0] || owner_of(r) != thread_record::unused ? &r : nullptr;
}

std::optional<std::size_t> record_with(engine::address place) {
  const std::uintptr_t offset = place - reinterpret_cast<std::uintptr_t>(table);
  if (offset >= sizeof table) return std::nullopt;
  return offset / sizeof table[0];
}

bool is_end_of_thread(engine::address word) {
  const std::uintptr_t offset = word - reinterpret_cast<std::uintptr_t>(table);
  return offset < sizeof table && offset % sizeof table[0] == offsetof(thread_record, ended);
}

int start_thread(pthread_t* handle, const pthread_attr_t* attributes, void* (*routine)(void*),
                 int (*c11_routine)(void*), void* argument, engine::place where) {
  on_engine([&] { refuse_threads_of_runtimes(where); });
  const start_conditions conditions = conditions_of(attributes);
  thread_record* const r = take_record(conditions.owner);
  if (r == nullptr) return EAGAIN;
  r->routine = routine;
  r->c11_routine = c11_routine;
  r->argument = argument;
  r->result = nullptr;
  r->runs_on = nullptr;
  r->root = nullptr;
  r->cleanup = nullptr;
  r->cancel_pending.store(false, std::memory_order_seq_cst);  // [Q]
  r->cancel_disabled = r->cancel_at_once = false;
  r->sleeps_on.store(nullptr, std::memory_order_seq_cst);    // [Q]
  std::memcpy(r->name, self_record().name, sizeof r->name);  // as Linux
  r->is_client = self_record().is_client;
  set_initial_affinity(*r, attributes);
  r->signal_mask = engine::has_signals() ? signal_mask() : 0;
  on_engine([&] {
    // Its last user is joined; a new record needs no store, which would be one more event.
    if (r->ended != 0)
      engine::store(at(&r->ended), sizeof r->ended, 0, std::memory_order_relaxed, where);  // [E]
    engine::access(at(handle), sizeof *handle, engine::kind::write, where);
  });
  *handle = handle_of(*r);  // before the thread runs: it may read it
  section_called("pthread_create", where);
  const engine::place maker = program_caller(where);
  on_engine([&] { engine::spawn(thread_entry, r, conditions.stack, maker); });
  return 0;
}

int join_thread(pthread_t thread, void** result, const machine::deadline* until,
                engine::place where) {
  section_called("pthread_join", where);
  // What is kept of threads here is not rolled back.
  if (in_transaction()) on_engine([&] { engine::htm_unfriendly(where); });
  thread_record* const r = find_record(thread);
  if (r == nullptr) {
    objects::not_joinable("join of a thread that was joined or detached before", where);
    return ESRCH;
  }
  if (r == &self_record()) return EDEADLK;
  std::uint32_t before;
  if (!change_owner(*r, thread_record::joinable, thread_record::joining, before)) {
    objects::not_joinable("join of a thread that is detached or that another one joins", where);
    return EINVAL;
  }
  join_claim claim(*r);
  if (!posix::await_end(objects::awaited_word{r->ended, program_caller(where)}, until))
    return ETIMEDOUT;
  void* const value = r->result;
  claim.joined();
  if (result != nullptr) {
    touch(result, sizeof *result, engine::kind::write, where);
    *result = value;
  }
  return 0;
}

void end_thread(thread_record& r) {
  run_thread_exit_duties();
  if (engine::has_signals()) end_signals(r.index);
  objects::thread_ends(static_cast<const char*>(entry_of(r)) + 1);
  const std::uint32_t before =
      r.status.fetch_or(thread_record::leaving, std::memory_order_seq_cst);  // [Q]
  // From here on the record belongs to whoever joins, unless nobody will. The place names what the
  // thread ran: inside of its routine, as a return address.
  posix::announce_end(objects::awaited_word{r.ended, static_cast<const char*>(entry_of(r)) + 1});
  if ((before & thread_record::owner_mask) == thread_record::detached) free_record(r);
  const engine_scope inside;
  engine::thread_exit();
}

bool has_other_threads() {
  const thread_record& me = self_record();
  for (std::size_t i = 0; i < highest.load(std::memory_order_relaxed); ++i)  // [H]
    if (&table[i] != &me && owner_of(table[i]) != thread_record::unused &&
        (table[i].status.load(std::memory_order_relaxed) & thread_record::leaving) == 0)  // [G]
      return true;
  return false;
}

void wait_for_all_others(const thread_record& me) {
  bool any = true;
  while (any) {
    any = false;
    for (std::size_t i = 0; i < highest.load(std::memory_order_relaxed); ++i) {  // [H]
      thread_record& r = table[i];
      if (&r == &me || owner_of(r) == thread_record::unused) continue;
      // One that has ended and waits for its join is no reason to look again.
      if ((r.status.load(std::memory_order_relaxed) & thread_record::leaving) == 0)
        any = true;  // [G]
      posix::await_end(objects::awaited_word{r.ended, nullptr}, nullptr);
    }
  }
}

int run_main_thread(int (*program)()) {
  for (std::size_t i = 0; i < highest.load(std::memory_order_relaxed); ++i)  // [H]
    std::memset(static_cast<void*>(&table[i]), 0, sizeof table[i]);
  highest.store(1, std::memory_order_seq_cst);  // [Q]
  objects::forget_threads();
  thread_record& r = table[0];
  r.status.store(thread_record::joinable, std::memory_order_seq_cst);  // [Q]
  adopt_fiber(r);
  struct call {
    int (*program)();
    int status;
  } main_call{program, 0};
  r.argument = &main_call;
  r.routine = [](void* p) -> void* {
    auto* const c = static_cast<call*>(p);
    c->status = c->program();
    return p;
  };
  call_with_root(r);
  if (r.result == &main_call) return main_call.status;
  run_thread_exit_duties();
  objects::thread_ends(nullptr);
  r.status.fetch_or(thread_record::leaving, std::memory_order_seq_cst);  // [Q]
  posix::announce_end(objects::awaited_word{r.ended, nullptr});
  wait_for_all_others(r);
  return 0;
}

}  // namespace syncopate::instrument

using namespace syncopate;  // NOLINT(google-build-using-namespace): this file is the ABI
using namespace syncopate::instrument;  // NOLINT(google-build-using-namespace)

// A join or detach of a static constructor's.
static int over(int error) {
  if (error == 0) forget_early();
  return error;
}

SYNCOPATE_EXPORT int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                    void* (*routine)(void*), void* argument) {
  if (constructing && asks_machine()) return create_early(thread, attributes, routine, argument);
  SYNCOPATE_UNLESS_PROGRAM(pthread_create, thread, attributes, routine, argument);
  return start_thread(thread, attributes, routine, nullptr, argument, SYNCOPATE_CALLER);
}

SYNCOPATE_EXPORT int pthread_join(pthread_t thread, void** result) {
  if (constructing && asks_machine()) return over(SYNCOPATE_REAL(pthread_join)(thread, result));
  SYNCOPATE_UNLESS_PROGRAM(pthread_join, thread, result);
  test_cancel();
  return join_thread(thread, result, nullptr, SYNCOPATE_CALLER);
}

SYNCOPATE_EXPORT int pthread_clockjoin_np(pthread_t thread, void** result, clockid_t clock,
                                          const timespec* when) {
  if (constructing && asks_machine())
    return over(SYNCOPATE_REAL(pthread_clockjoin_np)(thread, result, clock, when));
  SYNCOPATE_UNLESS_PROGRAM(pthread_clockjoin_np, thread, result, clock, when);
  test_cancel();
  if (when == nullptr) return join_thread(thread, result, nullptr, SYNCOPATE_CALLER);
  if (!posix::is_supported(clock) || !posix::is_valid(*when)) return EINVAL;
  const auto until = posix::to_deadline(clock, *when);
  return join_thread(thread, result, &until, SYNCOPATE_CALLER);
}

SYNCOPATE_EXPORT int pthread_timedjoin_np(pthread_t thread, void** result, const timespec* when) {
  if (constructing && asks_machine())
    return over(SYNCOPATE_REAL(pthread_timedjoin_np)(thread, result, when));
  SYNCOPATE_UNLESS_PROGRAM(pthread_timedjoin_np, thread, result, when);
  return pthread_clockjoin_np(thread, result, CLOCK_REALTIME, when);
}

SYNCOPATE_EXPORT int pthread_tryjoin_np(pthread_t thread, void** result) {
  if (constructing && asks_machine())
    return over(SYNCOPATE_REAL(pthread_tryjoin_np)(thread, result));
  SYNCOPATE_UNLESS_PROGRAM(pthread_tryjoin_np, thread, result);
  thread_record* const r = find_record(thread);
  if (r == nullptr) return ESRCH;
  const engine::place where = SYNCOPATE_CALLER;
  const auto ended = on_engine([&] {
    return engine::load(at(&r->ended), sizeof r->ended, std::memory_order_acquire, where);  // [E]
  });
  if (ended == 0) return owner_of(*r) == thread_record::joinable ? EBUSY : EINVAL;
  return join_thread(thread, result, nullptr, where);
}

SYNCOPATE_EXPORT int pthread_detach(pthread_t thread) {
  if (constructing && asks_machine()) return over(SYNCOPATE_REAL(pthread_detach)(thread));
  SYNCOPATE_UNLESS_PROGRAM(pthread_detach, thread);
  thread_record* const r = find_record(thread);
  if (r == nullptr) {
    objects::not_joinable("detaching a thread that was joined or detached before",
                          SYNCOPATE_CALLER);
    return ESRCH;
  }
  std::uint32_t before;
  if (!change_owner(*r, thread_record::joinable, thread_record::detached, before)) {
    objects::not_joinable("detaching a thread that is detached or that another one joins",
                          SYNCOPATE_CALLER);
    return EINVAL;
  }
  if ((before & thread_record::leaving) != 0 && r != &table[0]) {
    // It left before and will not free its record; wait for its last touch of it.
    objects::await_change({r->ended, SYNCOPATE_CALLER}, 0);
    free_record(*r);
  }
  return 0;
}

// Static constructors run in what becomes main's thread, and may keep its handle.
SYNCOPATE_EXPORT pthread_t pthread_self() {
  if (!asks_machine()) return SYNCOPATE_REAL(pthread_self)();
  return handle_of(self_record());
}
