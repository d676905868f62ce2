// check.h -- what the explored tests share. Each test is an ordinary program whose main() the
// explored machine runs under every interleaving; so it is small, allocates what it shares (use
// after free is found), and does the least that can go wrong.
#pragma once

#include <cassert>
#include <cstdio>
#include <cstring>
#include <string_view>

#include <pthread.h>

namespace check {

// Runs the functions at once: the last on the calling thread, the others on one thread each.
// Returns when all have. (pthread_create: std::thread would add events of its own.)
template <class Function>
void together(Function& function) {
  function();
}
template <class First, class... Others>
void together(First& first, Others&... others) {
  pthread_t thread;
  const int error = pthread_create(
      &thread, nullptr,
      [](void* f) -> void* {
        (*static_cast<First*>(f))();
        return nullptr;
      },
      &first);
  assert(error == 0);
  together(others...);
  pthread_join(thread, nullptr);
}

// A scenario by its name; main() runs the one that its argument names.
struct scenario {
  std::string_view name;
  void (*run)();
};

// Runs the scenario that argv[1] names; without one lists them, one a line.
template <std::size_t N>
int main(int argc, char** argv, const scenario (&all)[N]) {
  for (const scenario& s : all) {
    if (argc < 2) std::printf("%.*s\n", static_cast<int>(s.name.size()), s.name.data());
    else if (s.name == argv[1]) return s.run(), 0;
  }
  if (argc < 2) return 0;
  std::fprintf(stderr, "%s: no scenario is called '%s'\n", argv[0], argv[1]);
  return 2;
}

}  // namespace check
