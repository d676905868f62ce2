// known_counts.cpp -- transactions whose numbers are known: test_record_transactions.py finds the
// lines by their marks.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>

#include <unistd.h>

extern "C" [[gnu::transaction_pure]] int _ITM_inTransaction();

namespace {

constexpr int increments = 1000;

long counter, table[64];
alignas(64) long disputed;
alignas(64) long elsewhere;
int reports;

// ---- commits, one thread ------------------------------------------------------------------------

[[gnu::noinline]] void count_up() {
  __transaction_atomic {  // count-up
    ++counter;
  }
}

[[gnu::noinline]] long sum_table() {
  long sum = 0;
  __transaction_atomic {  // sum-table
    for (long entry : table) sum += entry;
    table[0] = sum;
  }
  return sum;
}

[[gnu::noinline]] bool give_up() {
  bool went_on = false;
  __transaction_atomic {  // give-up
    ++counter;
    went_on = true;
    if (counter > 0) __transaction_cancel;
  }
  return went_on;
}

// ---- a conflict, forced -------------------------------------------------------------------------

std::atomic<int> step{0};

// Whether the winner's commit waits for the loser's attempt (tl2): then its write must do.
bool commit_waits = false;

bool has_won() {
  if (!commit_waits) return step.load() == 2;
  return __atomic_load_n(&disputed, __ATOMIC_ACQUIRE) != 0;
}

[[gnu::transaction_pure, gnu::noinline]] void let_the_other_win() {
  if (step.exchange(1) != 0) return;  // the second attempt
  while (!has_won()) std::this_thread::yield();
}

[[gnu::noinline]] void lose() {
  __transaction_atomic {  // loser
    const long seen = disputed;
    let_the_other_win();
    elsewhere = elsewhere + seen;
  }
}

[[gnu::noinline]] void win() {
  while (step.load() != 1) std::this_thread::yield();
  __transaction_atomic {  // winner
    disputed = 7;
  }
  step.store(2);
}

// ---- two that both hold what the other wants: with locks, one of them has to give up -----------

std::atomic<int> holders{0};

[[gnu::transaction_pure, gnu::noinline]] void wait_for_both(bool& first_attempt) {
  if (!first_attempt) return;
  first_attempt = false;
  ++holders;
  while (holders.load() < 2) std::this_thread::yield();
}

[[gnu::noinline]] void cross_here(bool& first_attempt) {
  __transaction_atomic {  // cross-here
    const long seen = disputed;
    wait_for_both(first_attempt);
    elsewhere = seen + 1;
  }
}

[[gnu::noinline]] void cross_there(bool& first_attempt) {
  __transaction_atomic {  // cross-there
    const long seen = elsewhere;
    wait_for_both(first_attempt);
    disputed = seen + 1;
  }
}

// ---- one that loses until it runs alone -----------------------------------------------

std::atomic<int> asked{0}, won{0};
std::atomic<bool> has_run{false};

// Lets the other thread commit a write to what this attempt has read, unless it runs alone.
[[gnu::transaction_pure, gnu::noinline]] void lose_again() {
  constexpr int alone = 2;  // _ITM_howExecuting: irrevocable
  if (_ITM_inTransaction() == alone) return;
  const int mine = ++asked;
  while (won.load() < mine) std::this_thread::yield();
}

[[gnu::noinline]] void starve() {
  __transaction_atomic {  // starving
    const long seen = disputed;
    lose_again();
    elsewhere = elsewhere + seen;
  }
  has_run.store(true);
}

[[gnu::noinline]] void win_always() {
  while (!has_run.load()) {
    if (won.load() == asked.load()) {
      std::this_thread::yield();
      continue;
    }
    __transaction_atomic {  // winning
      ++disputed;
    }
    ++won;
  }
}

// ---- what cannot be rolled back -----------------------------------------------------------------

[[gnu::noinline]] void say_something(long value) { std::fprintf(stderr, "counter %ld\n", value); }

[[gnu::noinline]] void report_by_name() {
  __transaction_relaxed {                       // unsafe-by-name
    if (++reports > 0) say_something(counter);  // unsafe-call
  }
}

[[gnu::noinline]] void say_more(long value) { std::fprintf(stderr, "more %ld\n", value); }

}  // namespace

// Visible outside, so that the compiler does not know what it holds.
void (*reporter)(long) = say_more;

namespace {

[[gnu::noinline]] void report_by_pointer() {
  __transaction_relaxed {  // unsafe-by-pointer
    if (++reports > 0) reporter(counter);
  }
}

[[gnu::noinline]] void report_always() {
  __transaction_relaxed {  // start-serial
    say_something(++counter);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const char* const what = argc > 1 ? argv[1] : "";
  alarm(30);  // ends what waits for ever
  if (std::strcmp(what, "commits") == 0) {
    for (int i = 0; i < increments; ++i) count_up();
    sum_table();
    give_up();
  } else if (std::strcmp(what, "conflict") == 0) {
    commit_waits = argc > 2;
    std::thread loser(lose);
    win();
    loser.join();
    if (elsewhere != 7) return 3;
  } else if (std::strcmp(what, "cross") == 0) {
    bool here = true, there = true;
    std::thread other(cross_here, std::ref(here));
    cross_there(there);
    other.join();
    if (disputed + elsewhere != 3) return 3;
  } else if (std::strcmp(what, "starve") == 0) {
    std::thread loser(starve);
    win_always();
    loser.join();
  } else if (std::strcmp(what, "serial") == 0) {
    for (int i = 0; i < 4; ++i) report_always();
  } else if (std::strcmp(what, "unsafe") == 0) {
    report_by_name();
    for (int i = 0; i < 3; ++i) report_by_pointer();
  }
  return counter >= 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
