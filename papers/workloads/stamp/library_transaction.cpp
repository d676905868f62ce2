// library_transaction.cpp -- what the library form of transactions has besides its header: memory
// in transactions, and their numbers. Which algorithm runs is libitm's choice (SYNCOPATE_TM); tl2
// unless told.
#include "library_transaction.h"

#include "program.h"

#include <cstdlib>
#include <new>

extern "C" {
void* _ITM_malloc(std::size_t);
void _ITM_free(void*);
}

namespace workloads::stamp {

thread_local constinit transaction_state transactions_here;

namespace {

[[gnu::constructor(101)]] void choose_algorithm() { ::setenv("SYNCOPATE_TM", "tl2", 0); }

void report_thread(transaction_counts& to) {
  to.attempts += transactions_here.attempts;
  to.commits += transactions_here.commits;
}
const bool reporting = (end_of_thread = report_thread, true);

}  // namespace
}  // namespace workloads::stamp

// Every block is malloc's, so that one may be freed in a transaction and another one outside.
void* operator new(std::size_t bytes) {
  const bool inside = workloads::stamp::transactions_here.running;
  void* const at = inside ? _ITM_malloc(bytes) : std::malloc(bytes);
  if (at == nullptr) throw std::bad_alloc();
  return at;
}
void operator delete(void* at) noexcept {
  if (workloads::stamp::transactions_here.running) _ITM_free(at);
  else std::free(at);
}
void operator delete(void* at, std::size_t) noexcept { operator delete(at); }
