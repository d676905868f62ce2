// transactions.cpp -- begin, commit, cancel, and questions about the running transaction.
#include "abi.h"
#include "numbers.h"
#include "tm/core/quick.h"

#include <cstdio>
#include <cstdlib>

using namespace syncopate;
using namespace syncopate::tm;

namespace {

enum abort_reason : int { user_abort = 1, user_retry = 2, outer_abort = 16 };
enum how_executing : int { outside, in_retryable, in_irrevocable };
constexpr int interface_version = 90;  // _ITM_VERSION_NO
constexpr u64 no_transaction = 1;

struct source_location {
  std::int32_t reserved, flags, reserved2, reserved3;
  const char* where;
};

// What begin_x86_64.S takes for granted. Not of standard layout, but without virtual bases.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
static_assert(SYNCOPATE_UNINSTRUMENTED_CODE == uninstrumented_code);
static_assert(SYNCOPATE_HAS_NO_ABORT == has_no_abort);
static_assert(SYNCOPATE_RUN_UNINSTRUMENTED == run_uninstrumented);
static_assert(SYNCOPATE_SAVE_LIVE_VARIABLES == save_live_variables);
static_assert(SYNCOPATE_SOLO_QUICK == (regime::solo | regime::quick));
static_assert(SYNCOPATE_DEPTH == offsetof(transaction, depth) && SYNCOPATE_PROGRESS == 0);
static_assert(SYNCOPATE_ACTIVE == offsetof(transaction, active));
static_assert(SYNCOPATE_QUICK_RUNNING == quick::running);
static_assert(offsetof(regime, word) == 0);
static_assert(alignof(transaction) > SYNCOPATE_SOLO_QUICK);
#pragma GCC diagnostic pop

}  // namespace

extern "C" [[gnu::visibility("hidden")]] u32 syncopate_itm_begin(u32 properties,
                                                                 const registers* where) {
  return begin(properties, *where);
}

// Where a quick transaction (tm/core/quick.h) found that its thread is alone no longer.
extern "C" [[gnu::visibility("hidden")]] void syncopate_itm_not_quick(transaction* tx) {
  quick::leave(tx);
}

SYNCOPATE_ITM void _ITM_commitTransaction() {
  if (transaction* const tx = current; __builtin_expect(quick::runs(tx), 1)) quick::commit(tx);
  else commit();
}

SYNCOPATE_ITM void _ITM_commitTransactionEH(void* exception) {
  transaction* const tx = current;
  tx->eh.in_flight = exception;
  _ITM_commitTransaction();
  tx->eh.in_flight = nullptr;
}

SYNCOPATE_ITM void _ITM_abortTransaction(int reason) {
  transaction* const tx = self();
  if (tx->depth == 0) {
    std::fputs("libitm (syncopate): cancel outside of a transaction\n", stderr);
    std::abort();
  }
  if (reason & user_retry) retry(tx);
  cancel(tx, (reason & outer_abort) != 0);
}

SYNCOPATE_ITM void _ITM_changeTransactionMode(int /*serial irrevocable, the only one*/) {
  become_irrevocable(self(), nullptr, __builtin_return_address(0));
}

SYNCOPATE_ITM u32 _ITM_inTransaction() {
  const transaction* const tx = current;
  if (tx->depth == 0) return outside;
  return cannot_roll_back(tx->how) ? in_irrevocable : in_retryable;
}

SYNCOPATE_ITM u64 _ITM_getTransactionId() {
  transaction* const tx = current;
  return tx->depth == 0 ? no_transaction : identity(tx);
}

SYNCOPATE_ITM int _ITM_versionCompatible(int version) {
  if (version == interface_version) return 1;
  std::fprintf(stderr,
               "libitm (syncopate): the program was built for version %d of the transactional "
               "interface, this library has version %d\n",
               version, interface_version);
  return 0;
}

SYNCOPATE_ITM const char* _ITM_libraryVersion() { return "Syncopate TM " SYNCOPATE_VERSION; }

SYNCOPATE_ITM [[noreturn]] void _ITM_error(const source_location* at, int code) {
  std::fprintf(stderr, "libitm (syncopate): the compiler reports error %d%s%s\n", code,
               at != nullptr && at->where != nullptr ? " at " : "",
               at != nullptr && at->where != nullptr ? at->where : "");
  std::abort();
}

// What was logged for memory that the program gives up, or lets out of the transaction for good.
SYNCOPATE_ITM void _ITM_dropReferences(void* at, std::size_t size) {
  transaction* const tx = self();
  tx->undo.blank(reinterpret_cast<address>(at), size);
  tx->writes.flush(reinterpret_cast<address>(at), size);
  tx->allocated.forget(at);
}

SYNCOPATE_ITM void _ITM_addUserCommitAction(void (*function)(void*), u64 /*resuming*/,
                                            void* argument) {
  transaction* const tx = self();
  tx->not_plain();
  if (!tx->on_commit.add(function, argument)) restart(tx, cause::memory);
}

SYNCOPATE_ITM void _ITM_addUserUndoAction(void (*function)(void*), void* argument) {
  transaction* const tx = self();
  tx->not_plain();
  if (!cannot_roll_back(tx->how) && !tx->on_undo.add(function, argument))
    restart(tx, cause::memory);
}
