// physics_solver.cpp -- forces between pairs of objects, each update under the locks of both.
//
// Source: Yoo, Hughes, Lai & Rajwar, "Performance Evaluation of Intel Transactional Synchronization
// Extensions for High-Performance Computing", SC 2013, sections 5.1, 5.2.1 and 5.4, listing 1,
// figure 5b, after their physicsSolver. Written anew from the paper's description. How we deviate:
// the solver is a relaxation in whole numbers, so that the result is exact whatever the order; a
// step adds up the forces of all constraints, then moves the objects. --variant is how two objects
// are updated:
//   mutex           a mutex each, in the order of the objects: the paper's baseline
//   try             the same, but both are tried first (listing 1)
//   barrier         no locks: groups of constraints without a common object, a barrier after each
//   elided          a lock each, elided one by one
//   lockset         both elided together
//   try_lockset     listing 1 over such a set
//   coarsened       --granularity of these in one transaction
//   adaptive        the same, and the number adjusts itself
//   whole           --granularity updates under one lock of the whole program, elided: what the
//                   paper's library does
#include "presets.h"
#include "scene.h"

#include <syncopate/elide/coarsen.h>
#include <syncopate/elide/lockset.h>

namespace {
using namespace workloads;
namespace elide = syncopate::elide;

// Where the forces on an object are added up. Objects do not share lines.
template <class Lock>
struct alignas(64) body {
  Lock lock;
  vector3 force{};
};

template <class Lock>
void pull(body<Lock>& a, body<Lock>& b, const vector3& force) {
  a.force += force;
  b.force -= force;
}

// Two mutexes as one lock.
class pair_of_mutexes {
 public:
  // Requires: `first` comes before `second` in the order of all.
  pair_of_mutexes(std::mutex& first, std::mutex& second) : first_(first), second_(second) {}
  void lock() {
    first_.lock();
    second_.lock();
  }
  bool try_lock() { return std::try_lock(first_, second_) == -1; }
  void unlock() {
    second_.unlock();
    first_.unlock();
  }

 private:
  std::mutex &first_, &second_;
};

// ---- the variants: apply one constraint, or all of a thread's share -----------------------------

struct under_mutexes {
  using lock = std::mutex;
  void operator()(body<lock>& a, body<lock>& b, const vector3& force) const {
    pair_of_mutexes both(a.lock, b.lock);
    const std::lock_guard hold(both);
    pull(a, b, force);
  }
};

struct try_mutexes {
  using lock = std::mutex;
  void operator()(body<lock>& a, body<lock>& b, const vector3& force) const {
    pair_of_mutexes both(a.lock, b.lock);
    const auto update = [&] { pull(a, b, force); };
    elide::try_then_block(both, update, update);
  }
};

struct elided_one_by_one {
  using lock = elided_lock;
  void operator()(body<lock>& a, body<lock>& b, const vector3& force) const {
    const std::lock_guard hold_first(a.lock);
    const std::lock_guard hold_second(b.lock);
    pull(a, b, force);
  }
};

struct elided_together {
  using lock = elided_lock;
  void operator()(body<lock>& a, body<lock>& b, const vector3& force) const {
    const elide::lockset_guard hold(a.lock, b.lock);
    pull(a, b, force);
  }
};

struct try_lockset {
  using lock = elided_lock;
  void operator()(body<lock>& a, body<lock>& b, const vector3& force) const {
    elide::lockset both(a.lock, b.lock);
    const auto update = [&] { pull(a, b, force); };
    elide::try_then_block(both, update, update);
  }
};

struct without_locks {
  using lock = no_lock;
  void operator()(body<lock>& a, body<lock>& b, const vector3& force) const { pull(a, b, force); }
};

// What each step does between its barriers, for any way to apply one constraint.
template <class Apply>
struct one_by_one {
  using lock = typename Apply::lock;
  template <class Bodies>
  void operator()(const scene& s, Bodies& bodies, const constraints& all, share_of part) const {
    for (const constraint& c : part.of(all)) Apply{}(bodies[c.first], bodies[c.second], s.force(c));
  }
};

template <class Apply>
struct in_batches {
  using lock = typename Apply::lock;
  template <class Bodies, class Section, class Size>
  void operator()(const scene& s, Bodies& bodies, const constraints& all, share_of part,
                  Section& section, Size& size) const {
    elide::coarsener batch(section, size);
    for (const constraint& c : part.of(all))
      batch([&] { Apply{}(bodies[c.first], bodies[c.second], s.force(c)); });
  }
};

// ---- the run ------------------------------------------------------------------------------------

struct solver {
  const options& o;
  scene& world;
  const std::vector<constraints>& groups;  // one after the other, with a barrier after each
  std::uint32_t threads;
  std::uint64_t steps;

