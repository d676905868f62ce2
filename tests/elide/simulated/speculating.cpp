// Locks whose waiters run ahead: what they do there is undone, limits are kept, and the control
// turns it off where it loses (the always-abort paper's figure 13) and leaves it on where it wins.
#include <syncopate/locks/mcs_lock.h>
#include <syncopate/locks/speculating_lock.h>
#include <syncopate/locks/tatas_lock.h>
#include <syncopate/locks/ticket_lock.h>

#include "elision.h"

namespace {

using namespace elision;
using syncopate::speculating_lock;
using syncopate::speculation_limits;
using syncopate::waits::speculation;

std::uint64_t next_random(std::uint64_t& state) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return state >> 33;
}

struct result {
  std::uint64_t sections = 0, ticks = 0;
  bool speculates = false;
};

// ArrayBench: sections that write to `footprint` elements of an array of so many lines.
template <class Lock>
result array_bench(unsigned threads, unsigned lines, unsigned footprint, unsigned sections) {
  alignas(128) Lock lock;
  std::vector<unsigned> array(lines * 16);
  result r;
  (void)run(
      threads,
      [&](unsigned me, counter&) {
        std::uint64_t state = me + 1;
        std::vector<unsigned> where(footprint);
        for (unsigned i = 0; i < sections; ++i) {
          for (unsigned& w : where) w = static_cast<unsigned>(next_random(state) % array.size());
          lock.lock();
          for (const unsigned w : where) ++array[w];
          lock.unlock();
        }
      },
      &r.ticks);
  std::uint64_t sum = 0;
  for (const unsigned n : array) sum += n;
  r.sections = threads * sections;
  assert(sum == r.sections * footprint);  // what ran ahead left no trace
  if constexpr (requires { lock.speculates(); }) r.speculates = lock.speculates();
  return r;
}

double per_million(const result& r) {
  return static_cast<double>(r.sections) * 1e6 / static_cast<double>(r.ticks);
}

// What a thread does that runs ahead is undone, and it comes back for the real section.
template <class Lock>
void is_undone() {
  alignas(128) Lock lock;
  long value = 0;
  (void)run(6, [&](unsigned, counter&) {
    for (int i = 0; i < 40; ++i) {
      lock.lock();
      if (syncopate::speculating()) {
        value += 1000;
        speculation::abandon();
      }
      assert(lock.is_locked());
      ++value;
      syncopate::machine::spin(30);
      lock.unlock();
    }
  });
  assert(value == 240 && !lock.is_locked());
}

// With ordinary transactions in their place, which could commit: nothing of ours commits them.
void ordinary_transactions() {
  speculation::use_ordinary_transactions(true);
  is_undone<speculating_lock<syncopate::mcs_lock<>>>();
  (void)array_bench<speculating_lock<syncopate::ticket_lock<>>>(4, 4096, 20, 200);
}

constexpr speculation_limits any_number{
    .at_once = 64, .nearest = 1, .farthest = 64, .measure_profit = false};
constexpr speculation_limits any_number_if_it_pays{.at_once = 64, .nearest = 1, .farthest = 64};

template <class Lock>
void where_it_wins(const char* name) {
  const result plain = array_bench<Lock>(4, 4096, 100, 1500);
  const result ahead = array_bench<speculating_lock<Lock>>(4, 4096, 100, 1500);
  std::printf("%s, large array: %.0f sections a million cycles, running ahead %.0f; %s\n", name,
              per_million(plain), per_million(ahead), ahead.speculates ? "on" : "off");
  assert(per_million(ahead) > 1.02 * per_million(plain) && ahead.speculates);
}

void where_it_loses() {
  using lock = syncopate::tatas_lock<>;
  const result plain = array_bench<lock>(8, 10, 100, 1000);
  const result always = array_bench<speculating_lock<lock, any_number>>(8, 10, 100, 1000);
  const result measured =
      array_bench<speculating_lock<lock, any_number_if_it_pays>>(8, 10, 100, 1000);
  std::printf("adversarial: plain %.0f, always running ahead %.0f, measured %.0f; %s\n",
              per_million(plain), per_million(always), per_million(measured),
              measured.speculates ? "on" : "off");
  assert(per_million(always) < 0.97 * per_million(plain));
  assert(per_million(measured) > 1.03 * per_million(always));
}

constexpr check::scenario scenarios[] = {
    {"undone_mcs", is_undone<speculating_lock<syncopate::mcs_lock<>>>},
    {"undone_tatas", is_undone<speculating_lock<syncopate::tatas_lock<>>>},
    {"undone_ticket", is_undone<speculating_lock<syncopate::ticket_lock<>>>},
    {"wins_tatas", [] { where_it_wins<syncopate::tatas_lock<>>("tatas"); }},
    {"wins_ticket", [] { where_it_wins<syncopate::ticket_lock<>>("ticket"); }},
    {"wins_mcs", [] { where_it_wins<syncopate::mcs_lock<>>("mcs"); }},
    {"loses", where_it_loses},
    {"ordinary_transactions", ordinary_transactions},
};

}  // namespace

int main(int argc, char** argv) { return check::main(argc, argv, scenarios); }
