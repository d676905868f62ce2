// test_calls.cpp -- calls out of instrumented code end transactions; those that change nothing do
// not.
#include <cctype>
#include <cmath>
#include <csetjmp>
#include <cstring>
#include <ctime>
#include <iostream>
#include <mutex>
#include <sstream>
#include <string>
#include <unordered_map>

#include <pthread.h>

#include "check.h"

using htm::cause;

namespace {

long word = 1;

// The whole call, and what it did before, is as if it had not been.
template <class Work>
void ends(const char* what, Work work) {
  const htm::status s = attempt([&] {
    word = 2;
    work();
  });
  if (s.why == cause::other && !s.may_retry && word == 1) return;
  std::fprintf(stderr, "%s: cause %d, word %ld\n", what, static_cast<int>(s.why), word);
  std::_Exit(1);
}

template <class Work>
void does_not_end(const char* what, Work work) {
  if (retry(work)) return;
  std::fprintf(stderr, "%s does not commit\n", what);
  std::_Exit(1);
}

std::jmp_buf jump;
std::jmp_buf kept;

[[gnu::noinline]] void jumper() { std::longjmp(jump, 3); }

void jumps() {
  int came = 0;
  // Out of frames of the transaction, which goes on.
  does_not_end("longjmp", [&] {
    if (const int value = setjmp(jump); value == 0) jumper();
    else came = value;
    CHECK(htm::active());
  });
  CHECK(came == 3);
  // A buffer that an aborted transaction set is as it was.
  std::jmp_buf before;
  std::memset(kept, 1, sizeof kept);
  std::memcpy(before, kept, sizeof kept);
  const htm::status s = attempt([] {
    if (setjmp(kept) == 0) htm::abort<9>();
  });
  CHECK(s.code == 9 && std::memcmp(before, kept, sizeof kept) == 0);
  // To a place before the transaction, which is still running then.
  volatile int times = 0;
  if (setjmp(jump) == 0) {
    if (htm::begin().started()) jumper();
  } else {
    times = times + 1;
    CHECK(htm::active());
    htm::commit();
  }
  CHECK(times == 1 && !htm::active());
}

}  // namespace

int main() {
  std::mutex mutex;
  pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
  pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
  pthread_spinlock_t spin;
  pthread_spin_init(&spin, 0);
  std::once_flag once;
  ends("printf", [] { std::printf("never seen\n"); });
  ends("fputs", [] { std::fputs("never seen\n", stderr); });
  ends("std::cout", [] { std::cout << "never seen\n" << std::flush; });
  ends("ostringstream", [] { std::ostringstream() << 3.5; });
  ends("snprintf", [] {
    char text[20];
    std::snprintf(text, sizeof text, "%ld", word);
  });
  ends("qsort", [] {
    int numbers[] = {3, 1, 2};
    std::qsort(numbers, 3, sizeof(int), [](const void*, const void*) { return 0; });
  });
  ends("rand", [] { word = std::rand(); });
  ends("yield", [] { std::this_thread::yield(); });
  ends("machine::yield", [] { syncopate::machine::yield(); });
  ends("machine::park", [] { syncopate::machine::park(&word, 3); });
  ends("machine::wake", [] { syncopate::machine::wake(&word, 1); });
  ends("sleep", [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); });
  ends("thread", [] { std::thread([] {}).join(); });
  ends("call_once", [&] { std::call_once(once, [] {}); });

  does_not_end("sqrt", [] { word = static_cast<long>(std::sqrt(static_cast<double>(word))); });
  does_not_end("sin", [] { word = 1 + static_cast<long>(std::sin(0.0 * word)); });
  does_not_end("toupper", [] { CHECK(std::toupper('a') == 'A' && std::isalpha('x') != 0); });
  does_not_end("strtol", [] {
    char* end = nullptr;
    word = std::strtol("17 apples", &end, 10) + std::atoi("3");
    CHECK(word == 20 && *end == ' ' && std::strtod("2.5", nullptr) == 2.5);
  });
  does_not_end("clock", [] {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    CHECK(std::chrono::steady_clock::now().time_since_epoch().count() != 0);
  });
  does_not_end("unordered_map", [] {
    std::unordered_map<std::string, int> map;
    for (int i = 0; i < 20; ++i) map[std::string(static_cast<std::size_t>(i), 'k')] = i;
    CHECK(map.size() == 20);
  });
  jumps();

  // Whether or not these end the transaction: what an aborted one has locked is free.
  attempt([&] { mutex.lock(), htm::abort<1>(); });
  attempt([&] { pthread_mutex_lock(&plain), htm::abort<1>(); });
  attempt([&] { pthread_rwlock_wrlock(&shared), htm::abort<1>(); });
  attempt([&] { pthread_spin_lock(&spin), htm::abort<1>(); });
  CHECK(mutex.try_lock() && pthread_mutex_trylock(&plain) == 0);
  CHECK(pthread_rwlock_trywrlock(&shared) == 0 && pthread_spin_trylock(&spin) == 0);
}
