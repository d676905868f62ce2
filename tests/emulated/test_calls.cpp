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

extern "C" bool syncopate_htm_called_back() noexcept;

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

// ---- calls back -------------------------------------------------------------------------------

[[gnu::noinline]] bool is_called_back() { return syncopate_htm_called_back(); }

// With room in which nobody writes what was there before.
template <unsigned Bytes>
[[gnu::noinline]] bool is_called_back_deep() {
  volatile char room[Bytes];
  room[0] = 1;
  const bool is = is_called_back();
  return is && room[0] == 1;
}

unsigned seen = 0;

[[gnu::noinline]] int compare_and_note(const void* left, const void* right) {
  seen += is_called_back_deep<100>() ? 1 : 0;
  return *static_cast<const int*>(left) - *static_cast<const int*>(right);
}

[[gnu::noinline]] int compare_by_sorting(const void* left, const void* right) {
  int numbers[] = {2, 1};
  std::qsort(numbers, 2, sizeof(int), compare_and_note);
  seen += is_called_back() ? 1 : 0;  // qsort has returned in here, and another one waits
  return compare_and_note(left, right);
}

template <unsigned Bytes>
[[gnu::noinline]] void sort_deep(int (*compare)(const void*, const void*)) {
  volatile char room[Bytes];
  room[0] = 1;
  int numbers[] = {2, 1};
  std::qsort(numbers, 2, sizeof(int), compare);
  CHECK(room[0] == 1 && !is_called_back_deep<40>());
}

// Whether foreign code waits for the caller; at all depths, also where a return address of foreign
// code's callers still lies below.
void calls_back() {
  CHECK(!is_called_back());
  for (auto* const sort : {sort_deep<8>, sort_deep<500>, sort_deep<3000>}) {
    seen = 0;
    sort(compare_and_note);
    CHECK(seen == 1);
    CHECK(!is_called_back() && !is_called_back_deep<1000>() && !is_called_back_deep<4000>());
    seen = 0;
    sort(compare_by_sorting);
    CHECK(seen == 3);
    CHECK(!is_called_back() && !is_called_back_deep<1000>() && !is_called_back_deep<4000>());
  }
  static std::once_flag once;
  std::call_once(once, [] { CHECK(is_called_back()); });
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
  calls_back();
  std::thread(calls_back).join();

  // Whether or not these end the transaction: what an aborted one has locked is free.
  attempt([&] { mutex.lock(), htm::abort<1>(); });
  attempt([&] { pthread_mutex_lock(&plain), htm::abort<1>(); });
  attempt([&] { pthread_rwlock_wrlock(&shared), htm::abort<1>(); });
  attempt([&] { pthread_spin_lock(&spin), htm::abort<1>(); });
  CHECK(mutex.try_lock() && pthread_mutex_trylock(&plain) == 0);
  CHECK(pthread_rwlock_trywrlock(&shared) == 0 && pthread_spin_trylock(&spin) == 0);
}
