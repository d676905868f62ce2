// malloc's and the string functions' results, and that the machine sees what they touch.
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <malloc.h>

#include "check.h"

namespace {

constexpr std::uintptr_t heap = 0x1000'0000'0000;

bool in_heap(const void* p) { return reinterpret_cast<std::uintptr_t>(p) >> 40 == heap >> 40; }
bool aligned(const void* p, std::size_t to) {
  return reinterpret_cast<std::uintptr_t>(p) % to == 0;
}

volatile std::size_t much = std::size_t{1} << 50;
std::vector<int> from_constructor(1000, 5);

void blocks() {
  CHECK(in_heap(from_constructor.data()));
  std::vector<unsigned char*> all;
  for (std::size_t n = 0; n < 300'000; n = n * 5 / 4 + 1) {
    auto* p = static_cast<unsigned char*>(std::malloc(n));
    CHECK(p != nullptr && in_heap(p) && aligned(p, 16));
    CHECK(malloc_usable_size(p) >= n);
    std::memset(p, static_cast<int>(n & 0xff), malloc_usable_size(p));
    all.push_back(p);
  }
  std::size_t i = 0;
  for (std::size_t n = 0; n < 300'000; n = n * 5 / 4 + 1, ++i) {
    for (std::size_t k = 0; k < n; ++k) CHECK(all[i][k] == (n & 0xff));  // no overlap
    std::free(all[i]);
  }
  for (std::size_t n = 1; n < 300'000; n = n * 3 + 1) {
    auto* p = static_cast<unsigned char*>(std::calloc(n, 1));
    for (std::size_t k = 0; k < n; ++k) CHECK(p[k] == 0);  // although used before
    std::free(p);
  }
  void* volatile none = std::calloc(much, much);  // volatile: compilers take allocations to succeed
  CHECK(none == nullptr && errno == ENOMEM);
  none = std::malloc(much);
  CHECK(none == nullptr);
}

void alignments() {
  for (std::size_t a = 8; a <= 65536; a *= 2) {
    void* p = nullptr;
    CHECK(posix_memalign(&p, a, 100) == 0 && aligned(p, a) && malloc_usable_size(p) >= 100);
    std::memset(p, 1, malloc_usable_size(p));
    void* q = std::aligned_alloc(a, a * 3);
    CHECK(aligned(q, a));
    std::free(p);
    std::free(q);
  }
  void* p = nullptr;
  CHECK(posix_memalign(&p, 24, 100) == EINVAL);
  struct alignas(128) wide {
    char c[128];
  };
  auto* w = new wide[3];
  CHECK(aligned(w, 128));
  delete[] w;
  void* volatile none = new (std::nothrow) char[much];
  CHECK(none == nullptr);
  bool thrown = false;
  try {
    none = new char[much];
  } catch (const std::bad_alloc&) {
    thrown = true;
  }
  CHECK(thrown);
}

void growing() {
  auto* p = static_cast<char*>(std::malloc(10));
  std::strcpy(p, "growing");
  for (std::size_t n = 20; n < 1'000'000; n *= 3) {
    p = static_cast<char*>(std::realloc(p, n));
    CHECK(std::strcmp(p, "growing") == 0);
  }
  p = static_cast<char*>(std::realloc(p, 9));
  CHECK(std::strcmp(p, "growing") == 0);
  char* copy = strdup(p);
  CHECK(in_heap(copy) && std::strcmp(copy, p) == 0);
  std::free(copy);
  std::free(p);
  char* text = nullptr;
  CHECK(asprintf(&text, "%d %s", 5, "five") == 6 && std::strcmp(text, "5 five") == 0);
  CHECK(in_heap(text));
  std::free(text);
}

void strings() {
  char a[64] = "abcdef", b[64];
  CHECK(std::memcpy(b, a, 7) == b && std::strcmp(a, b) == 0);
  std::memmove(a + 2, a, 5);
  CHECK(std::memcmp(a, "ababcde", 7) == 0);
  std::memmove(a, a + 2, 5);
  CHECK(std::memcmp(a, "abcdede", 7) == 0);
  std::memset(b, 'x', 5);
  CHECK(b[4] == 'x' && b[5] == 'f');
  CHECK(std::strlen("four") == 4 && strnlen("four", 2) == 2);
  std::strcpy(a, "one");
  std::strcat(a, "two");
  const volatile std::size_t two = 2;  // not for the compiler's warnings to see
  std::strncat(a, "three", two);
  CHECK(std::strcmp(a, "onetwoth") == 0);
  std::strncpy(b, "ab", 6);
  CHECK(std::memcmp(b, "ab\0\0\0\0", 6) == 0);
  CHECK(stpcpy(b, "xyz") == b + 3);
  CHECK(std::strncmp("abcx", "abcy", 3) == 0 && std::strncmp("abcx", "abcy", 4) < 0);
  CHECK(std::strcmp("b", "a") > 0 && std::memcmp("a", "b", 1) < 0);
  CHECK(std::strchr(a, 't') == a + 3 && std::strrchr(a, 't') == a + 6);
  CHECK(std::strchr(a, 'q') == nullptr && std::memchr(a, 'w', 8) == a + 4);
  CHECK(*strchrnul(a, 'q') == '\0');
}

}  // namespace

int main() {
  blocks();
  alignments();
  growing();
  strings();
  // Each thread cuts from regions of its own; a block may be freed by another thread.
  std::vector<void*> given;
  std::thread([&] {
    for (int i = 0; i < 100; ++i) given.push_back(std::malloc(50));
  }).join();
  for (void* p : given) std::free(p);
}
