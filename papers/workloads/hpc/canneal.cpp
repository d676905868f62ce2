// canneal.cpp -- simulated annealing of a chip's placement: threads exchange the places of random
// pairs of elements, where that shortens the nets or the temperature still allows it.
//
// Source      Yoo et al., SC 2013, section 5.1 and table 2 (canneal), after PARSEC (Bienia, Kumar,
//             Singh & Li, PACT 2008): at each temperature a number of moves, shared out among the
//             threads, then a barrier. Written anew from those descriptions.
// An item     one move: it chooses two elements, computes the change of cost from the places of
//             those they are connected to, and exchanges them under the locks of both.
// original    Lock-free: the mover takes the place of the element that comes first, leaving `busy`;
//             puts it into the other one, and what was there into the first. All who read a place
//             check for `busy`. Under the other variants readers have nothing to check.
// Deviations  The netlist is random (netlist.h) in place of the suite's files. Paper's variants are
//             original and elided; in static, coarsened and adaptive the computation of the cost
//             is in the section, too.
// Check       Each place has one element. With one thread: the sequential result exactly. With
//             more, moves depend on each other's order: the cost ends within 5 % + 2/sqrt(elements)
//             of the initial cost from where it ends sequentially (several times what
//             different seeds scatter by).
#include "netlist.h"
#include "variants.h"

namespace {
using namespace workloads;
using namespace workloads::hpc;

// The published program's.
struct lock_free {
  using lock = no_lock;
};

bool is_free(location at) { return at != busy; }

template <class Sections>
location read(std::atomic<location>& place) {
  if constexpr (std::is_same_v<Sections, lock_free>)
    return machine::wait_until(place, std::memory_order_acquire, is_free);
  else return place.load(std::memory_order_relaxed);
}

// Returns what was there. No two threads wait for each other: who has made a place busy waits only
// for a later element's.
location exchange_when_free(std::atomic<location>& place, location by) {
  for (;;) {
    location was = machine::wait_until(place, std::memory_order_acquire, is_free);
    if (place.compare_exchange_weak(was, by, std::memory_order_acq_rel, std::memory_order_relaxed))
      return was;
  }
}

template <class Sections, class Lock>
void exchange(netlist& chip, std::uint32_t first, std::uint32_t second, std::vector<Lock>& locks) {
  std::atomic<location>&a = chip.place(first), &b = chip.place(second);
  if constexpr (std::is_same_v<Sections, lock_free>) {
    const location moved = exchange_when_free(a, busy);
    a.store(exchange_when_free(b, moved), std::memory_order_release);
  } else {
    Sections::both(locks[first], locks[second], [&] {
      const location moved = a.load(std::memory_order_relaxed);
      a.store(b.load(std::memory_order_relaxed), std::memory_order_relaxed);
      b.store(moved, std::memory_order_relaxed);
    });
  }
}

// A thread's moves.
template <class Sections>
class mover {
 public:
  using lock = typename Sections::lock;
  mover(netlist& chip, std::vector<lock>& locks, std::uint64_t seed, std::uint32_t thread)
      : chip_(chip), locks_(locks), random_(seed, thread) {}

  void operator()(double temperature) {
    auto first = static_cast<std::uint32_t>(random_.below(chip_.size()));
    auto second = static_cast<std::uint32_t>(random_.below(chip_.size()));
    const double chance = static_cast<double>(random_.below(1u << 30)) / (1u << 30);
    if (first == second) return;
    if (first > second) std::swap(first, second);
    const std::int64_t change = change_of_cost(first, second);
    if (change < 0 || std::exp(-static_cast<double>(change) / temperature) > chance)
      exchange<Sections>(chip_, first, second, locks_);
  }

