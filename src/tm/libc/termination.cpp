// termination.cpp -- abort and assert in transactions.
#include "tm/libc/clone.h"

#include <syncopate/tm/libc.h>

#undef NDEBUG  // <cassert> declares __assert_fail() for programs with assertions only
#include <cassert>
#include <cstdlib>

using namespace syncopate::tm;

void tm_abort() { std::abort(); }
void tm_assert_failed(const char* condition, const char* file, unsigned line,
                      const char* function) {
  __assert_fail(condition, file, line, function);
}

SYNCOPATE_TM_CLONE(tm_abort, 8);
SYNCOPATE_TM_CLONE(tm_assert_failed, 16);

void clone_of_tm_abort() {
  _ITM_changeTransactionMode(serial_irrevocable);
  std::abort();
}

void clone_of_tm_assert_failed(const char* condition, const char* file, unsigned line,
                               const char* function) {
  _ITM_changeTransactionMode(serial_irrevocable);
  __assert_fail(condition, file, line, function);
}
