/* wrap_libc.h: transactions of a C program call the C library by its own names. */
#include <syncopate/tm/wrap_libc.h>

#include <stdarg.h>
#include <stdio.h>

#define CHECK(condition)                                                            \
  do {                                                                              \
    if (!(condition)) {                                                             \
      fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
      _Exit(1);                                                                     \
    }                                                                               \
  } while (0)

static char text[64] = "  42 apples", copy[64], printed[64];
static volatile int yes = 1;
__attribute__((transaction_pure)) static int true_now(void) { return yes; }

/* A variadic function of the program's own. */
__attribute__((transaction_pure, noinline)) static int print(char* to, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int length = tm_vsnprintf(to, 64, format, arguments);
  va_end(arguments);
  return length;
}

static void read_and_print(int cancel) {
  long number = 0;
  size_t length = 0;
  int compared = 1, spaces = 0, same = 1;
  char* end = NULL;
  const char* apples = NULL;
  __transaction_atomic {
    while (isspace((unsigned char)text[spaces])) ++spaces;
    number = strtol(text, &end, 10);
    length = strlen(text) + strnlen(text, 3);
    apples = strchr(text, 'a');
    strncpy(copy, text, sizeof copy);
    compared = strcmp(copy, text) + strncmp(copy, "  42 pears", 5);
    same = memcmp(copy, text, sizeof text);
    snprintf(printed, sizeof printed, "%ld%s", number, end);
    print(printed + 20, "%d and %s", toupper('a'), apples);
    assert(number == 42);
    if (cancel && true_now()) __transaction_cancel;
  }
  if (cancel) return;
  CHECK(spaces == 2 && number == 42 && length == 14 && compared == 0 && same == 0);
  CHECK(apples == text + 5 && end == text + 4);
}

int main(void) {
  read_and_print(1);
  CHECK(copy[0] == '\0' && printed[0] == '\0' && printed[20] == '\0');
  read_and_print(0);
  CHECK(strcmp(copy, text) == 0 && strcmp(printed, "42 apples") == 0);
  CHECK(strcmp(printed + 20, "65 and apples") == 0);
  return 0;
}
