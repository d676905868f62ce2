// clomp_tm.cpp -- updates of a mesh: one atomic instruction each, or a batch in a transaction?
//
// Source: Yoo, Hughes, Lai & Rajwar, "Performance Evaluation of Intel Transactional Synchronization
// Extensions for High-Performance Computing", SC 2013, section 4.1, figure 1, after Schindewolf et
// al.'s CLOMP-TM. Zones are divided into partitions, partitions among threads; each zone deposits a
// value into `--scatters` zones that it is wired to, all of its own partition: threads do not
// contend for memory locations. Written anew from the papers' description. How we deviate: values
// are integers, so that the sum is exact whatever the order.
#include "common.h"
#include "presets.h"

#include <syncopate/locks/htm_lock.h>
#include <syncopate/locks/tatas_lock.h>
#include <syncopate/wait/spin.h>

namespace {
using namespace workloads;

struct zone {
  std::uint64_t value = 0;
  std::uint64_t coordinate = 0;
  std::uint64_t unused[2] = {};  // CLOMP's zones have 32 bytes
};

struct mesh {
  std::uint64_t partitions, zones_each, scatters;
  std::vector<zone> zones;
  std::vector<std::uint32_t> wires;  // `scatters` for each zone

  mesh(std::uint64_t partition_count, std::uint64_t size, std::uint64_t fan, std::uint64_t seed)
      : partitions(partition_count), zones_each(size), scatters(fan), zones(partitions * size) {
    random_numbers random(seed, 0);
    for (std::uint64_t z = 0; z < zones.size(); ++z) {
      zones[z].coordinate = random.below(1000);
      const std::uint64_t first = z / size * size;
      for (std::uint64_t s = 0; s < fan; ++s)
        wires.push_back(static_cast<std::uint32_t>(first + random.below(size)));
    }
  }

  [[nodiscard]] std::uint64_t sum() const {
    std::uint64_t total = 0;
    for (const zone& z : zones) total += z.value;
    return total;
  }
};

// What a zone deposits into one that it is wired to.
inline std::uint64_t deposit(const zone& from, const zone& to) {
  return from.coordinate + to.coordinate / 2 + 1;
}

// The synchronization of one figure's line: how one value is added, and what is held around one
// update, or around all updates of a zone.
struct no_lock {
  void lock() {}
  void unlock() {}
};

template <bool Atomic, class Small, class Large>
void update(mesh& m, std::uint64_t first, std::uint64_t last, Small& small, Large& large) {
  for (std::uint64_t z = first; z < last; ++z) {
    const std::uint32_t* const wires = &m.wires[z * m.scatters];
    large.lock();
    for (std::uint64_t s = 0; s < m.scatters; ++s) {
      zone& to = m.zones[wires[s]];
      const std::uint64_t value = deposit(m.zones[z], to);
      small.lock();
      if constexpr (Atomic) std::atomic_ref(to.value).fetch_add(value, std::memory_order_relaxed);
      else to.value += value;
      small.unlock();
    }
    large.unlock();
  }
}

// The paper's choice: five attempts, then the lock.
using elided_lock = syncopate::htm_lock<5, syncopate::tatas_lock<syncopate::waits::spin>>;

struct locks {
  named_lock& critical;
  alignas(64) elided_lock elided;
  no_lock none;
};

using updater = void (*)(mesh&, std::uint64_t, std::uint64_t, locks&);

updater find_updater(std::string_view mode) {
  using range = std::uint64_t;
  if (mode == "serial")
    return [](mesh& m, range a, range b, locks& l) { update<false>(m, a, b, l.none, l.none); };
  if (mode == "small_atomic")
    return [](mesh& m, range a, range b, locks& l) { update<true>(m, a, b, l.none, l.none); };
  if (mode == "small_critical")
    return [](mesh& m, range a, range b, locks& l) { update<false>(m, a, b, l.critical, l.none); };
  if (mode == "large_critical")
    return [](mesh& m, range a, range b, locks& l) { update<false>(m, a, b, l.none, l.critical); };
  if (mode == "small_tm")
    return [](mesh& m, range a, range b, locks& l) { update<false>(m, a, b, l.elided, l.none); };
  if (mode == "large_tm")
    return [](mesh& m, range a, range b, locks& l) { update<false>(m, a, b, l.none, l.elided); };
  return nullptr;
}
}  // namespace

int main(int argc, char** argv) {
  const sized counts{"passes", "how often the whole mesh is updated", {10, 500, 10'000, 50'000}};
  const options o(argc, argv, "Threads scatter values into the zones of a mesh.",
                  {{"mode", "small_atomic",
                    "serial, small_atomic, small_critical, large_critical, small_tm or large_tm"},
                   {"lock", "tatas", "the lock of small_critical and large_critical"},
                   threads_option,
                   {"scatters", "4", "zones that each zone deposits a value into"},
                   {"partitions", "16", "shared out among the threads"},
                   {"zones", "64", "zones of each partition"},
                   tiny_preset_option(),
                   counts.as_option(),
                   pin_option,
                   seed_option});
  const updater apply = find_updater(o.text("mode"));
  if (apply == nullptr) o.refuse("no mode is called '" + o.text("mode") + "'");
  const std::uint64_t threads = o.number("threads", 1), passes = o.number("passes");
  if (o.text("mode") == "serial" && threads != 1) o.refuse("serial needs --threads 1");
  mesh m(o.number("partitions", 1), o.number("zones", 1), o.number("scatters"), o.number("seed"));
  const auto critical = make_lock(o);
  locks all{.critical = *critical, .elided = {}, .none = {}};

  std::uint64_t per_pass = 0;
  for (std::uint64_t z = 0; z < m.zones.size(); ++z)
    for (std::uint64_t s = 0; s < m.scatters; ++s)
      per_pass += deposit(m.zones[z], m.zones[m.wires[z * m.scatters + s]]);

  const outcome result = run_threads(o, [&](std::uint32_t me) {
    const std::uint64_t first = m.partitions * me / threads * m.zones_each;
    const std::uint64_t last = m.partitions * (me + 1) / threads * m.zones_each;
    for (std::uint64_t pass = 0; pass < passes; ++pass) apply(m, first, last, all);
    return passes * (last - first) * m.scatters;
  });
  return report("clomp_tm", o, result, m.sum() == passes * per_pass,
                member("mode", o.text("mode")) + member("lock", o.text("lock")) +
                    member("scatters", m.scatters));
}
