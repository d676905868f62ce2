// Logs that hold more than anybody needs: actions, blocks, inner transactions; and what is dropped
// from them (_ITM_dropReferences).
// Stock: fails
#include "check.h"

#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

extern "C" {
using action = void (*)(void*);
[[gnu::transaction_pure]] void _ITM_addUserCommitAction(action, std::uint64_t, void*);
[[gnu::transaction_pure]] void _ITM_addUserUndoAction(action, void*);
[[gnu::transaction_pure]] void _ITM_LU8(const std::uint64_t*);
[[gnu::transaction_pure]] void _ITM_dropReferences(void*, std::size_t);
}

namespace {

volatile bool yes = true;
[[gnu::transaction_pure]] bool true_now() { return yes; }

constexpr std::uintptr_t many = 50000;

// ---- actions ---------------------------------------------------------------------------------
thread_local volatile std::uintptr_t expected, called;
void ascending(void* number) {
  CHECK(reinterpret_cast<std::uintptr_t>(number) == called);
  called = called + 1;
}
void descending(void* number) {
  expected = expected - 1;
  CHECK(reinterpret_cast<std::uintptr_t>(number) == expected);
}
void* name(std::uintptr_t number) { return reinterpret_cast<void*>(number); }

long sum;
void actions() {
  called = 0;
  __transaction_atomic {
    for (std::uintptr_t i = 0; i < many; ++i) _ITM_addUserCommitAction(ascending, 1, name(i));
    ++sum;
  }
  CHECK(called == many);
  expected = many;
  __transaction_atomic {
    ++sum;
    for (std::uintptr_t i = 0; i < many; ++i) _ITM_addUserUndoAction(descending, name(i));
    if (true_now()) __transaction_cancel;
  }
  CHECK(expected == 0);
}

// ---- blocks ----------------------------------------------------------------------------------
struct node {
  node* next;
  long value;
};
void blocks() {
  for (bool cancel : {false, true}) {
    node* first = nullptr;
    __transaction_atomic {
      node* made = nullptr;
      for (std::uintptr_t i = 0; i < many; ++i) {
        node* const n = static_cast<node*>(std::malloc(sizeof(node)));
        n->next = made;
        n->value = static_cast<long>(i);
        made = n;
      }
      first = made;
      if (cancel) __transaction_cancel;
    }
    CHECK((first == nullptr) == cancel);
    std::uintptr_t found = 0;
    __transaction_atomic {
      std::uintptr_t counted = 0;
      for (node* n = first; n != nullptr; ++counted) {
        node* const next = n->next;
        std::free(n);
        n = next;
      }
      found = counted;
    }
    CHECK(found == (cancel ? 0 : many));
  }
}

// ---- inner transactions ----------------------------------------------------------------------
constexpr int levels = 500;
long depth_sum;
[[gnu::transaction_safe, gnu::noinline]] void nest(int level, int cancel_at) {
  __transaction_atomic {
    ++depth_sum;
    if (level < levels) nest(level + 1, cancel_at);
    if (level == cancel_at && true_now()) __transaction_cancel;
  }
}
void inner_transactions() {
  __transaction_atomic { depth_sum = 0; }
  nest(1, 0);
  CHECK(depth_sum == levels);
  nest(1, 101);  // 100 stay
  CHECK(depth_sum == levels + 100);
  nest(1, 1);
  CHECK(depth_sum == levels + 100);
}

// ---- what is dropped -------------------------------------------------------------------------
std::uint64_t logged[3] = {1, 2, 3};
[[gnu::transaction_pure]] void overwrite() {
  for (std::uint64_t& l : logged) l = 9;
}
unsigned char* kept;
[[gnu::transaction_pure]] void keep(void* block) { kept = static_cast<unsigned char*>(block); }
void dropped() {
  __transaction_atomic {
    for (const std::uint64_t& l : logged) _ITM_LU8(&l);
    overwrite();
    _ITM_dropReferences(&logged[1], sizeof logged[1]);
    if (true_now()) __transaction_cancel;
  }
  CHECK(logged[0] == 1 && logged[1] == 9 && logged[2] == 3);

  __transaction_atomic {  // a block that the program has taken out of the transaction
    void* const block = std::malloc(64);
    keep(block);
    _ITM_dropReferences(block, 64);
    if (true_now()) __transaction_cancel;
  }
  std::memset(kept, 'x', 64);
  void* const other = std::malloc(64);
  CHECK(other != kept);
  std::free(other);
  std::free(kept);
}

}  // namespace

int main() {
  dropped();
  inner_transactions();
  for (int round = 0; round < 2; ++round) actions(), blocks();
  std::thread another([] { actions(), blocks(); });
  actions();
  blocks();
  another.join();
  CHECK(sum == 4);
}
