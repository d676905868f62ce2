// snprintf and vsnprintf in transactions against the C library's: every conversion, and arguments
// that other transactions may change.
#include "check.h"

#include <syncopate/tm/libc.h>

#include <cerrno>
#include <clocale>
#include <cstring>
#include <string>
#include <thread>

namespace {

volatile bool yes = true;
[[gnu::transaction_pure]] bool true_now() { return yes; }

char got[600], expected[600];
char word[300] = "word";
wchar_t wide[] = L"w\u00efde";
int counted;
long long counted_long;

// Prints by the C library, and in three ways by ours; in a canceled transaction, too.
#define SAME(SIZE, ...)                                                         \
  do {                                                                          \
    std::memset(expected, 'x', sizeof expected);                                \
    const int length = std::snprintf(expected, SIZE, __VA_ARGS__);              \
    for (int round = 0; round < 4; ++round) {                                   \
      std::memset(got, 'x', sizeof got);                                        \
      int printed = -2;                                                         \
      if (round == 0) {                                                         \
        printed = tm_snprintf(got, SIZE, __VA_ARGS__);                          \
      } else if (round == 1) {                                                  \
        __transaction_atomic { printed = tm_snprintf(got, SIZE, __VA_ARGS__); } \
      } else {                                                                  \
        __transaction_atomic {                                                  \
          printed = tm_snprintf(got, SIZE, __VA_ARGS__);                        \
          if (round == 2 && true_now()) __transaction_cancel;                   \
        }                                                                       \
      }                                                                         \
      if (round == 2) {                                                         \
        CHECK(got[0] == 'x' && got[5] == 'x');                                  \
        continue;                                                               \
      }                                                                         \
      CHECK(printed == length);                                                 \
      CHECK(std::memcmp(got, expected, sizeof got) == 0);                       \
    }                                                                           \
  } while (false)

#pragma GCC diagnostic ignored "-Wformat"
#pragma GCC diagnostic ignored "-Wformat-overflow"
#pragma GCC diagnostic ignored "-Wformat-truncation"
#pragma GCC diagnostic ignored "-Wformat-extra-args"

void check_conversions() {
  const char* const nothing = nullptr;
  char unterminated[3] = {'a', 'b', 'c'};
  SAME(600, "plain");
  SAME(600, "%d %i %u %x %X %o %c %%", -5, 6, 7u, 0xab, 0xcd, 8, 'c');
  SAME(600, "%hhd %hd %ld %lld %zu %jd %td", -5, -6, -7L, -8LL, sizeof got, INTMAX_MAX, got - word);
  SAME(600, "%-8d|%+d|% d|%08d|%#x|%.5d|%*d|%-*d|", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
  SAME(600, "%f %e %g %a %F %E %G", 1.5, 2.5e10, 3.5e-7, 4.25, -0.0, 1e300, 1e-5);
  SAME(600, "%Lf %d %Lg %s", 1.25L, 3, 2.5e100L, word);
  SAME(600, "%s|%10s|%-10s|%.2s|%.*s|%s", word, word, word, word, 3, word, nothing);
  SAME(600, "%.3s|%.*s", unterminated, 2, unterminated);
  SAME(600, "%ls|%.3ls|%S", wide, wide, wide);
  SAME(600, "%p %p", word, nothing);
  SAME(600, "%2$s %1$d %2$.2s", 12, word);
  SAME(600, "%2$*1$d", 9, 77);
  SAME(600, "%1$.2s %1$.*2$s %1$.3s", "unlimited", 5);
  SAME(600, "%1$.*2$s %3$.-3s", "unlimited", 5, word);
  SAME(600, "%d %d %d %d %d %d %d %d %f %f %f %f %f %f %f %f %f %f", 1, 2, 3, 4, 5, 6, 7, 8, 1., 2.,
       3., 4., 5., 6., 7., 8., 9., 10.);
  errno = ENOENT;
  SAME(600, "%m %d", 1);
  for (const std::size_t size : {0, 1, 2, 5, 6, 300, 599}) SAME(size, "%s and %s", word, word);
  std::memset(word, 'y', 299);
  for (const std::size_t size : {0, 6, 255, 256, 257, 300, 580})
    SAME(size, "%s %d %s", word, 3, "z");
  std::strcpy(word, "word");
}

// More arguments than are copied: the transaction becomes irrevocable, so it has no cancel.
void check_many_arguments() {
#define EIGHT "%d %d %d %d %s %d %d %d "
#define EIGHT_ARGUMENTS 1, 2, 3, 4, word, 6, 7, 8
#define ALL                                                                        \
  EIGHT EIGHT EIGHT EIGHT "%f", EIGHT_ARGUMENTS, EIGHT_ARGUMENTS, EIGHT_ARGUMENTS, \
      EIGHT_ARGUMENTS, 1.5
  int printed = 0;
  const int length = std::snprintf(expected, sizeof expected, ALL);
  __transaction_atomic { printed = tm_snprintf(got, sizeof got, ALL); }
  CHECK(printed == length && std::strcmp(got, expected) == 0);
}

void check_counts() {
  __transaction_atomic {
    tm_snprintf(got, sizeof got, "12345%n67%lln", &counted, &counted_long);
    if (true_now()) __transaction_cancel;
  }
  CHECK(counted == 0 && counted_long == 0);
  __transaction_atomic {
    tm_snprintf(got, sizeof got, "12345%n67%lln", &counted, &counted_long);
    if (!true_now()) __transaction_cancel;
  }
  CHECK(counted == 5 && counted_long == 7);
}

long number;
char shared[64] = "0";

// The number and its text change together, and the text is what the number says.
void count(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    long read = 0, held = 0;
    __transaction_atomic {
      read = tm_strtol(shared, nullptr, 10);
      held = number;
      ++number;
      tm_snprintf(shared, sizeof shared, "%ld", number);
    }
    CHECK(read == held);
  }
}

}  // namespace

int main() {
  CHECK(std::setlocale(LC_ALL, "C.UTF-8") != nullptr);
  check_conversions();
  check_many_arguments();
  check_counts();
  std::thread other(count, 2000);
  count(2000);
  other.join();
  CHECK(number == 4000 && std::string(shared) == "4000");
}
