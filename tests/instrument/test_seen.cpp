// What the machine sees of a program: accesses by the compiler's calls, by the C library's
// functions, in containers; blocks of the heap. And what it does not: its own work.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "check.h"

extern "C" {
std::uint64_t plain_bytes_read();
std::uint64_t plain_bytes_written();
std::uint64_t plain_atomics();
std::uint64_t plain_live_blocks();
}

namespace {

struct seen {
  std::uint64_t read, written, atomics, blocks;
};

template <class Code>
[[gnu::noinline]] seen what_is_seen(Code code) {
  const std::uint64_t r = plain_bytes_read(), w = plain_bytes_written(), a = plain_atomics(),
                      b = plain_live_blocks();
  code();
  return {plain_bytes_read() - r, plain_bytes_written() - w, plain_atomics() - a,
          plain_live_blocks() - b};
}

struct big {
  char bytes[200];
};
char from[1000], to[1000];
big one, other;
int numbers[100];
std::atomic<int> number;

}  // namespace

int main() {
  seen s = what_is_seen([] {});
  const seen nothing = s;  // the lambda's frame and the like
  CHECK(nothing.read < 64 && nothing.written < 64);

  s = what_is_seen([] { std::memcpy(to, from, 1000); });
  CHECK(s.read >= 1000 && s.written >= 1000 && s.written < 1100);
  s = what_is_seen([] { std::memcpy(to, from, 8); });  // not open-coded
  CHECK(s.written >= nothing.written + 8);
  s = what_is_seen([] { std::memset(to, 'x', 500); });
  CHECK(s.written >= 500 && s.read < 100);
  s = what_is_seen([] { CHECK(std::strlen(to) == 500); });
  CHECK(s.read >= 501 && s.written < 100);
  std::memset(&other, 'y', sizeof other);
  s = what_is_seen([] { one = other; });
  CHECK(s.read >= 200 && s.written >= 200 && one.bytes[199] == 'y');
  s = what_is_seen([] {
    for (int& n : numbers) n += 1;
  });
  CHECK(s.read >= 400 && s.written >= 400);
  s = what_is_seen([] { number += 5; });
  CHECK(s.atomics == 1);

  std::map<int, int> map;
  for (int i = 0; i < 1000; ++i) map[i] = i;
  int sum = 0;
  s = what_is_seen([&] {
    for (const auto& entry : map) sum += entry.second;
  });
  CHECK(s.read >= 1000 * (4 + 8) && sum == 499'500);  // values, and links in _Rb_tree_increment
  s = what_is_seen([&] { map[1000] = 0; });
  CHECK(s.blocks == 1 && s.written >= 32);
  std::list<int> list;
  s = what_is_seen([&] { list.push_back(5); });
  CHECK(s.blocks == 1 && s.written >= 4 + 32);  // the value, four links

  std::string text(100, 'a');
  s = what_is_seen([&] { text += text; });
  CHECK(s.written >= 100 && s.read >= 100);
  std::vector<int> numbers_copy;
  s = what_is_seen([&] { numbers_copy.assign(numbers, numbers + 100); });
  CHECK(s.written >= 400 && s.blocks == 1);
  auto shared = std::make_shared<int>(5);
  std::shared_ptr<int> second;
  s = what_is_seen([&] { second = shared; });
  CHECK(s.atomics >= 1);  // the count

  s = what_is_seen([] { std::free(std::malloc(100)); });
  CHECK(s.blocks == 0);
  s = what_is_seen([] { std::printf("%d %s\n", 5, "five"); });  // the C library's own accesses
  CHECK(s.read < 100 && s.written < 100);
}
