// fluidanimate.cpp -- a fluid of particles, which push each other where they are near.
//
// Source      Yoo et al., SC 2013, section 4.3, after RMS-TM's fluidanimate (Kestor et al., 2011;
//             PARSEC: Bienia et al., PACT 2008): smoothed particle hydrodynamics; space is divided
//             into cells, and each thread has a slab of them. Written anew from those descriptions.
// Sections    Entry of a particle into its cell (allocates); and, where a cell has neighbors that
//             belong to another thread, each addition to a particle's density or force: very many,
//             and very small. No section writes a file.
// Deviations  Whole numbers, and simpler kernels (fluid.h). A cell holds a list, not blocks.
// Check       Every particle after the last step, exactly, from a run by one thread.
#include "fluid.h"
#include "program.h"

namespace {
using namespace workloads;
using namespace workloads::rmstm;

struct link {
  std::uint32_t particle = 0;
  link* next = nullptr;
};

template <class Sections>
struct alignas(64) cell {
  typename Sections::lock lock;
  link* first = nullptr;
  bool at_border = false;
};

template <class Sections>
class tank {
 public:
  tank(std::vector<particle>& fluid, std::uint32_t side, team& threads, resources inside)
      : fluid_(fluid),
        side_(side),
        threads_(threads.threads()),
        inside_(inside),
        cells_(std::size_t{side} * side * side) {
    for (std::uint32_t c = 0; c < cells_.size(); ++c)
      for_neighbors(c, [&](std::uint32_t n) {
        if (owner(n) == owner(c)) return;
        cells_[c].at_border = cells_[n].at_border = true;
      });
  }
  ~tank() {
    for (auto& each : cells_) empty(each);
  }
  tank(const tank&) = delete;
  tank& operator=(const tank&) = delete;

  // One thread's part. Returns how many sections it was in.
  std::uint64_t flow(std::uint32_t me, std::uint64_t steps, team& threads) {
    std::uint64_t sections = 0;
    fresh<link> links(inside_.memory);
    const share_of share{me, threads.threads()};
    const index_range mine = slab(me), particles = share.indices(fluid_.size());
    for (std::uint64_t step = 0; step < steps; ++step) {
      for (const std::uint32_t c : mine) empty(cells_[c]);
      threads.meet();
      for (const std::uint32_t p : particles) sections += enter(p, links);
      threads.meet();
      for (const std::uint32_t c : mine) add_densities(c, sections);
      threads.meet();
      for (const std::uint32_t c : mine) add_forces(c, sections);
      threads.meet();
      for (const std::uint32_t p : particles) advance(fluid_[p], side_ * cell_side);
      threads.meet();
    }
    return sections;
  }

 private:
  // Planes of cells.
  [[nodiscard]] index_range slab(std::uint32_t thread) const {
    const index_range planes = share_of{thread, threads_}.indices(side_);
    return {planes.first * side_ * side_, planes.last * side_ * side_};
  }
  [[nodiscard]] std::uint32_t owner(std::uint32_t c) const {
    std::uint32_t thread = 0;
    while (c >= slab(thread).last) ++thread;
    return thread;
  }

  static void empty(cell<Sections>& of) {
    while (of.first != nullptr) delete std::exchange(of.first, of.first->next);
  }

  std::uint64_t enter(std::uint32_t p, fresh<link>& links) {
    const vec at = fluid_[p].position.scaled(1, cell_side);
    auto& into = cells_[static_cast<std::size_t>((at.z * side_ + at.y) * side_ + at.x)];
    links.prepare();
    const auto held = Sections::hold(into.lock);
    link* const added = links.take();
    added->particle = p;
    added->next = into.first;
    into.first = added;
    return 1;
  }

  // Half of those around a cell, so that each pair of neighbors comes once.
  template <class Act>
  void for_neighbors(std::uint32_t c, Act act) const {
    const auto side = static_cast<std::int64_t>(side_);
    const std::int64_t x = c % side, y = c / side % side, z = c / side / side;
    for (std::int64_t dz = 0; dz <= 1; ++dz)
      for (std::int64_t dy = dz == 0 ? 0 : -1; dy <= 1; ++dy)
        for (std::int64_t dx = dz == 0 && dy == 0 ? 1 : -1; dx <= 1; ++dx)
          if (x + dx >= 0 && x + dx < side && y + dy >= 0 && y + dy < side && z + dz < side)
            act(static_cast<std::uint32_t>(c + (dz * side + dy) * side + dx));
  }

  // Calls act(a, b, kernel, cell of b) for each pair of near particles, a in the cell, b in it or a
  // neighbor.
  template <class Act>
  void for_pairs(std::uint32_t c, Act act) {
    const auto near = [&](const link& a, const link& b, std::uint32_t at) {
      const vec apart = fluid_[a.particle].position - fluid_[b.particle].position;
      if (const std::int64_t k = kernel(apart.square()); k > 0)
        act(fluid_[a.particle], fluid_[b.particle], k, at);
    };
    for (const link* a = cells_[c].first; a != nullptr; a = a->next) {
      for (const link* b = a->next; b != nullptr; b = b->next) near(*a, *b, c);
      for_neighbors(c, [&](std::uint32_t n) {
        for (const link* b = cells_[n].first; b != nullptr; b = b->next) near(*a, *b, n);
      });
    }
  }

  template <class Change>
  void update(std::uint32_t c, std::uint64_t& sections, Change change) {
    if (!cells_[c].at_border) return change();
    const auto held = Sections::hold(cells_[c].lock);
    change();
    ++sections;
  }

  void add_densities(std::uint32_t c, std::uint64_t& sections) {
    for_pairs(c, [&](particle& a, particle& b, std::int64_t k, std::uint32_t other) {
      update(c, sections, [&] { a.density += density_of(k); });
      update(other, sections, [&] { b.density += density_of(k); });
    });
  }
  void add_forces(std::uint32_t c, std::uint64_t& sections) {
    for_pairs(c, [&](particle& a, particle& b, std::int64_t k, std::uint32_t other) {
      const vec force = force_of(a, b, k);
      update(c, sections, [&] { a.force = a.force + force; });
      update(other, sections, [&] { b.force = b.force - force; });
    });
  }

  std::vector<particle>& fluid_;
  const std::uint32_t side_, threads_;
  const resources inside_;
  std::vector<cell<Sections>> cells_;
};

struct animation {
  const std::vector<particle>& start;
  std::uint32_t side;
  std::uint64_t steps;

  template <class Sections>
  std::vector<particle> run(team& threads, resources inside) const {
    std::vector<particle> fluid = start;
    tank<Sections> all(fluid, side, threads, inside);
    threads.run([&](std::uint32_t me) { return all.flow(me, steps, threads); });
    return fluid;
  }
};
}  // namespace

int main(int argc, char** argv) {
  const sized sides{"side", "cells of a side of the box", {10, 34, 54}};
  const sized counts{"particles", "of the fluid", {4'000, 100'000, 500'000}};
  const sized step_counts{"steps", "in time", {5, 5, 100}};
  const options o(argc, argv, "Threads move the particles of a fluid (fluidanimate).",
                  option_list({sides, counts, step_counts}));
  const std::uint64_t side = sides.of(o);
  if (side < 2 || side > 500) o.refuse("--side needs 2 to 500");
  const auto start =
      make_fluid(counts.of(o), static_cast<std::int64_t>(side) * cell_side, o.number("seed"));
  const animation program{
      .start = start, .side = static_cast<std::uint32_t>(side), .steps = step_counts.of(o)};
  return run_and_check("fluidanimate", o, program);
}
