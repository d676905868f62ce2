// serialization.cpp -- counts why transactions ran alone, as the paper's tables do, on whichever
// libitm runs: the linker sends this program's calls of three of its functions here first (--wrap).
//
//   in-flight switch   met something unsafe on its way, and went on (or began again) alone
//   start serial       began alone, since the compiler saw something unsafe on every path
//   abort serial       committed alone without either: it had failed too often, or the library
//                      lets transactions run one at a time of its own accord
#include <atomic>

#include "stage.h"

#include "cache.h"

#if TXCACHE_STAGE < TXCACHE_RELAXED

workloads::txcache::serialization workloads::txcache::count_serialization() { return {}; }

#else

namespace {

using workloads::txcache::serialization;
using workloads::txcache::u32;

enum : u32 { outside = 0, can_begin_again = 1, irrevocable = 2 };  // _ITM_howExecuting
constexpr u32 uninstrumented_code = 0x0002, instrumented_code = 0x0001, goes_irrevocable = 0x0040;

enum class reason : unsigned char { none, start, switched };

// Of one thread. Without a constructor or destructor, which each access would have to ask for.
struct thread_counts {
  serialization counts;
  reason why;
  bool is_listed;
};
constinit thread_local thread_counts mine{};
std::atomic<std::uint64_t> ended[4];  // what threads that have ended leave

struct at_thread_end {
  ~at_thread_end() {
    const std::uint64_t all[] = {mine.counts.transactions, mine.counts.in_flight_switch,
                                 mine.counts.start_serial, mine.counts.abort_serial};
    for (int i = 0; i < 4; ++i) ended[i].fetch_add(all[i], std::memory_order_relaxed);
  }
};

[[gnu::noinline, gnu::cold]] void list() {
  thread_local at_thread_end leaver;
  (void)&leaver;
  mine.is_listed = true;
}

}  // namespace

extern "C" {

void __real__ITM_commitTransaction();
void __real__ITM_changeTransactionMode(int mode);

// Called by the assembler below, before a transaction, or an inner one, begins.
__attribute__((used)) void txcache_count_begin(u32 properties) {
  if (_ITM_inTransaction() != outside) return;
  if (!mine.is_listed) list();
  ++mine.counts.transactions;
  const bool alone = (properties & goes_irrevocable) != 0 || (properties & instrumented_code) == 0;
  mine.why = alone ? reason::start : reason::none;
  mine.counts.start_serial += alone;
}

void __wrap__ITM_changeTransactionMode(int mode) {
  if (mine.why == reason::none && _ITM_inTransaction() == can_begin_again) {
    mine.why = reason::switched;
    ++mine.counts.in_flight_switch;
  }
  __real__ITM_changeTransactionMode(mode);
}

void __wrap__ITM_commitTransaction() {
  if (mine.why == reason::none && _ITM_inTransaction() == irrevocable) {
    mine.why = reason::switched;  // inner transactions end here, too
    ++mine.counts.abort_serial;
  }
  __real__ITM_commitTransaction();
}

}  // extern "C"

// _ITM_beginTransaction returns more than once, each time to its caller with the stack as it was:
// so this one leaves by a jump, and keeps nothing on the stack.
asm(R"(
  .text
  .globl __wrap__ITM_beginTransaction
  .type __wrap__ITM_beginTransaction, @function
__wrap__ITM_beginTransaction:
  .cfi_startproc
  pushq %rdi
  .cfi_adjust_cfa_offset 8
  call txcache_count_begin
  popq %rdi
  .cfi_adjust_cfa_offset -8
  xorl %eax, %eax
  jmp __real__ITM_beginTransaction@PLT
  .cfi_endproc
  .size __wrap__ITM_beginTransaction, .-__wrap__ITM_beginTransaction
)");

serialization workloads::txcache::count_serialization() {
  const serialization& own = mine.counts;
  const auto at = [](int i) { return ended[i].load(std::memory_order_relaxed); };
  return {at(0) + own.transactions, at(1) + own.in_flight_switch, at(2) + own.start_serial,
          at(3) + own.abort_serial};
}

#endif
