// Hardware transactions: begin() inside a function that has returned, roll-back of the stack, of
// registers and of the heap.
#include <cstdlib>
#include <set>
#include <string>
#include <thread>

#include <syncopate/machine.h>
#include <syncopate/machine/htm.h>

#include "check.h"

namespace {

namespace htm = syncopate::machine::htm;

[[gnu::noinline]] htm::status begin_elsewhere() {
  const htm::status s = htm::begin();
  return s;
}
[[gnu::noinline]] void use_stack(int depth) {
  volatile char space[500];
  space[depth % 500] = 1;
  if (depth > 0) use_stack(depth - space[depth % 500]);
  if (depth == 7) htm::abort<42>();
}

int global = 1;

void abort_restores() {
  int local = 5;
  long a = std::rand(), b = a * 3, c = a ^ b, d = a + 1, e = b + 1;  // kept in registers
  const long sum = a + b + c + d + e;
  const htm::status s = begin_elsewhere();
  if (s.started()) {
    local = 6;
    global = 2;
    a = b = c = d = e = 0;
    use_stack(10);
    CHECK(false);
  }
  CHECK(s.why == htm::cause::explicit_ && s.code == 42);
  CHECK(local == 5 && global == 1 && a + b + c + d + e == sum);
}

void commit_keeps() {
  int local = 5;
  CHECK(!htm::active());
  CHECK(begin_elsewhere().started());
  CHECK(htm::active());
  local = 6;
  htm::commit();
  CHECK(local == 6 && !htm::active());
  htm::abort<1>();  // outside: nothing
}

void heap() {
  // Freed in a transaction that aborts: still there afterwards, and given out to nobody else.
  // volatile: a compiler takes blocks of two calls to differ.
  char* volatile kept = static_cast<char*>(std::malloc(100));
  kept[50] = 'k';
  void* inside = nullptr;
  if (begin_elsewhere().started()) {
    std::free(kept);
    inside = std::malloc(100);
    htm::abort<1>();
  }
  CHECK(inside == nullptr);
  std::set<void*> later;
  for (int i = 0; i < 50; ++i) later.insert(std::malloc(100));
  CHECK(later.size() == 50 && later.count(kept) == 0);
  CHECK(kept[50] == 'k');

  // Freed in one that commits: given out again.
  CHECK(begin_elsewhere().started());
  std::free(kept);
  htm::commit();
  char* volatile next = static_cast<char*>(std::malloc(100));
  CHECK(next == kept);
}

// What changes a stream without a system call.
void (*const use_stdout[])() = {
    [] { CHECK(ftrylockfile(stdout) != 0); },
    [] { flockfile(stdout); },
    [] { CHECK(fwrite_unlocked("lost", 1, 4, stdout) == 0); },
    [] { CHECK(putc_unlocked('l', stdout) == EOF); },
    [] { CHECK(fputs_unlocked("lost", stdout) == EOF); },
    [] { CHECK(std::ungetc('l', stdin) == EOF); },
};

void output_ends_them() {
  int attempts = 0;
  const htm::status s = begin_elsewhere();
  if (s.started()) {
    ++attempts;
    std::puts("a transaction that printed");
    CHECK(false);
  }
  CHECK(!s.started() && attempts == 0);
  for (const auto& with_stream : use_stdout) {
    if (begin_elsewhere().started()) {
      with_stream();
      CHECK(false);
    }
  }
  // No lock of the stream was left taken, and nothing is in its buffer.
  std::thread([] {
    CHECK(ftrylockfile(stdout) == 0);
    funlockfile(stdout);
  }).join();
  if (begin_elsewhere().started()) {
    std::this_thread::yield();
    CHECK(false);
  }
}

}  // namespace

int main() {
  for (int i = 0; i < 3; ++i) {
    abort_restores();
    commit_keeps();
  }
  heap();
  output_ends_them();
}
