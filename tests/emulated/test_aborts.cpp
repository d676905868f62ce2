// test_aborts.cpp -- each reason for an abort, with the status that it has on hardware; memory is
// as before.
#include <string.h>
#include <unistd.h>

#include "check.h"

using htm::cause;

namespace {

long word = 1;
alignas(64) char lines[64 * 64 * 32];  // 32 ways of 64 sets
alignas(64) long conflict_word = 1;

void explicit_abort() {
  const htm::status s = attempt([] {
    word = 2;
    htm::abort<0x5a>();
  });
  CHECK(s.why == cause::explicit_ && s.code == 0x5a && !s.may_retry && !s.nested && word == 1);
  htm::abort<1>();  // outside: nothing
}

void nesting() {
  htm::status s = attempt([] {
    CHECK(attempt([] { word = 2; }).started());
    CHECK(htm::active());  // the inner commit ended nothing
    htm::abort<7>();
  });
  CHECK(s.why == cause::explicit_ && s.code == 7 && !s.nested && word == 1);
  s = attempt([] { attempt([] { word = 2, htm::abort<8>(); }); });
  CHECK(s.why == cause::explicit_ && s.code == 8 && s.nested && word == 1);

  const auto nested = [](auto self, int depth) -> void {
    word = depth;
    if (depth > 1) attempt([&] { self(self, depth - 1); });
  };
  CHECK(attempt([&] { nested(nested, 7); }).started() && word == 1);
  s = attempt([&] { nested(nested, 8); });
  CHECK(s.why == cause::capacity && s.nested && word == 1);
  CHECK(!htm::active());
}

void write_lines(int count, int distance) {
  for (int i = 0; i < count; ++i) lines[i * distance * 64] = 1;
}

// 64 sets of 8 ways: the ninth line of one set is too much, 512 lines of all sets are not.
void write_capacity() {
  CHECK(attempt([] { write_lines(8, 64); }).started());
  memset(lines, 0, sizeof lines);
  htm::status s = attempt([] { write_lines(9, 64); });
  CHECK(s.why == cause::capacity && !s.may_retry && lines[0] == 0);
  CHECK(attempt([] { write_lines(512, 1); }).started() && lines[64] == 1);
  s = attempt([] { write_lines(513, 1); });
  CHECK(s.why == cause::capacity);
}

void read_capacity() {
  static char big[65'600 * 64];
  memset(big, 1, sizeof big);  // what nobody writes needs no instrumentation, thinks the compiler
  const auto read_lines = [](int count) {
    long sum = 0;
    for (int i = 0; i < count; ++i) sum += static_cast<volatile char&>(big[i * 64]);
    return sum;
  };
  CHECK(attempt([&] { word = read_lines(65'000) == 65'000 ? 1 : 0; }).started() && word == 1);
  CHECK(attempt([&] { word = read_lines(65'600); }).why == cause::capacity && word == 1);
}

void time_limit() {
  const htm::status s = attempt([] {
    for (volatile long& w = word;;) w = w + 1;
  });
  CHECK(s.why == cause::other && !s.may_retry && word == 1);
}

void always_abort() {
  int reached = 0;
  const htm::status s = htm::begin(htm::mode::always_abort);
  unseen told;
  if (s.started()) {
    word = 2;
    reached = 1;
    told.set(1);
    htm::commit();
    CHECK(false);
  }
  CHECK(s.why == cause::other && word == 1 && reached == 0);
}

void system_call() {
  const htm::status s = attempt([] {
    word = 2;
    getppid();
  });
  CHECK(s.why == cause::other && !s.may_retry && word == 1);
  asm volatile("" ::: "memory");
  const htm::status direct = attempt([] {
    word = 2;
    long result;
    asm volatile("syscall" : "=a"(result) : "a"(110) : "rcx", "r11", "memory");  // getppid
  });
  CHECK(direct.why == cause::other && word == 1);
}

// Two transactions: the second one to touch the line wins, whatever the two do.
void conflict(bool first_writes, bool second_writes) {
  unseen has, done;
  htm::status first{}, second{};
  std::thread other([&] {
    has.await(1);
    second = attempt([&] {
      if (second_writes) conflict_word = 3;
      else CHECK(conflict_word == 1);
    });
    done.set(1);
  });
  first = htm::begin();
  if (first.started()) {
    if (first_writes) conflict_word = 2;
    else CHECK(conflict_word == 1);
    has.set(1);
    stay_until(done);
    htm::commit();
  }
  done.await(1);
  other.join();
  CHECK(second.started());
  const bool excludes = first_writes || second_writes;
  CHECK(first.started() == !excludes);
  if (excludes) CHECK(first.why == cause::conflict && first.may_retry && word == 1);
  CHECK(conflict_word == (second_writes ? 3 : 1));
  conflict_word = word = 1;
}

}  // namespace

int main() {
  CHECK(htm::usable());
  explicit_abort();
  nesting();
  write_capacity();
  read_capacity();
  time_limit();
  always_abort();
  system_call();
  conflict(true, true);
  conflict(true, false);
  conflict(false, true);
  CHECK(attempt([] { word = 5; }).started() && word == 5);
}
