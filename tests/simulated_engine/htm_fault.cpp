// Faults end transactions, not the program: those that run ahead of a lock read what its holder has
// written by half.
// run: SYNCOPATE_MACHINE=test-4c
#include <csetjmp>
#include <csignal>

#include "transactions.h"

namespace {

volatile long value = 1, zero = 0;
long* volatile nowhere = nullptr;
const std::atomic<long> constant{4};  // in memory that cannot be written
const long plain_constant = 4;

std::atomic<long>& bad_word() { return *reinterpret_cast<std::atomic<long>*>(nowhere); }
jmp_buf outside;

void on_fault(int /*signal*/) { longjmp(outside, 1); }

template <class Work>
void print(const char* what, Work work, htm::mode mode) {
  const htm::status s = attempt(
      [&] {
        value = 2;
        work();
        value = 3;
      },
      mode);
  std::printf("%s: %s, the value is %ld\n", what, text(s), value);
}

void print_all(const char* title, htm::mode mode) {
  std::printf("%s\n", title);
  print(
      "  null pointer read", [] { (void)*static_cast<volatile long*>(nowhere); }, mode);
  print(
      "  null pointer written", [] { *static_cast<volatile long*>(nowhere) = 1; }, mode);
  print(
      "  null pointer loaded", [] { bad_word().load(std::memory_order_acquire); }, mode);
  print(
      "  null pointer stored", [] { bad_word().store(1, std::memory_order_release); }, mode);
  print(
      "  null pointer added to", [] { bad_word().fetch_add(1); }, mode);
  print(
      "  null pointer compared",
      [] {
        long expected = 0;
        bad_word().compare_exchange_strong(expected, 1);
      },
      mode);
  print(
      "  null pointer polled",
      [] {
        syncopate::machine::wait_until(bad_word(), std::memory_order_acquire,
                                       [](long now) { return now == 1; });
      },
      mode);
  print(
      "  constant added to", [] { const_cast<std::atomic<long>&>(constant).fetch_add(1); }, mode);
  print(
      "  constant written", [] { *const_cast<volatile long*>(&plain_constant) = 5; }, mode);
  print(
      "  division by zero", [] { value = 5 / zero; }, mode);
  print(
      "  illegal instruction", [] { asm volatile("ud2"); }, mode);
  print(
      "  nothing", [] {}, mode);
  value = 1;
}

}  // namespace

int main() {
  print_all("transactions", htm::mode::normal);
  print_all("that can never commit", htm::mode::always_abort);
  // Outside of transactions a fault is what the program made of it.
  std::signal(SIGSEGV, on_fault);
  if (setjmp(outside) == 0) *static_cast<volatile long*>(nowhere) = 1;
  else std::printf("the program's handler was called\n");
}
