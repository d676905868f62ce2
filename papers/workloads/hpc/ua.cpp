// ua.cpp -- the gather of a mortar element method: what elements compute at their collocation
// points is added up at the mortars that they share.
//
// Source      Yoo et al., SC 2013, section 5.1, listing 2 and table 2 (ua), after Unstructured
//             Adaptive of the NAS Parallel Benchmarks (Feng, Van der Wijngaart, Biswas & Mavriplis,
//             NAS-04-006, 2004): atomic additions to mortars, whose weights are a third at corners
//             of a face. Written anew from those descriptions.
// An item     four contributions of a face to mortars (listing 2); its parts are the single ones.
// Deviations  The gather and the scatter alone, in --steps smoothing steps of a field; collocation
//             points are evenly spaced; the mesh is refined once, and not during the run.
//             A point between two collocation points takes their mean.
// Check       The field of one thread, whose values are within 0 and 1, to 1e-9: sums of
//             floating-point numbers depend on the order of threads.
#include "mesh.h"
#include "variants.h"

#include <cmath>

namespace {
using namespace workloads;
using namespace workloads::hpc;
using field = std::vector<double>;

// The published program's: an atomic addition each.
struct atomics {
  using lock = no_lock;
  template <class Parts, class LockOf, class Update>
  static void each(const Parts& parts, LockOf, Update update) {
    for (const auto& part : parts) update(part);
  }
};

// The values at the collocation points and at the mortars, and what a step does with its part.
struct heat {
  heat(const mesh& elements, std::uint64_t seed)
      : on(elements), points(elements.mortar_of.size()), mortars(elements.mortars) {
    random_numbers random(seed, 0);
    for (double& each : points) each = static_cast<double>(random.below(1u << 20)) / (1u << 20);
  }

  template <class Sections>
  void gather_one(const gather& item) {
    const auto lock_of = [](const contribution&) {};  // mortars have none
    Sections::each(item, lock_of, [&](const contribution& c) {
      const double amount = c.weight * (points[c.from] + points[c.across]) / 2;
      double& mortar = mortars[c.mortar];
      if constexpr (std::is_same_v<Sections, atomics>)
        std::atomic_ref(mortar).fetch_add(amount, std::memory_order_relaxed);
      else mortar += amount;
    });
  }
  void scatter(share_of part) {
    for (const std::uint32_t i : part.indices(points.size())) {
      const std::uint32_t m = on.mortar_of[i];
      points[i] = (points[i] + mortars[m] / on.total_weight[m]) / 2;
    }
  }
  void clear(share_of part) {
    for (const std::uint32_t m : part.indices(mortars.size())) mortars[m] = 0;
  }

  [[nodiscard]] bool nearly_equals(const heat& other) const {
    for (std::size_t i = 0; i < points.size(); ++i)
      if (!(std::abs(points[i] - other.points[i]) <= 1e-9)) return false;
    return true;
  }

  const mesh& on;
  field points, mortars;
};

struct smoothing {
  const options& o;
  heat& state;
  std::uint64_t steps;

  template <class Sections, class Batch>
  outcome run(Batch batch) {
    const auto threads = static_cast<std::uint32_t>(o.number("threads", 1));
    barrier together(threads);
    return run_threads(o, [&](std::uint32_t me) {
      const share_of part{me, threads};
      const auto mine = part.of(state.on.gathers);
      Batch each = batch;
      for (std::uint64_t step = 0; step < steps; ++step) {
        each(mine, [&](const gather& item) { state.gather_one<Sections>(item); });
        together.arrive_and_wait();
        state.scatter(part);
        together.arrive_and_wait();
        state.clear(part);
        together.arrive_and_wait();
      }
      std::uint64_t contributions = 0;
      for (const gather& item : mine) contributions += item.count;
      return steps * contributions;
    });
  }

  // The same by one thread, without synchronization.
  void run_alone() {
    const share_of all{0, 1};
    for (std::uint64_t step = 0; step < steps; ++step) {
      for (const gather& item : state.on.gathers) state.gather_one<no_sections>(item);
      state.scatter(all);
      state.clear(all);
    }
  }
};
}  // namespace

int main(int argc, char** argv) {
  const sized sides{"side", "elements on a side before refinement", {8, 18, 28}};
  const sized counts{"steps", "of gather and scatter", {8, 50, 100}};
  const options o(argc, argv, "Threads add up values of elements at shared mortars (NAS UA).",
                  option_list("original, elided, static, coarsened or adaptive", {sides, counts}));
  const auto run = find_runner<smoothing, atomics, void>(o);
  const std::uint64_t side = sides.of(o), steps = counts.of(o);
  if (side > 100) o.refuse("--side needs a whole number of at most 100");

  const mesh elements(static_cast<std::int32_t>(side));
  heat state(elements, o.number("seed")), expected = state;
  smoothing alone{.o = o, .state = expected, .steps = steps};
  alone.run_alone();
  smoothing all{.o = o, .state = state, .steps = steps};
  const outcome result = run(all);
  return report_variant(
      "ua", o, result, state.nearly_equals(expected),
      member("elements", elements.elements) + member("mortars", elements.mortars));
}