 private:
  // Of moving each of the two to where the other one is.
  std::int64_t change_of_cost(std::uint32_t first, std::uint32_t second) {
    const location a = read<Sections>(chip_.place(first)), b = read<Sections>(chip_.place(second));
    return change_of_one(first, second, a, b) + change_of_one(second, first, b, a);
  }
  // A net between the two stays as long as it is.
  std::int64_t change_of_one(std::uint32_t element, std::uint32_t other, location from,
                             location to) {
    std::int64_t change = 0;
    for (const std::uint32_t end : chip_.connected(element)) {
      if (end == other) continue;
      const location at = read<Sections>(chip_.place(end));
      change += chip_.distance(to, at) - chip_.distance(from, at);
    }
    return change;
  }

  netlist& chip_;
  std::vector<lock>& locks_;
  random_numbers random_;
};

struct annealing {
  const options& o;
  netlist& chip;
  std::uint64_t steps, moves;

  static double temperature(std::uint64_t step) {
    return 2000 / std::pow(1.5, static_cast<double>(step + 1));
  }

  template <class Sections, class Batch>
  outcome run(Batch batch) {
    const auto threads = static_cast<std::uint32_t>(o.number("threads", 1));
    std::vector<typename Sections::lock> locks(chip.size());
    barrier together(threads);
    return run_threads(o, [&](std::uint32_t me) {
      mover<Sections> move(chip, locks, o.number("seed"), me);
      const auto mine = share_of{me, threads}.indices(moves);
      Batch each = batch;
      for (std::uint64_t step = 0; step < steps; ++step) {
        each(mine, [&, now = temperature(step)](std::uint32_t) { move(now); });
        together.arrive_and_wait();
      }
      return steps * mine.size();
    });
  }

  // The same by one thread, without synchronization.
  void run_alone() {
    std::vector<no_lock> locks(chip.size());
    mover<no_sections> move(chip, locks, o.number("seed"), 0);
    for (std::uint64_t step = 0; step < steps; ++step)
      for (std::uint64_t i = 0; i < moves; ++i) move(temperature(step));
  }
};

// Requires: a and b are what two runs have made of the cost `before`.
bool nearly_equal(std::int64_t a, std::int64_t b, std::int64_t before, std::uint64_t elements) {
  const double tolerance = 0.05 + 2 / std::sqrt(static_cast<double>(elements));
  return std::abs(static_cast<double>(a - b)) <= tolerance * static_cast<double>(before);
}
}  // namespace

int main(int argc, char** argv) {
  const sized counts{"elements", "on the chip", {10'000, 400'000, 2'500'000}};
  const sized step_counts{
      "steps", "temperatures, each the one before divided by 1.5", {24, 128, 1000}};
  const sized move_counts{"moves", "at each temperature", {15'000, 15'000, 15'000}};
  const options o(argc, argv, "Threads exchange elements of a chip to shorten its nets (canneal).",
                  option_list(all_variants, {counts, step_counts, move_counts}));
  const auto run = find_runner<annealing, lock_free, lockset_sections>(o);
  const std::uint64_t elements = counts.of(o), seed = o.number("seed");
  if (elements < 2 || elements > 1u << 30) o.refuse("--elements needs 2 to 1073741824");

  netlist chip(elements, seed), reference(elements, seed);
  const std::int64_t before = chip.cost();
  annealing alone{
      .o = o, .chip = reference, .steps = step_counts.of(o), .moves = move_counts.of(o)};
  alone.run_alone();
  const std::int64_t expected = reference.cost();
  annealing all{.o = o, .chip = chip, .steps = alone.steps, .moves = alone.moves};
  const outcome result = run(all);
  const std::int64_t cost = chip.cost();
  const bool as_expected =
      result.shares.size() == 1 ? cost == expected : nearly_equal(cost, expected, before, elements);
  return report_variant("canneal", o, result, chip.is_placement() && as_expected,
                        member("cost_before", static_cast<std::uint64_t>(before)) +
                            member("cost", static_cast<std::uint64_t>(cost)) +
                            member("cost_sequential", static_cast<std::uint64_t>(expected)));
}
