// plain_fibers.cpp -- the fibers and names that the explored machine needs, without the front end:
// stacks that share the thread-local storage of the one OS thread.
#include <boost/context/detail/fcontext.hpp>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "model/front/names/names.h"
#include "model/front/program/options.h"
#include "model/front/pthread/threads.h"
#include "model/front/threads/fiber.h"

namespace syncopate::instrument {

using namespace boost::context::detail;

class fiber {
 public:
  fcontext_t context = nullptr;
  void* stack = nullptr;
  void (*entry)(void*) = nullptr;
  void* argument = nullptr;
};

namespace {
constexpr std::size_t stack_bytes_of_all = 256 * 1024;
fiber own;
fiber* now = &own;
std::vector<fiber*> unused;

void start(transfer_t from) {
  static_cast<fiber*>(from.data)->context = from.fctx;
  now->entry(now->argument);
  std::abort();
}
}  // namespace

fiber* create_fiber(void (*entry)(void*), void* argument, std::size_t) {
  fiber* f;
  if (unused.empty()) {
    f = new fiber;
    f->stack = std::malloc(stack_bytes_of_all);
  } else {
    f = unused.back();
    unused.pop_back();
  }
  f->entry = entry;
  f->argument = argument;
  f->context =
      make_fcontext(static_cast<char*>(f->stack) + stack_bytes_of_all, stack_bytes_of_all, &start);
  return f;
}

void destroy_fiber(fiber* f) { unused.push_back(f); }

void switch_to(fiber* to) {
  fiber* const from = now;
  if (to == from) return;
  now = to;
  const transfer_t back = jump_fcontext(to->context, from);
  static_cast<fiber*>(back.data)->context = back.fctx;
}

fiber* running_fiber() { return now; }
stack_bounds stack_of(const fiber* f) {
  const auto low = reinterpret_cast<std::uintptr_t>(f->stack);
  return {low, low + stack_bytes_of_all};
}
stack_bounds tls_of(const fiber*) { return {0, 0}; }

void fail(const char* format, ...) noexcept {
  std::fputs(format, stderr);
  std::abort();
}

std::string code_name(const void* place) {
  return "place " + std::to_string(reinterpret_cast<std::uintptr_t>(place));
}
std::string place_name(const void* place) { return code_name(place); }
std::vector<source_position> code_frames(const void* place) { return {{code_name(place), "", 0}}; }
std::string source_position::text() const { return function; }
std::vector<source_position> known_frames(const void* const* places, std::size_t, std::size_t) {
  return {{code_name(*places), "", 0}};
}
void note_allocation(std::uintptr_t, std::size_t, const void*) {}
void note_free(std::uintptr_t, const void*) {}
void note_thread(unsigned, std::uintptr_t, std::uintptr_t, std::uintptr_t, std::uintptr_t) {}
void forget_blocks_and_threads() {}
data_position data_position_of(std::uintptr_t address) {
  data_position p;
  p.object = "data " + std::to_string(address);
  return p;
}
std::string data_position::text() const { return object; }
thread_record* find_record(pthread_t) { return nullptr; }
bool is_end_of_thread(engine::address) { return false; }

}  // namespace syncopate::instrument
