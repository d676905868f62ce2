// variants.h -- what the HPC programs share: the ways to synchronize their updates, by name, and
// presets of sizes.
//
// Source: Yoo, Hughes, Lai & Rajwar, "Performance Evaluation of Intel Transactional Synchronization
// Extensions for High-Performance Computing", SC 2013, sections 5.1 to 5.3, table 2, figure 4.
// A program goes through items (a vertex, a sample, a swap) in passes; an item is updates of one or
// more parts. --variant is how they are synchronized:
//   original    what the published program does: locks, atomics or a lock-free algorithm
//   elided      one lock of the whole program around each update, elided: the paper's tsx.init
//   lockset     the locks of the objects, all of an item elided in one transaction
//   static      all updates of an item in one section of the program's lock, elided
//   coarsened   --granularity items in one such section
//   adaptive    the same, and the number adjusts itself
#pragma once

#include "../common.h"
#include "../presets.h"
#include "../sections.h"

#include <syncopate/barriers/central_barrier.h>
#include <syncopate/elide/coarsen.h>
#include <syncopate/elide/lockset.h>

#include <array>
#include <iterator>
#include <span>
#include <type_traits>

namespace workloads::hpc {

namespace elide = syncopate::elide;
using barrier = syncopate::central_barrier<syncopate::waits::spin_then_park>;

// ---- sections: how an item's updates are synchronized ------------------------------------------
// Each has
//   lock                          what an object holds to be locked
//   each(parts, lock_of, update)  calls update(part) for each of the item's parts; lock_of(part) is
//                                 the lock of what that writes
//   both(first, second, update)   one update under two locks, which differ and come in this order

// A section around all is there already.
struct no_sections {
  using lock = no_lock;
  template <class Parts, class LockOf, class Update>
  static void each(const Parts& parts, LockOf, Update update) {
    for (const auto& part : parts) update(part);
  }
  template <class Update>
  static void both(lock&, lock&, Update update) {
    update();
  }
};

struct elided_sections {
  using lock = no_lock;
  template <class Parts, class LockOf, class Update>
  static void each(const Parts& parts, LockOf, Update update) {
    for (const auto& part : parts) {
      const std::lock_guard hold(program.lock);
      update(part);
    }
  }
  template <class Update>
  static void both(lock&, lock&, Update update) {
    const std::lock_guard hold(program.lock);
    update();
  }
};

struct lockset_sections {
  using lock = elided_lock;
  static constexpr std::size_t most_parts = 8;

  // Requires: at most most_parts of them.
  template <class Parts, class LockOf, class Update>
  static void each(const Parts& parts, LockOf lock_of, Update update) {
    std::array<lock*, most_parts> locks;
    std::size_t count = 0;
    for (const auto& part : parts) locks[count++] = &lock_of(part);
    elide::lockset_span<lock> all(std::span<lock*>(locks).first(count));
    const std::lock_guard hold(all);
    for (const auto& part : parts) update(part);
  }
  template <class Update>
  static void both(lock& first, lock& second, Update update) {
    const elide::lockset_guard hold(first, second);
    update();
  }
};

// ---- batches: how many items are in a section --------------------------------------------------
// One for each thread; batch(items, act) calls act(item) for each.

struct one_by_one {
  template <class Items, class Act>
  void operator()(const Items& items, Act act) {
    for (const auto& item : items) act(item);
  }
};

// Size is a number, or a granularity that adjusts itself.
template <class Size>
struct in_batches {
  Size size;
  template <class Items, class Act>
  void operator()(const Items& items, Act act) {
    elide::coarsener batch(program.lock, size);
    for (const auto& item : items) batch([&] { act(item); });
  }
};

// ---- the command line --------------------------------------------------------------------------

inline std::vector<option> option_list(std::string variants, const std::vector<sized>& sizes,
                                       std::vector<option> others = {}) {
  std::vector<option> result{
      {"variant", "original", std::move(variants)},
      {"granularity", "8", "items in one section of coarsened"},
      threads_option,
      preset_option(),
  };
  for (const sized& each : sizes) result.push_back(each.as_option());
  for (option& each : others) result.push_back(std::move(each));
  result.push_back(pin_option);
  result.push_back(seed_option);
  return result;
}

// How to run a program in the variant that the command line names; ends it when there is none.
// Lockset is void where the program has no such variant. Program has a member o, its options, and
// run<Sections>(batch) -> outcome.
template <class Program>
using runner = outcome (*)(Program&);

template <class Program, class Original, class Lockset>
runner<Program> find_runner(const options& o) {
  const std::string& name = o.text("variant");
  (void)o.number("granularity", 1);
  if (name == "original") return [](Program& p) { return p.template run<Original>(one_by_one{}); };
  if (name == "elided")
    return [](Program& p) { return p.template run<elided_sections>(one_by_one{}); };
  if (name == "static")
    return [](Program& p) { return p.template run<no_sections>(in_batches<unsigned>{1}); };
  if (name == "coarsened")
    return [](Program& p) {
      const auto items = static_cast<unsigned>(p.o.number("granularity", 1));
      return p.template run<no_sections>(in_batches<unsigned>{items});
    };
  if (name == "adaptive")
    return [](Program& p) {
      return p.template run<no_sections>(in_batches<elide::granularity>{elide::granularity()});
    };
  if constexpr (!std::is_void_v<Lockset>)
    if (name == "lockset") return [](Program& p) { return p.template run<Lockset>(one_by_one{}); };
  o.refuse("no variant is called '" + name + "'");
}

inline int report_variant(const char* workload, const options& o, const outcome& result,
                          bool consistent, const std::string& extra = "") {
  return report(workload, o, result, consistent,
                member("variant", o.text("variant")) +
                    member("granularity", o.number("granularity")) + extra);
}

inline constexpr const char* all_variants =
    "original, elided, lockset, static, coarsened or adaptive";

}  // namespace workloads::hpc
