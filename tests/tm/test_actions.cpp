// Commit actions in order, undo actions reversed, at the right moment; what the library says about
// the running transaction.
// Stock: fails
#include "check.h"

#include <cstdint>
#include <cstring>

extern "C" {
[[gnu::transaction_pure]] void _ITM_addUserCommitAction(void (*)(void*), std::uint64_t, void*);
[[gnu::transaction_pure]] void _ITM_addUserUndoAction(void (*)(void*), void*);
[[gnu::transaction_pure]] std::uint32_t _ITM_inTransaction();
[[gnu::transaction_pure]] std::uint64_t _ITM_getTransactionId();
int _ITM_versionCompatible(int);
const char* _ITM_libraryVersion();
}

namespace {

volatile bool yes = true;
[[gnu::transaction_pure]] bool true_now() { return yes; }

char trace[16];
int length;
void note(void* letter) { trace[length++] = *static_cast<char*>(letter); }
char letters[] = "abcd";
[[gnu::transaction_pure]] void on_commit(int i) { _ITM_addUserCommitAction(note, 1, letters + i); }
[[gnu::transaction_pure]] void on_undo(int i) { _ITM_addUserUndoAction(note, letters + i); }

bool trace_is(const char* expected) {
  const bool same = std::strcmp(trace, expected) == 0;
  std::memset(trace, 0, sizeof trace);
  length = 0;
  return same;
}

long x;

}  // namespace

int main() {
  CHECK(_ITM_versionCompatible(90) && !_ITM_versionCompatible(91));
  CHECK(std::strlen(_ITM_libraryVersion()) > 3);
  CHECK(_ITM_inTransaction() == 0);
  CHECK(_ITM_getTransactionId() == 1);

  std::uint64_t first = 0, second = 0;
  std::uint32_t inside = 0;
  __transaction_atomic {
    x = 1;
    on_commit(0), on_undo(1), on_commit(2);
    inside = _ITM_inTransaction();
    first = _ITM_getTransactionId();
    if (!true_now()) __transaction_cancel;
  }
  CHECK(inside == 1 || inside == 2);
  CHECK(trace_is("ac"));
  __transaction_atomic {
    x = 2;
    on_commit(3), on_undo(0), on_undo(1), on_undo(2);
    if (true_now()) __transaction_cancel;
  }
  CHECK(trace_is("cba") && x == 1);
  __transaction_atomic {
    x = 3;
    second = _ITM_getTransactionId();
    on_commit(0);
    __transaction_atomic {
      on_commit(1), on_undo(2);
      if (true_now()) __transaction_cancel;
    }
    on_commit(3);
    if (!true_now()) __transaction_cancel;
  }
  CHECK(trace_is("cad") && x == 3);
  CHECK(first != second && first > 1 && second > 1);
}
