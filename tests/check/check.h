// check.h -- what the explored tests share. Each test is an ordinary program whose main() the
// explored machine runs under every interleaving; so it is small, allocates what it shares (use
// after free is found), and does the least that can go wrong.
#pragma once

#include <cassert>
#include <cstdio>
#include <cstring>
#include <string_view>

#include <pthread.h>

#include "scenario.h"

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

using scenario_program::main;
using scenario_program::scenario;

}  // namespace check
