// clones.cpp -- the transactional clones of functions: registered by each loaded object, looked up
// wherever a transaction calls through a pointer.
//
// A look-up is one probe or two in a hash table that is never changed once it is published:
// registering makes a new one. Old tables may be in use by running transactions and are kept; after
// many changes, all transactions are stopped for a moment and the old tables freed.
//
// Memory order (each tag stands at its site below)
//   [P]  release store of a table that is complete, acquire load by who looks up.
//   [G]  relaxed: only who registers, under the lock, stores it.
#include "abi.h"

#include "tm/core/regime.h"

#include <cstdio>
#include <cstdlib>

#include <dlfcn.h>
#include <pthread.h>

using namespace syncopate::tm;

namespace {

struct pair {
  void* original;
  void* clone;
};
struct registration {
  const pair* first;
  std::size_t count;
  registration* next;
};
struct hash_table {
  std::size_t mask;
  hash_table* older;
  pair slots[];
};

std::atomic<hash_table*> published{nullptr};
registration* registrations = nullptr;
std::size_t old_tables = 0;
constexpr std::size_t many_tables = 64;
pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

std::size_t slot_of(const void* function, std::size_t mask) noexcept {
  return (reinterpret_cast<address>(function) >> 4) * 0x9e3779b97f4a7c15u >> 20 & mask;
}

void* find(const void* function) noexcept {
  const hash_table* const table = published.load(std::memory_order_acquire);  // [P]
  if (table == nullptr) return nullptr;
  for (std::size_t i = slot_of(function, table->mask);; i = (i + 1) & table->mask) {
    if (table->slots[i].original == function) return table->slots[i].clone;
    if (table->slots[i].original == nullptr) return nullptr;
  }
}

void insert(hash_table* table, const pair& p) noexcept {
  std::size_t i = slot_of(p.original, table->mask);
  while (table->slots[i].original != nullptr) {
    if (table->slots[i].original == p.original) return;
    i = (i + 1) & table->mask;
  }
  table->slots[i] = p;
}

[[noreturn]] void no_memory() noexcept {
  std::fputs("libitm (syncopate): no memory for the table of transactional functions\n", stderr);
  std::abort();
}

// Whether the compiler can have made such a table: it lies in one loaded object, and no function
// in it lacks its clone. Otherwise, one line names the object.
bool is_sound(const pair* table, std::size_t count) noexcept {
  Dl_info first{}, last{};
  address end = 0;
  const char* wrong = nullptr;
  if (count == 0) return true;
  const bool known = dladdr(table, &first) != 0;
  if (!known || __builtin_mul_overflow(count, sizeof(pair), &end) ||
      __builtin_add_overflow(end, reinterpret_cast<address>(table) - 1, &end) ||
      dladdr(reinterpret_cast<void*>(end), &last) == 0 || first.dli_fbase != last.dli_fbase)
    wrong = "reaches out of it";
  else if (reinterpret_cast<address>(table) % alignof(pair) != 0) wrong = "is not aligned";
  for (std::size_t i = 0; wrong == nullptr && i < count; ++i)
    if (table[i].original != nullptr && table[i].clone == nullptr)
      wrong = "has a function without a clone";
  if (wrong == nullptr) return true;
  std::fprintf(stderr,
               "libitm (syncopate): the table of transactional functions of %s is corrupt (it %s); "
               "it is not used\n",
               known ? first.dli_fname : "an unknown object", wrong);
  return false;
}

// Requires: guard.
void publish() noexcept {
  std::size_t count = 0, size = 64;
  for (const registration* r = registrations; r != nullptr; r = r->next) count += r->count;
  while (size < 2 * count) size *= 2;
  auto* const table =
      static_cast<hash_table*>(std::calloc(1, sizeof(hash_table) + size * sizeof(pair)));
  if (table == nullptr) no_memory();
  table->mask = size - 1;
  for (const registration* r = registrations; r != nullptr; r = r->next)
    for (std::size_t i = 0; i < r->count; ++i)
      if (r->first[i].original != nullptr) insert(table, r->first[i]);
  table->older = published.load(std::memory_order_relaxed);  // [G]
  ++old_tables;
  published.store(table, std::memory_order_release);  // [P]
}

// Frees the tables that were published before the present one. Requires: guard, no transaction
// runs.
void free_older() noexcept {
  hash_table* const table = published.load(std::memory_order_relaxed);  // [G]
  for (hash_table* t = table->older; t != nullptr;) {
    hash_table* const older = t->older;
    std::free(t);
    t = older;
  }
  table->older = nullptr;
  old_tables = 0;
}

}  // namespace

SYNCOPATE_ITM void _ITM_registerTMCloneTable(void* table, std::size_t count) {
  if (!is_sound(static_cast<const pair*>(table), count)) return;
  auto* const r = static_cast<registration*>(std::malloc(sizeof(registration)));
  if (r == nullptr) no_memory();
  pthread_mutex_lock(&guard);
  *r = {static_cast<const pair*>(table), count, registrations};
  registrations = r;
  publish();
  pthread_mutex_unlock(&guard);
}

SYNCOPATE_ITM void _ITM_deregisterTMCloneTable(void* table) {
  pthread_mutex_lock(&guard);
  for (registration** r = &registrations; *r != nullptr; r = &(*r)->next) {
    if ((*r)->first != table) continue;
    registration* const gone = *r;
    *r = gone->next;
    std::free(gone);
    publish();
    break;
  }
  const bool many = old_tables > many_tables;
  pthread_mutex_unlock(&guard);
  transaction* const tx = current;
  if (!many || tx == &nobody || tx->depth != 0) return;
  now.acquire(tx);
  pthread_mutex_lock(&guard);
  free_older();
  pthread_mutex_unlock(&guard);
  now.release(tx);
}

SYNCOPATE_ITM void* _ITM_getTMCloneOrIrrevocable(void* function) {
  if (void* const clone = find(function)) return clone;
  become_irrevocable(self(), function, __builtin_return_address(0));
  return function;
}

SYNCOPATE_ITM void* _ITM_getTMCloneSafe(void* function) {
  if (void* const clone = find(function)) return clone;
  std::fprintf(stderr, "libitm (syncopate): the function at %p has no transactional clone\n",
               function);
  std::abort();
}
