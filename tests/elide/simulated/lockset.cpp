// Transfers between accounts, each with a lock of its own: with little contention nearly every set
// of two locks is one transaction; with much, transactions and locks exclude each other.
#include <syncopate/elide/elided_lock.h>
#include <syncopate/elide/elided_rwlock.h>
#include <syncopate/elide/lockset.h>
#include <syncopate/locks/tatas_lock.h>
#include <syncopate/locks/ticket_lock.h>

#include <mutex>

#include "elision.h"

namespace {

using namespace elision;
namespace elide = syncopate::elide;

struct alignas(64) account {
  elide::elided_lock<syncopate::tatas_lock<>> lock;
  long balance = 1000;
};

long total(const std::vector<account>& accounts) {
  long sum = 0;
  for (const account& a : accounts) sum += a.balance;
  return sum;
}

counts transfer(unsigned threads, std::vector<account>& accounts, int transfers) {
  return run(threads, [&](unsigned me, counter& count) {
    std::uint64_t random = me * 7919 + 1;
    for (int i = 0; i < transfers; ++i) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      account& from = accounts[(random >> 33) % accounts.size()];
      account& to = accounts[(random >> 13) % accounts.size()];  // perhaps the same one
      bool elided;
      {
        elide::lockset_guard hold(from.lock, to.lock);
        elided = section::active();
        from.balance -= 1;
        to.balance += 1;
      }
      count.ended(elided);
    }
  });
}

// Some threads take sets of a size known at run time only, others single locks, whose sections
// must exclude each other in every combination.
void sets_against_single_locks() {
  std::vector<account> accounts(4);
  elide::elided_lock<syncopate::ticket_lock<>> gate;  // of another type, in heterogeneous sets
  const counts c = run(4, [&](unsigned me, counter& count) {
    for (int i = 0; i < 60; ++i) {
      bool elided;
      if (me % 2 == 0) {
        elide::elided_lock<syncopate::tatas_lock<>>* locks[] = {
            &accounts[3].lock, &accounts[0].lock, &accounts[2].lock, &accounts[1].lock};
        elide::lockset_span set{std::span(locks)};
        const std::lock_guard hold(set);
        elided = section::active();
        if (i % 16 == 15) section::needs_lock();  // the fall-back, too
        for (account& a : accounts) a.balance += 1;
      } else {
        account& one = accounts[static_cast<unsigned>(i) % 4];
        elide::lockset set(one.lock, gate);
        const std::lock_guard hold(set);
        elided = section::active();
        one.balance += 1;
      }
      count.ended(elided);
    }
  });
  c.print("sets against single locks");
  assert(c.sections() == 240 && total(accounts) == 4000 + 2 * 60 * 4 + 2 * 60);
  assert(c.aborted(abort_code::needs_lock) != 0 && c.under_lock != 0);
  assert(!gate.is_locked());
  for (const account& a : accounts) assert(!a.lock.is_locked());
}

void try_then_block() {
  std::vector<account> accounts(8);
  const counts c = run(4, [&](unsigned, counter& count) {
    for (int round = 0; round < 20; ++round)
      elide::visit_free_first(
          accounts, [](account & a) -> auto& { return a.lock; },
          [&](account& a) {
            a.balance += 1;
            elide::on_commit([&count, elided = section::active()] { count.ended(elided); });
          });
  });
  c.print("free ones first");
  assert(total(accounts) == 8000 + 4 * 20 * 8 && c.sections() == 4 * 20 * 8);
}

void little_contention() {
  std::vector<account> many(512);
  const counts c = transfer(4, many, 200);
  c.print("512 accounts");
  assert(total(many) == 512 * 1000 && c.sections() == 800);
  assert(c.transactions >= 780);
}

void much_contention() {
  std::vector<account> few(3);
  const counts c = transfer(4, few, 200);
  c.print("3 accounts");
  assert(total(few) == 3 * 1000 && c.sections() == 800);
  assert(c.aborted(htm::cause::conflict) != 0);
}

// Who has taken a set has taken each of its locks, and the other way round: what the thread itself
// tries then is not free, as without elision; what lies beside it is. Each try has a section of its
// own, and what it finds is told outside: an abort lets the real locks answer, which are right.
void tries_of_its_own() {
  using lock = elide::elided_lock<syncopate::tatas_lock<>>;
  lock a, b, c, d;
  elide::elided_lock<syncopate::ticket_lock<>> other;
  elide::elided_rwlock<> shared;
  lock* locks[] = {&a, &b};
  elide::lockset_span span{std::span(locks)};
  elide::lockset pair(a, b), overlapping(b, c), beside(c, d);
  elide::lockset mixed(b, other, shared);
  const auto is_free = [](auto& what) {
    if (!what.try_lock()) return false;
    what.unlock();
    return true;
  };
  const auto free_in = [&](auto& set, auto&... each) {
    const auto look = [&](auto& what) {
      set.lock();
      const bool found = is_free(what);
      set.unlock();
      return found;
    };
    return (int{look(each)} + ...);
  };
  assert(free_in(pair, a, b, pair, span, overlapping, mixed) == 0);
  assert(free_in(span, a, b, pair, span, overlapping, mixed) == 0);
  assert(free_in(b, b, pair, span, overlapping, mixed) == 0);
  assert(free_in(mixed, b, other, shared, pair, mixed) == 0);
  assert(free_in(shared, shared, mixed) == 0);
  assert(free_in(pair, c, d, beside, other, shared) == 5);
  assert(free_in(mixed, a, c, beside) == 3);
  mixed.lock();
  const bool reads = shared.try_lock_shared();
  mixed.unlock();
  assert(!reads);
  // Sections may end in any order; what has ended is free again.
  pair.lock();
  beside.lock();
  pair.unlock();
  const int free = int{is_free(a)} + int{is_free(b)} + int{is_free(pair)};
  const bool taken = is_free(c);
  beside.unlock();
  assert(free == 3 && !taken && is_free(beside) && is_free(mixed));
}

constexpr check::scenario scenarios[] = {
    {"little_contention", little_contention},
    {"much_contention", much_contention},
    {"sets_against_single_locks", sets_against_single_locks},
    {"tries_of_its_own", tries_of_its_own},
    {"try_then_block", try_then_block},
};

}  // namespace

int main(int argc, char** argv) { return check::main(argc, argv, scenarios); }
