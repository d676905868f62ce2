// Atomic variables in memory that nobody has written, and in memory that somebody has. What each
// program is, table.txt says.
#include <atomic>
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include <pthread.h>
#include <unistd.h>

#include "program.h"

namespace {

using word = std::atomic<unsigned>;
enum class how { load, add, exchange, store };

// (A volatile pointer: compilers take out blocks of which they see everything.)
word* block(std::size_t bytes = sizeof(word)) {
  void* volatile const made = std::malloc(bytes);
  return static_cast<word*>(made);
}

template <how How>
void use(word& of) {
  if (How == how::load) of.load();
  if (How == how::add) of.fetch_add(1);
  if (How == how::store) of.store(1);
  unsigned expected = 0;
  if (How == how::exchange) of.compare_exchange_strong(expected, 1);
}

template <how How>
void in_block() {
  word* const made = block();
  use<How>(*made);
  std::free(made);
}

// (The thread's first function: where another one stood before, what it left is there.)
std::atomic<word*> shown = nullptr;
std::atomic<bool> is_used = false;

template <bool Set>
void* has_one(void* nothing) {
  alignas(word) unsigned char room[16 * sizeof(word)];  // (of one, a push may be the allocation)
  void* const middle = room + sizeof room / 2;
  if (Set) *static_cast<volatile unsigned*>(middle) = 0;
  shown = static_cast<word*>(middle);
  while (!is_used) {
  }
  return nothing;
}

template <bool Set>
void on_stack() {
  pthread_t other;
  pthread_create(&other, nullptr, has_one<Set>, nullptr);
  while (shown == nullptr) {
  }
  use<how::add>(*shown);
  is_used = true;
  pthread_join(other, nullptr);
}

void set_by_memset() {
  word* const made = block();
  std::memset(static_cast<void*>(made), 0, sizeof *made);
  use<how::load>(*made);
  std::free(made);
}

void set_by_calloc() {
  void* volatile const made = std::calloc(1, sizeof(word));
  use<how::load>(*static_cast<word*>(made));
  std::free(made);
}

// A call of the C library writes it.
void set_by_read() {
  int ends[2];
  const unsigned value = 7;
  assert(::pipe(ends) == 0 && ::write(ends[1], &value, sizeof value) == sizeof value);
  word* const made = block();
  assert(::read(ends[0], static_cast<void*>(made), sizeof value) == sizeof value);
  assert(made->load() == value);
  std::free(made);
  ::close(ends[0]);
  ::close(ends[1]);
}

// What was there before was another block's.
void in_reused_block() {
  word* const first = block();
  first->store(1);
  std::free(first);
  in_block<how::load>();
}

template <std::size_t Which>
void in_grown_block() {
  word* made = block();
  made->store(1);
  made = static_cast<word*>(std::realloc(static_cast<void*>(made), 100 * sizeof *made));
  use<how::load>(made[Which]);
  std::free(made);
}

// A mutex is in memory that nobody has initialized.
template <bool Initialized>
void mutex_in_block() {
  auto* const mutex = reinterpret_cast<pthread_mutex_t*>(block(sizeof(pthread_mutex_t)));
  if (Initialized) pthread_mutex_init(mutex, nullptr);
  assert(pthread_mutex_lock(mutex) == 0);
  assert(pthread_mutex_unlock(mutex) == 0);
  std::free(mutex);
}

// C's answer to an alignment that is none.
void alignment_of_three() {
  void* volatile const made = std::aligned_alloc(std::atoi("3"), 9);
  assert(made == nullptr);
}
void alignment_unlooked_at() {
  void* volatile const made = std::aligned_alloc(std::atoi("48"), 48);
  *static_cast<volatile int*>(made) = 1;
}

void size_beyond_all() {
  void* volatile const made = std::malloc(static_cast<std::size_t>(std::atoi("-2")));
  assert(made == nullptr);
}

constexpr scenario_program::scenario all[] = {
    {"block_load", in_block<how::load>},
    {"block_add", in_block<how::add>},
    {"block_exchange", in_block<how::exchange>},
    {"block_store", in_block<how::store>},
    {"stack_add", on_stack<false>},
    {"stack_set", on_stack<true>},
    {"memset", set_by_memset},
    {"calloc", set_by_calloc},
    {"read", set_by_read},
    {"reused_block", in_reused_block},
    {"grown_block_old", in_grown_block<0>},
    {"grown_block_new", in_grown_block<99>},
    {"mutex_initialized", mutex_in_block<true>},
    {"mutex_uninitialized", mutex_in_block<false>},
    {"alignment_of_three", alignment_of_three},
    {"alignment_unlooked_at", alignment_unlooked_at},
    {"size_beyond_all", size_beyond_all},
};

}  // namespace

int main(int argc, char** argv) { return scenario_program::main(argc, argv, all); }
