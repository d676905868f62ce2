// A thread takes a buffer out of what transactions share and gives it back to the system, while
// others' transactions may still be reading it: those begin again. What the program itself does
// wrong in a transaction ends it, as does a signal that it is sent, and a handler that it set up
// before hears of it.
// Stock: fails
#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <thread>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <syncopate/tm/transaction.h>

#include "check.h"

namespace {

constexpr long words = 4096, buffers = 500;
long* shared_buffer;
std::atomic<bool> stop{false}, counts{false};
long heard;

long* new_buffer(long value) {
  void* const fresh = mmap(nullptr, words * sizeof(long), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(fresh != MAP_FAILED);
  auto* const buffer = static_cast<long*>(fresh);
  for (long i = 0; i < words; i += 8) buffer[i] = value;
  return buffer;
}

// Returns what all words of the buffer have in common.
[[gnu::noinline]] long read_all() {
  long first = 0, differing = 0;
  __transaction_atomic {
    const long* const b = shared_buffer;
    first = b[0];
    differing = 0;
    for (long i = 0; i < words; i += 8) differing += b[i] != first ? 1 : 0;
  }
  CHECK(differing == 0);
  return first;
}
void read_until_stopped() {
  long last = 0;
  while (!stop) {
    const long value = read_all();
    CHECK(value >= last);
    last = value;
  }
}
// One that writes after what it has read is gone.
long times;
[[gnu::transaction_pure]] [[gnu::noinline]] void linger() {
  for (int i = 0; i < 2000; ++i) asm volatile("" ::: "memory");
}
[[gnu::noinline]] void read_and_count() {
  __transaction_atomic {
    const long* const b = shared_buffer;
    const long value = b[words - 8];
    linger();
    times += value >= 0 ? 1 : 0;
  }
}
void count_until_stopped() {
  for (; !stop; counts = true) read_and_count();
}
// One who waits for a buffer that begins with more than `last` looks at the old one meanwhile.
[[gnu::noinline]] long wait_for_more(long last) {
  long value = 0;
  __transaction_atomic {
    const long* const b = shared_buffer;
    value = b[words - 8];
    if (value <= last) SYNCOPATE_TM_RETRY();
  }
  return value;
}
void wait_until_last() {
  for (long last = 0; last < buffers;) last = wait_for_more(last);
}
[[gnu::noinline]] long* replace(long* fresh) {
  long* old = nullptr;
  __transaction_atomic {
    old = shared_buffer;
    shared_buffer = fresh;
  }
  return old;
}

void replace_while_others_read() {
  shared_buffer = new_buffer(0);
  std::thread reader(read_until_stopped), counter(count_until_stopped), waiter(wait_until_last);
  while (!counts) std::this_thread::yield();
  for (long i = 1; i <= buffers; ++i) {
    long* const fresh = new_buffer(i);
    munmap(replace(fresh), words * sizeof(long));
  }
  stop = true;
  reader.join(), counter.join(), waiter.join();
}

[[gnu::noipa]] long read_wildly(const long* where) {
  long value = 0;
  __transaction_atomic { value = *where; }
  return value;
}

sigjmp_buf out;
void hear(int) {
  ++heard;
  siglongjmp(out, 1);
}

// In a child each, before there are threads: without a handler, and with one.
void be_killed_in_children() {
  const long* const nowhere = nullptr;
  int status = 0;
  pid_t child = fork();
  if (child == 0) std::_Exit(static_cast<int>(read_wildly(nowhere)));
  CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
  child = fork();
  if (child == 0) {
    std::signal(SIGSEGV, hear);
    if (sigsetjmp(out, 1) == 0) read_wildly(nowhere);
    std::_Exit(heard == 1 ? 0 : 1);
  }
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  // A signal that somebody sends comes once only.
  child = fork();
  if (child == 0) {
    const long here = 1;
    read_wildly(&here);
    kill(getpid(), SIGSEGV);
    std::_Exit(0);
  }
  CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

}  // namespace

int main() {
  be_killed_in_children();
  replace_while_others_read();
}
