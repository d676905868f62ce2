// test_stack.cpp -- an abort brings back the stack and the registers, through functions that have
// returned; other threads' writes to a stack are kept; dead frames are left alone.
#include <atomic>
#include <cfenv>
#include <cstring>
#include <string>
#include <thread>

#include <alloca.h>
#include <pthread.h>
#include <sys/mman.h>
#include <threads.h>
#include <ucontext.h>
#include <xmmintrin.h>

#include "check.h"

using htm::cause;

namespace {

unseen aborted;

[[gnu::noinline]] bool enter() {
  volatile char frame[200];
  std::memset(const_cast<char*>(frame), 1, sizeof frame);
  return htm::begin().started();
}
[[gnu::noinline]] bool enter_deeper(int depth) {
  volatile long frame[16] = {depth};
  return depth == 0 ? enter() : enter_deeper(static_cast<int>(frame[0]) - 1);
}

// Values in callee-saved registers and in the frame, changed inside.
[[gnu::noinline]] void registers_and_locals(int depth) {
  long a = depth, b = depth + 1, c = depth + 2, d = depth + 3, e = depth + 4, f = depth + 5;
  char text[64] = "before";
  std::string string = "before that is longer than what a string has inside";
  int* const room = static_cast<int*>(alloca(400));
  room[99] = 4;
  if (enter_deeper(depth)) {
    asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
    a = b = c = d = e = f = 0;
    asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
    std::strcpy(text, "inside");
    string += "inside";
    room[99] = 5;
    aborted.add(1);
    htm::abort<1>();
  }
  asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
  CHECK(a == depth && b == depth + 1 && c == depth + 2 && d == depth + 3);
  CHECK(e == depth + 4 && f == depth + 5);
  CHECK(std::strcmp(text, "before") == 0 && room[99] == 4);
  CHECK(string == "before that is longer than what a string has inside");
}

[[gnu::noinline]] void use(char* bytes, std::size_t n, char value) {
  std::memset(bytes, value, n);
  asm volatile("" ::"r"(bytes) : "memory");
  for (std::size_t i = 0; i < n; i += 8) bytes[i] = static_cast<char>(value + 1);
}
[[gnu::noinline]] void big_frame(char value) {
  char bytes[16 << 10];
  use(bytes, sizeof bytes, value);
}
[[gnu::noinline]] void abort_deeper() {
  char bytes[3000];
  use(bytes, sizeof bytes, 3);
  htm::abort<2>();
  use(bytes, sizeof bytes, 4);
}

// The roll-back runs on the stack below begin's frame. If what frames there wrote were logged, the
// log's old bytes, 0x5a, would come back over the roll-back's own frames.
[[gnu::noinline]] void dead_frames() {
  big_frame(0x5a);
  const htm::status s = htm::begin();
  if (s.started()) {
    big_frame(0x11);
    abort_deeper();
  }
  CHECK(s.why == cause::explicit_ && s.code == 2);
}

// Another thread writes this stack, plainly or by an atomic operation: the write stays, and what
// would have put the old bytes back is aborted before.
void foreign_write(bool atomic) {
  alignas(64) volatile long target = 1;
  const htm::status s = while_inside([] {},
                                     [&] {
                                       if (atomic) __atomic_store_n(&target, 2, __ATOMIC_SEQ_CST);
                                       else target = 2;
                                     });
  CHECK(target == 2 && s.why == cause::conflict);
}

void* nothing(void*) { return nullptr; }
int nothing_in_c(void*) { return 0; }

// So is the handle of a thread that another one starts, which the C library writes.
template <class Handle, class Start>
Handle foreign_handle(Start start) {
  alignas(64) Handle handle{};
  const htm::status s = while_inside([] {}, [&] { start(handle); });
  CHECK(s.why == cause::conflict && handle != Handle{});
  return handle;
}
void foreign_handles() {
  const auto made = foreign_handle<pthread_t>(
      [](pthread_t& handle) { CHECK(pthread_create(&handle, nullptr, nothing, nullptr) == 0); });
  CHECK(pthread_join(made, nullptr) == 0);
  const auto made_in_c = foreign_handle<thrd_t>(
      [](thrd_t& handle) { CHECK(thrd_create(&handle, nothing_in_c, nullptr) == thrd_success); });
  CHECK(thrd_join(made_in_c, nullptr) == thrd_success);
}

// A transaction begins while another one has written its stack and not committed: what that wrote
// must not be in the copy that comes back.
void begins_beside_a_writer() {
  alignas(64) volatile long target = 1;
  unseen written, begun;
  htm::status writers{};
  std::thread other([&] {
    writers = htm::begin();
    if (writers.started()) {
      target = 2;
      written.set(1);
      stay_until(begun);
      htm::abort<4>();
    }
  });
  written.await(1);
  // Refused, as by an interrupt, while the other thread is about to write its status here.
  htm::status s{};
  do {
    s = htm::begin();
    if (s.started()) {
      begun.set(1);
      htm::abort<5>();
    }
  } while (s.why == cause::other);
  other.join();
  CHECK(s.code == 5 && !writers.started() && target == 1);
}

// Transactions begin and abort all the time while another thread fills a large part of this stack
// plainly, long after the check of its last line: no copy may bring old bytes back. The zeros come
// from pages that are not there yet, so that filling is slower than copying the stack.
void aborts_while_a_range_is_filled() {
  constexpr int rounds = 10;
  constexpr std::size_t bytes = 256 << 10;
  alignas(64) char filled[bytes];
  std::atomic<int> turn{0};
  std::thread other([&] {
    for (int round = 1; round <= rounds; ++round) {
      void* const zeros = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      while (turn.load() != 2 * round - 1) std::this_thread::yield();
      std::memcpy(filled, zeros, bytes);
      turn.store(2 * round);
      munmap(zeros, bytes);
    }
  });
  std::size_t stale = 0;
  for (int round = 1; round <= rounds; ++round) {
    std::memset(filled, 1, bytes);
    turn.store(2 * round - 1);
    while (turn.load() != 2 * round) {
      if (htm::begin().started()) htm::abort<6>();
    }
    for (const char each : filled) stale += each != 0;
  }
  other.join();
  CHECK(stale == 0);
}

// A thread that has written this stack, and then goes on without any access that the machine sees:
// the write may not have been made yet, so no transaction begins here; but begin returns.
void beside_a_writer_that_never_settles() {
  alignas(64) volatile long target = 1;
  unseen written, stop;
  std::thread other([t = &target, w = &written, s = &stop] {
    unseen* const tells = w;
    const unseen* const ends = s;
    *t = 2;
    tells->set(1);
    ends->await_spinning(1);  // no access, no call that the machine sees
    *t = 3;
  });
  written.await(1);
  const htm::status s = htm::begin();
  if (s.started()) htm::abort<7>();
  CHECK(s.why == cause::other && !s.may_retry);
  stop.set(1);
  other.join();
  CHECK(retry([&] { target = 4; }) && target == 4);
}

// One that sleeps in the kernel, or that polls, has made its write.
template <class Wait>
void beside_a_writer_that_waits(Wait wait) {
  alignas(64) volatile long target = 1;
  unseen written, stop;
  std::thread other([&] {
    target = 2;
    wait(written, stop);
  });
  written.await(1);
  htm::status s{};
  do {  // `written` is said before the wait begins
    s = htm::begin();
    if (s.started()) htm::abort<8>();
  } while (s.why == cause::other);
  CHECK(s.code == 8 && target == 2);
  stop.set(1);
  other.join();
}
void beside_writers_that_wait() {
  beside_a_writer_that_waits([](unseen& written, const unseen& stop) {
    written.set(1);
    while (stop.get() == 0) usleep(1000);
  });
  beside_a_writer_that_waits([](unseen& written, const unseen& stop) {
    static std::atomic<int> word{0};
    written.set(1);
    while (stop.get() == 0) word.load();
  });
}

void on_another_stack() {
  static char stack[64 << 10];
  static ucontext_t back, there;
  static htm::status s;
  getcontext(&there);
  there.uc_stack.ss_sp = stack;
  there.uc_stack.ss_size = sizeof stack;
  there.uc_link = &back;
  makecontext(
      &there, [] { s = attempt([] {}); }, 0);
  swapcontext(&back, &there);
  CHECK(s.why == cause::other);
}

// Of both units: fegetround() asks the old one only.
void control_words() {
  std::fesetround(FE_UPWARD);
  const unsigned vectors = _mm_getcsr();
  const htm::status s = attempt([] {
    std::fesetround(FE_DOWNWARD);
    htm::abort<3>();
  });
  CHECK(s.code == 3 && std::fegetround() == FE_UPWARD && _mm_getcsr() == vectors);
  CHECK(attempt([] { std::fesetround(FE_TONEAREST); }).started());
  CHECK(std::fegetround() == FE_TONEAREST && _mm_getcsr() != vectors);
}

void everything() {
  for (int depth : {0, 1, 5, 40}) registers_and_locals(depth);
  CHECK(aborted.get() == 4);
  aborted.set(0);
  dead_frames();
  for (int i = 0; i < 20; ++i) {
    foreign_write(true);
    foreign_write(false);
    begins_beside_a_writer();
    foreign_handles();
  }
  aborts_while_a_range_is_filled();
  beside_a_writer_that_never_settles();
  beside_writers_that_wait();
  on_another_stack();
  control_words();
}

}  // namespace

int main() {
  everything();
  std::thread(everything).join();
}
