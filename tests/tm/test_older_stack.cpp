// Locals of functions older than the transaction, which it writes by their address: alone in
// knowing them, it begins again because of them once in a thread's life at most; and where other
// threads know them, too, transactions see nothing half done.
// Stock: fails
#include "check.h"

#include <atomic>
#include <thread>
#include <vector>

#include <sched.h>

extern "C" void _ITM_addUserUndoAction(void (*)(void*), void*);

namespace {

volatile bool yes = true;
[[gnu::transaction_pure]] bool true_now() { return yes; }
[[gnu::transaction_pure, gnu::noinline]] long sum_of(const long* four) {
  return four[0] + four[1] + four[2] + four[3];
}
volatile long roll_backs;
void rolled_back(void* /*none*/) { roll_backs = roll_backs + 1; }
[[gnu::transaction_pure, gnu::noinline]] void count_roll_backs() {
  _ITM_addUserUndoAction(rolled_back, nullptr);
}
[[gnu::noinline]] long* hide(long* p) {
  asm volatile("" : "+r"(p));
  return p;
}

long committed;

[[gnu::noinline, gnu::transaction_safe]] void fill(long* four, long value) {
  for (int i = 0; i < 4; ++i) four[i] = value + i;
}

void nobody_else_knows() {
  long four[4] = {};
  long* const escaped = hide(four);
  for (long i = 0; i < 200; ++i) {
    __transaction_atomic {
      count_roll_backs();
      fill(escaped, i);
      escaped[1] = escaped[0] + 1;
      committed += sum_of(escaped) == 4 * i + 6;
    }
    CHECK(four[0] == i && four[3] == i + 3);
  }
  CHECK(committed == 200);
  CHECK(roll_backs <= 1);
}

[[gnu::noinline, gnu::transaction_safe]] void fill_and_cancel(long* four) {
  __transaction_atomic {
    fill(four, 90);
    if (true_now()) __transaction_cancel;
  }
}

// What an inner transaction wrote is put back, what the outer one wrote stays or goes with it.
void canceled() {
  long four[4] = {1, 2, 3, 4};
  long* const escaped = hide(four);
  __transaction_atomic {
    escaped[0] = 10;
    fill_and_cancel(escaped);
    escaped[3] = escaped[0] + escaped[1];
  }
  CHECK(four[0] == 10 && four[1] == 2 && four[2] == 3 && four[3] == 12);
  __transaction_atomic {
    fill(escaped, 70);
    if (true_now()) __transaction_cancel;
  }
  CHECK(four[0] == 10 && four[1] == 2 && four[2] == 3 && four[3] == 12);
}

// ---- known to others ------------------------------------------------------------------------

constexpr int threads = 3, moves = 1000, alone_until = 300;
long* cells[threads];  // each on the stack of its thread: two numbers
long pot;              // all together are 0
std::atomic<int> ready, done;

void meet(std::atomic<int>& place, int all) {
  ++place;
  while (place.load() < all) sched_yield();
}

[[gnu::noinline, gnu::transaction_safe]] long add_up() {
  long sum = pot;
  for (const long* c : cells) sum += c[0] + c[1];
  return sum;
}

void move(int self, int round) {
  dice roll(self + 10 * round);
  long mine[2] = {};
  cells[self] = hide(mine);
  long* const own = cells[self];
  meet(ready, (round + 1) * threads);
  for (int i = 0; i < moves; ++i) {
    const long amount = roll(100);
    const int victim = i < alone_until ? self : static_cast<int>(roll(threads));
    const bool looks = i >= alone_until && roll(4) == 0;
    long sum = 0;
    __transaction_atomic {
      own[0] += amount;
      pot -= 2 * amount;
      cells[victim][1] += amount;
      if (looks) sum = add_up();
    }
    CHECK(sum == 0);
  }
  meet(done, (round + 1) * threads);
}

void others_know() {
  for (int round = 0; round < 15; ++round) {
    pot = 0;
    std::vector<std::thread> all;
    for (int i = 0; i < threads; ++i) all.emplace_back(move, i, round);
    for (auto& t : all) t.join();
  }
}

}  // namespace

int main() {
  nobody_else_knows();
  canceled();
  others_know();
}
