// strings.cpp -- strlen and its kin in transactions.
#include "tm/libc/reader.h"

#include <syncopate/tm/libc.h>

#include <cstring>

using namespace syncopate::tm;

std::size_t tm_strlen(const char* text) { return std::strlen(text); }
std::size_t tm_strnlen(const char* text, std::size_t limit) { return strnlen(text, limit); }
int tm_strcmp(const char* a, const char* b) { return std::strcmp(a, b); }
int tm_strncmp(const char* a, const char* b, std::size_t limit) {
  return std::strncmp(a, b, limit);
}
char* tm_strchr(const char* text, int what) { return const_cast<char*>(std::strchr(text, what)); }
char* tm_strncpy(char* to, const char* from, std::size_t size) {
  return std::strncpy(to, from, size);
}

SYNCOPATE_TM_CLONE(tm_strlen, 9);
SYNCOPATE_TM_CLONE(tm_strnlen, 10);
SYNCOPATE_TM_CLONE(tm_strcmp, 9);
SYNCOPATE_TM_CLONE(tm_strncmp, 10);
SYNCOPATE_TM_CLONE(tm_strchr, 9);
SYNCOPATE_TM_CLONE(tm_strncpy, 10);

std::size_t clone_of_tm_strlen(const char* text) { return length(text, SIZE_MAX); }

std::size_t clone_of_tm_strnlen(const char* text, std::size_t limit) { return length(text, limit); }

int clone_of_tm_strcmp(const char* a, const char* b) { return clone_of_tm_strncmp(a, b, SIZE_MAX); }

int clone_of_tm_strncmp(const char* a, const char* b, std::size_t limit) {
  reader left(a), right(b);
  for (std::size_t i = 0; i < limit; ++i) {
    const auto l = static_cast<unsigned char>(left.next());
    const auto r = static_cast<unsigned char>(right.next());
    if (l != r) return l - r;
    if (l == 0) return 0;
  }
  return 0;
}

char* clone_of_tm_strchr(const char* text, int what) {
  reader r(text);
  for (;; ++text) {
    const char c = r.next();
    if (c == static_cast<char>(what)) return const_cast<char*>(text);
    if (c == '\0') return nullptr;
  }
}

char* clone_of_tm_strncpy(char* to, const char* from, std::size_t size) {
  const std::size_t copied = length(from, size);
  _ITM_memcpyRtWt(to, from, copied);
  _ITM_memsetW(to + copied, 0, size - copied);
  return to;
}
