// The transaction-safe C library against the C library itself: outside of transactions, inside, and
// in transactions that are canceled.
#include "check.h"

#include <syncopate/tm/libc.h>

#include <cctype>
#include <cerrno>
#include <cstring>
#include <initializer_list>

namespace {

volatile bool yes = true;
[[gnu::transaction_pure]] bool true_now() { return yes; }

// CALL has to give EXPECTED outside of transactions, and in one, with and without a log.
#define SAME(TYPE, CALL, EXPECTED)               \
  do {                                           \
    TYPE const expected = (EXPECTED);            \
    TYPE plain{};                                \
    TYPE got{};                                  \
    CHECK((CALL) == expected);                   \
    __transaction_atomic { plain = (CALL); }     \
    __transaction_atomic {                       \
      got = (CALL);                              \
      if (!true_now()) __transaction_cancel;     \
    }                                            \
    CHECK(plain == expected && got == expected); \
  } while (false)

using text_pointer = const char*;
constexpr unsigned room = 256;
char left[room], right[room], before[room], expected_bytes[room];

void randomize(char* text, dice& roll) {
  for (unsigned i = 0; i < room - 1; ++i) text[i] = "aaaab b\xe9"[roll(8)];
  text[roll(120)] = '\0';
  text[120 + roll(100)] = '\0';
}

void check_strings(dice& roll) {
  randomize(left, roll);
  std::memcpy(right, left, room);
  if (roll(2) != 0) right[roll(100)] = "a\0"[roll(2)];
  const char *a = left + roll(16), *b = right + (roll(2) != 0 ? a - left : roll(16));
  const std::size_t n = roll(100);
  const int what = "ab \0z"[roll(5)];
  SAME(std::size_t, tm_strlen(a), std::strlen(a));
  SAME(std::size_t, tm_strnlen(a, n), strnlen(a, n));
  SAME(text_pointer, tm_strchr(a, what), std::strchr(a, what));
  SAME(bool, tm_strcmp(a, b) < 0, std::strcmp(a, b) < 0);
  SAME(bool, tm_strcmp(a, b) > 0, std::strcmp(a, b) > 0);
  SAME(bool, tm_strncmp(a, b, n) < 0, std::strncmp(a, b, n) < 0);
  SAME(bool, tm_strncmp(a, b, n) > 0, std::strncmp(a, b, n) > 0);
  SAME(bool, tm_memcmp(a, b, n) < 0, std::memcmp(a, b, n) < 0);
  SAME(bool, tm_memcmp(a, b, n) > 0, std::memcmp(a, b, n) > 0);
}

// STATEMENT changes `right`; EXPECTED does the same to expected_bytes.
#define SAME_BYTES(STATEMENT, EXPECTED)                   \
  do {                                                    \
    std::memcpy(before, right, room);                     \
    std::memcpy(expected_bytes, right, room);             \
    EXPECTED;                                             \
    __transaction_atomic {                                \
      STATEMENT;                                          \
      if (true_now()) __transaction_cancel;               \
    }                                                     \
    CHECK(std::memcmp(right, before, room) == 0);         \
    __transaction_atomic {                                \
      STATEMENT;                                          \
      if (!true_now()) __transaction_cancel;              \
    }                                                     \
    CHECK(std::memcmp(right, expected_bytes, room) == 0); \
    std::memcpy(right, before, room);                     \
    STATEMENT;                                            \
    CHECK(std::memcmp(right, expected_bytes, room) == 0); \
  } while (false)

void check_copies(dice& roll) {
  randomize(left, roll), randomize(right, roll);
  const unsigned from = roll(30), to = roll(30), n = roll(200);
  const int value = static_cast<int>(roll(256));
  SAME_BYTES(tm_strncpy(right + to, left + from, n),
             std::strncpy(expected_bytes + to, left + from, n));
  SAME_BYTES(tm_memcpy(right + to, left + from, n),
             std::memcpy(expected_bytes + to, left + from, n));
  SAME_BYTES(tm_memmove(right + to, right + from, n),
             std::memmove(expected_bytes + to, expected_bytes + from, n));
  SAME_BYTES(tm_memset(right + to, value, n), std::memset(expected_bytes + to, value, n));
}

const char* const numbers[] = {"0",
                               "7",
                               "  42 apples",
                               "-17",
                               "+5",
                               "-",
                               "",
                               "   ",
                               "abc",
                               "0x1F",
                               "0x",
                               "0xg",
                               "077",
                               "08",
                               "2147483648",
                               "9223372036854775807",
                               "9223372036854775808",
                               "-9223372036854775809",
                               "18446744073709551615",
                               "18446744073709551616",
                               "-1",
                               "zz",
                               "1e3",
                               "1.5",
                               "-2.5e-3x",
                               ".5",
                               "1.",
                               "1e",
                               "1e+",
                               "inf",
                               "-Infinity!",
                               "nan",
                               "nan(12)",
                               "0x1.8p3",
                               "1e400",
                               "1e-400",
                               "\t\n 12",
                               "0000000000000000000000000000000000000000000000000000000000000000000"
                               "00000000000000012 and more"};

// The value, the end and errno of a conversion.
#define SAME_NUMBER(TYPE, CALL, EXPECTED)                           \
  do {                                                              \
    static char *expected_end, *end;                                \
    expected_end = nullptr, errno = 0;                              \
    const TYPE expected = EXPECTED(left, &expected_end COMMA_BASE); \
    const int expected_errno = errno;                               \
    for (int round = 0; round < 3; ++round) {                       \
      TYPE got = 0;                                                 \
      end = nullptr, errno = 0;                                     \
      if (round == 0) {                                             \
        got = CALL(left, &end COMMA_BASE);                          \
      } else {                                                      \
        __transaction_atomic {                                      \
          got = CALL(left, &end COMMA_BASE);                        \
          if (round == 1 && true_now()) __transaction_cancel;       \
        }                                                           \
      }                                                             \
      if (round == 1) {                                             \
        CHECK(end == nullptr && errno == 0);                        \
        continue;                                                   \
      }                                                             \
      CHECK(std::memcmp(&got, &expected, sizeof got) == 0);         \
      CHECK(end == expected_end && errno == expected_errno);        \
    }                                                               \
  } while (false)

void check_numbers(const char* text) {
  std::strcpy(left, text);
#define COMMA_BASE , base
  for (const int base : {0, 8, 10, 16, 36, 1}) {
    SAME_NUMBER(long, tm_strtol, std::strtol);
    SAME_NUMBER(unsigned long, tm_strtoul, std::strtoul);
    SAME_NUMBER(unsigned long long, tm_strtoull, std::strtoull);
  }
#undef COMMA_BASE
#define COMMA_BASE
  SAME_NUMBER(double, tm_strtod, std::strtod);
#undef COMMA_BASE
  SAME(int, tm_atoi(left), std::atoi(left));
}

void check_characters() {
  for (int c = -1; c < 256; ++c) {
    SAME(bool, tm_isspace(c) != 0, std::isspace(c) != 0);
    SAME(bool, tm_isalnum(c) != 0, std::isalnum(c) != 0);
    SAME(bool, tm_isdigit(c) != 0, std::isdigit(c) != 0);
    SAME(bool, tm_isprint(c) != 0, std::isprint(c) != 0);
    SAME(int, tm_toupper(c), std::toupper(c));
    SAME(int, tm_tolower(c), std::tolower(c));
  }
  for (const uint32_t n : {0u, 1u, 0x1234u, 0xffffu, 0x12345678u, 0xffffffffu}) {
    const auto s = static_cast<uint16_t>(n);
    SAME(unsigned, tm_htonl(n), htonl(n));
    SAME(unsigned, tm_ntohl(n), ntohl(n));
    SAME(unsigned, tm_htons(s), htons(s));
    SAME(unsigned, tm_ntohs(s), ntohs(s));
  }
}

char* block;

void check_realloc() {
  for (const std::size_t old_size : {1, 24, 100, 5000}) {
    for (const std::size_t new_size : {1, 24, 100, 5000, 100000}) {
      block = static_cast<char*>(std::malloc(old_size));
      std::memset(block, 'x', old_size);
      char* const old = block;
      __transaction_atomic {
        block = static_cast<char*>(tm_realloc(block, new_size));
        block[0] = 'y';
        if (true_now()) __transaction_cancel;
      }
      CHECK(block == old && block[0] == 'x');
      __transaction_atomic {
        block = static_cast<char*>(tm_realloc(block, new_size));
        block[new_size - 1] = 'y';
        if (!true_now()) __transaction_cancel;
      }
      for (std::size_t i = 0; i < old_size && i + 1 < new_size; ++i) CHECK(block[i] == 'x');
      CHECK(block[new_size - 1] == 'y');
      block = static_cast<char*>(tm_realloc(block, 10));
      CHECK(block != nullptr);
      __transaction_atomic {
        block = static_cast<char*>(tm_realloc(block, 0));
        if (!true_now()) __transaction_cancel;
      }
      CHECK(block == nullptr);
      __transaction_atomic {
        block = static_cast<char*>(tm_realloc(nullptr, 10));
        if (!true_now()) __transaction_cancel;
      }
      CHECK(block != nullptr);
      std::free(block);
    }
  }
}

// Clones that are called through a pointer.
std::size_t (*count)(const char*) __attribute__((transaction_safe)) = tm_strlen;

}  // namespace

int main() {
  dice roll(0);
  for (int i = 0; i < 300; ++i) check_strings(roll), check_copies(roll);
  for (const char* text : numbers) check_numbers(text);
  check_characters();
  check_realloc();
  std::strcpy(left, "twelve bytes");
  SAME(std::size_t, count(left), 12u);
}
