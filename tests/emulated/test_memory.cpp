// test_memory.cpp -- the heap and the C library's functions on memory and strings in transactions.
#include <malloc.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "check.h"

namespace {

std::size_t in_use() { return mallinfo2().uordblks; }

// Blocks of an aborted transaction come back; those that it freed are alive.
void heap() {
  auto* const kept = static_cast<char*>(std::malloc(100));
  std::strcpy(kept, "kept");
  attempt([] { std::free(std::malloc(1000)); });
  const std::size_t before = in_use();
  for (int i = 0; i < 200; ++i) {
    const htm::status s =
        attempt(
            [&] {
              void* blocks[] = {std::malloc(3000),
                                std::calloc(30, 100),
                                std::aligned_alloc(64, 64),
                                std::realloc(nullptr, 500),
                                operator new(2000),
                                operator new (128, std::align_val_t{128})};
              for (void* each : blocks) CHECK(each != nullptr);
              CHECK(static_cast<char*>(blocks[1])[2999] == 0);
              CHECK(reinterpret_cast<std::uintptr_t>(blocks[5]) % 128 == 0);
              std::memset(blocks[0], 1, 3000);
              std::free(blocks[0]);
              auto* const moved = static_cast<char*>(std::realloc(kept, 10'000));
              CHECK(std::strcmp(moved, "kept") == 0);
              std::strcpy(moved, "gone");
              htm::abort<1>();
            });
    CHECK(s.code == 1 && std::strcmp(kept, "kept") == 0);
  }
  constexpr std::size_t cached = 60'000;  // by malloc itself; all rounds together are 4 MB
  CHECK(in_use() < before + cached);
  char* moved = nullptr;
  CHECK(retry([&] {
    moved = static_cast<char*>(std::realloc(kept, 5000));
    delete new int(3);
  }));
  CHECK(std::strcmp(moved, "kept") == 0);
  for (int i = 0; i < 200; ++i) CHECK(retry([&] { std::free(std::malloc(3000)); }));
  CHECK(in_use() < before + cached);
  std::free(moved);
}

void error_number() {
  errno = 5;
  const htm::status s = attempt([] {
    errno = 9;
    htm::abort<2>();
  });
  CHECK(s.code == 2 && errno == 5);
}

alignas(64) char text[4096] = "some words, some more";
alignas(64) char copy[4096];

void fill_inside() {
  std::memcpy(copy + 3, text, 3000);
  std::memmove(copy + 10, copy + 3, 2000);
  std::memset(copy + 2500, 7, 1001);
  std::strcpy(copy, "replaced");
  std::strcat(copy, " altogether");
  std::strncpy(copy + 100, "padded", 30);
  CHECK(std::strlen(copy) == 19 && std::strcmp(copy, "replaced altogether") == 0);
  CHECK(std::memcmp(copy + 2500, copy + 2501, 999) == 0);
  CHECK(std::strchr(copy, 'g') == copy + 13 && std::strrchr(copy, 'e') == copy + 17);
  CHECK(std::memchr(copy, 'd', 100) == copy + 7 && std::strncmp(copy, "repl!", 4) == 0);
  std::unique_ptr<char, decltype(&std::free)> twin(strdup(copy), std::free);
  CHECK(std::strcmp(twin.get(), copy) == 0);
}

struct big {
  char bytes[777];
};
big one, other;

void strings() {
  for (int i = 0; i < 4096; ++i) copy[i] = static_cast<char>(i);
  for (char& each : one.bytes) each = 3;
  const htm::status s = attempt([] {
    fill_inside();
    other = one;
    one = big{};
    htm::abort<3>();
  });
  CHECK(s.code == 3);
  for (int i = 0; i < 4096; ++i) CHECK(copy[i] == static_cast<char>(i));
  CHECK(other.bytes[500] == 0 && one.bytes[776] == 3);
  CHECK(retry(fill_inside));
  CHECK(std::strcmp(copy, "replaced altogether") == 0);
}

// What a string function reads belongs to the transaction.
void strings_conflict() {
  unseen has, done;
  std::thread writer([&] {
    has.await(1);
    text[1000] = 'x';
    done.set(1);
  });
  std::memset(text, 'a', 2000);
  std::size_t length = 0;
  const htm::status s = htm::begin();
  if (s.started()) {
    length = std::strlen(text);
    has.set(1);
    stay_until(done);
    htm::commit();
  }
  done.await(1);
  writer.join();
  CHECK(s.why == htm::cause::conflict && length == 0);
}

// A transaction's write of one variable is undone in its own bytes, not in a neighbor's.
void neighbors() {
  struct alignas(64) {
    char mine, theirs;
  } static line;
  for (int i = 0; i < 50; ++i) {
    line = {1, 1};
    unseen has, done;
    std::thread other([&] {
      has.await(1);
      // Unseen: as the C library's own writes of its blocks' headers.
      store_unseen(line.theirs, 2);
      done.set(1);
    });
    const htm::status s = attempt([&] {
      line.mine = 5;
      has.set(1);
      done.await_spinning(1);
      htm::abort<6>();
    });
    other.join();
    CHECK(s.code == 6 && line.mine == 1 && line.theirs == 2);
  }
}

}  // namespace

int main() {
  heap();
  error_number();
  strings();
  strings_conflict();
  neighbors();
}