  // Runs all steps; update(bodies, group, part) does a thread's part of a group.
  template <class Lock, class Update>
  outcome run(Update make_update) {
    std::vector<body<Lock>> bodies(world.objects.size());
    const auto together = make_barrier(o.text("barrier"), threads);
    if (together == nullptr) o.refuse("no barrier is called '" + o.text("barrier") + "'");
    return run_threads(o, [&](std::uint32_t me) {
      const share_of part{me, threads};
      auto update = make_update();
      for (std::uint64_t step = 0; step < steps; ++step) {
        for (const constraints& group : groups) {
          update(bodies, group, part);
          together->arrive_and_wait(me);
        }
        for (std::uint32_t i : part.indices(bodies.size()))
          world.objects[i].move(std::exchange(bodies[i].force, {}));
        together->arrive_and_wait(me);
      }
      std::uint64_t operations = 0;
      for (const constraints& group : groups) operations += part.of(group).size();
      return steps * operations;
    });
  }

  template <class Apply>
  outcome run_each() {
    return run<typename Apply::lock>([this] {
      return [this](auto& bodies, const constraints& group, share_of part) {
        one_by_one<Apply>{}(world, bodies, group, part);
      };
    });
  }

  // Batches are sections of `section`. Each thread has a size of its own.
  template <class Apply, class Section, class Size>
  outcome run_batches(Section& section, Size size) {
    return run<typename Apply::lock>([this, &section, size] {
      return [this, &section, size](auto& bodies, const constraints& group, share_of part) mutable {
        in_batches<Apply>{}(world, bodies, group, part, section, size);
      };
    });
  }

  // The locks of each update stay sections of their own.
  template <class Size>
  outcome run_merged(Size size) {
    elide::coarse_sections merged;
    return run_batches<elided_together>(merged, size);
  }
  [[nodiscard]] unsigned granularity() const {
    return static_cast<unsigned>(o.number("granularity", 1));
  }
};

using runner = outcome (*)(solver&);

runner find_runner(std::string_view variant) {
  if (variant == "mutex") return [](solver& s) { return s.run_each<under_mutexes>(); };
  if (variant == "try") return [](solver& s) { return s.run_each<try_mutexes>(); };
  if (variant == "barrier") return [](solver& s) { return s.run_each<without_locks>(); };
  if (variant == "elided") return [](solver& s) { return s.run_each<elided_one_by_one>(); };
  if (variant == "lockset") return [](solver& s) { return s.run_each<elided_together>(); };
  if (variant == "try_lockset") return [](solver& s) { return s.run_each<try_lockset>(); };
  if (variant == "coarsened") return [](solver& s) { return s.run_merged(s.granularity()); };
  if (variant == "adaptive") return [](solver& s) { return s.run_merged(elide::granularity{}); };
  if (variant == "whole")
    return [](solver& s) { return s.run_batches<without_locks>(program.lock, s.granularity()); };
  return nullptr;
}
}  // namespace

int main(int argc, char** argv) {
  const sized counts{"steps", "of the solver", {4, 200, 4000, 20'000}};
  const options o(
      argc, argv, "Threads add up forces between pairs of objects.",
      {{"variant", "mutex",
        "mutex, try, barrier, elided, lockset, try_lockset, coarsened, adaptive or whole"},
       {"granularity", "3", "constraints in one transaction of coarsened and whole"},
       {"barrier", "central", "a barrier of barriers/all.h"},
       threads_option,
       {"objects", "64", "in the scene"},
       {"constraints", "1024", "pairs of objects that pull each other"},
       {"hubs", "4", "objects that a quarter of the constraints have to do with"},
       tiny_preset_option(),
       counts.as_option(),
       pin_option,
       seed_option});
  const runner run = find_runner(o.text("variant"));
  if (run == nullptr) o.refuse("no variant is called '" + o.text("variant") + "'");
  const std::uint64_t objects = o.number("objects", 2), hubs = o.number("hubs", 1);
  if (hubs >= objects) o.refuse("--hubs needs fewer than --objects");
  const constraints all =
      make_constraints(objects, o.number("constraints", 1), hubs, o.number("seed"));
  scene world(objects, o.number("seed")), expected = world;
  const std::uint64_t steps = o.number("steps");
  expected.solve_alone(all, steps);

  const bool by_groups = o.text("variant") == "barrier";
  const std::vector<constraints> groups =
      by_groups ? independent_groups(all, objects) : std::vector<constraints>{all};
  solver s{.o = o,
           .world = world,
           .groups = groups,
           .threads = static_cast<std::uint32_t>(o.number("threads", 1)),
           .steps = steps};
  const outcome result = run(s);
  return report("physics_solver", o, result, world.objects == expected.objects,
                member("variant", o.text("variant")) +
                    member("granularity", o.number("granularity")) +
                    member("groups", groups.size()));
}
