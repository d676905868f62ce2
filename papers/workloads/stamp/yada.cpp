// yada.cpp -- Delaunay mesh refinement: long transactions that rebuild a part of a mesh.
//
// Source        STAMP (Cao Minh et al., IISWC 2008), Ruppert's algorithm: a shared
//               heap holds triangles with too small an angle; a thread takes one and inserts its
//               circle's center, which removes the triangles around it (the cavity) and makes new
//               ones; where the center would lie too close to a border edge, that is cut in half
//               instead. Bad new triangles go into the heap.
// Deviations    Input: random points in a square, for the suite's mesh files. Points are on a
//               lattice, so that predicates are exact. Dead triangles are freed at the end.
// Check         Exactly: the triangles cover the square, fit their neighbors, are Delaunay; and
//               none has too small an angle.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "containers/heap.h"
#include "mesh.h"
#include "program.h"
#include "transaction.h"

namespace {

using namespace workloads::stamp;
using std::int64_t;
using std::uint32_t;
using std::uint64_t;

const parameters known{
    {"small", "tiny", "sim", "sim+", "paper", "large"},
    {{"angle",
      "least angle wanted, in degrees, at most 20 (suite: -a)",
      {"20", "20", "20", "10", "15", "15"}},
     {"points",
      "points of the input mesh (suite: the files 633, ttimeu10000, ttimeu1000000)",
      {"100000", "40", "633", "10000", "1000000", "2000000"}}}};

struct work_item {
  double badness;
  triangle* what;
  bool operator<(const work_item& w) const { return badness < w.badness; }
};

class refiner {
 public:
  refiner(mesh& all, double degrees, uint32_t threads)
      : all_(all), limit_(std::cos(degrees * std::numbers::pi / 180)), made_(threads) {
    for (triangle* t : all_.made)
      if (!t->dead && badness(t) > 0) heap_.push({badness(t), t});
  }

  uint64_t work(uint32_t thread) {
    cavity hole;
    uint64_t transactions = 0;
    for (;;) {
      work_item item{};
      bool found = false;
      TRANSACTION { found = heap_.pop(item); };
      ++transactions;
      if (!found) return transactions;
      TRANSACTION {
        hole.fresh().clear();
        if (!item.what->dead) refine(item.what, hole);
      };
      TRANSACTION { put_back(item.what, hole); };
      transactions += 2;
      mesh::keep(hole, made_[thread]);
    }
  }

  // Hands the triangles that threads made to the mesh.
  void collect() {
    for (auto& list : made_) all_.made.insert(all_.made.end(), list.begin(), list.end());
  }

  [[nodiscard]] bool done() const {
    return heap_.empty() && std::all_of(all_.made.begin(), all_.made.end(),
                                        [&](triangle* t) { return t->dead || badness(t) == 0; });
  }

 private:
  // 0: good enough. Border edges with a corner in their circle come first.
  [[nodiscard]] double badness(const triangle* t) const {
    for (int i = 0; i < 3; ++i)
      if (t->across[i] == nullptr && can_split(t, i) &&
          encroaches(corner(t, i), edge_from(t, i), edge_to(t, i)))
        return 2;
    const double cosine = cosine_of_least_angle(corner(t, 0), corner(t, 1), corner(t, 2));
    return cosine > limit_ && circle_holds(t, center(t)) ? cosine : 0;
  }
  static point center(const triangle* t) {
    return circumcenter(corner(t, 0), corner(t, 1), corner(t, 2));
  }
  static bool can_split(const triangle* t, int i) {
    const point a = edge_from(t, i), b = edge_to(t, i);
    return a.x - b.x > 32 || b.x - a.x > 32 || a.y - b.y > 32 || b.y - a.y > 32;
  }

  void refine(triangle* bad, cavity& hole) {
    edge split{nullptr, 0};
    for (int i = 0; i < 3; ++i)
      if (bad->across[i] == nullptr && can_split(bad, i) &&
          encroaches(corner(bad, i), edge_from(bad, i), edge_to(bad, i)))
        split = {bad, i};
    point p = center(bad);
    if (split.of == nullptr) split = hole.grow(bad, p);
    if (split.of != nullptr) {
      if (!can_split(split.of, split.side)) return;
      p = middle(edge_from(split.of, split.side), edge_to(split.of, split.side));
      hole.grow(split.of, p, split);
    }
    hole.fill(p);
  }

  void put_back(triangle* old, cavity& hole) {
    for (std::size_t i = 0; i < hole.fresh().size(); ++i) {
      triangle* const t = hole.fresh().get(i);
      if (t->dead) continue;
      const double how_bad = badness(t);
      if (how_bad > 0) heap_.push({how_bad, t});
    }
    // A border edge was cut in its place.
    if (!old->dead && hole.fresh().size() > 0) heap_.push({badness(old), old});
  }

  mesh& all_;
  const double limit_;
  heap<work_item> heap_;
  std::vector<std::vector<triangle*>> made_;
};

// Random points in rows of cells, so that each lies near the one before.
std::vector<point> random_points(const program& p) {
  auto random = p.random();
  std::vector<point> result(p.number("points"));
  for (point& at : result)
    at = {static_cast<int64_t>(1 + random.below(point::side - 1)),
          static_cast<int64_t>(1 + random.below(point::side - 1))};
  const auto rows = static_cast<int64_t>(std::sqrt(result.size()) / 2) + 1;
  const int64_t height = point::side / rows + 1;
  std::sort(result.begin(), result.end(), [&](const point& a, const point& b) {
    const int64_t row = a.y / height;
    if (row != b.y / height) return row < b.y / height;
    if (a.x != b.x) return (a.x < b.x) == (row % 2 == 0);
    return a.y < b.y;
  });
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  program p(argc, argv, "yada",
            "Refines a mesh; each long transaction replaces the triangles around one point.",
            known);
  if (p.real("angle") > 20) p.refuse("--angle is at most 20: more need not end");
  mesh all(random_points(p));
  const auto living = [&] {
    return static_cast<uint64_t>(
        std::count_if(all.made.begin(), all.made.end(), [](triangle* t) { return !t->dead; }));
  };
  p.result("triangles_before", living());
  refiner r(all, p.real("angle"), p.threads());
  p.run([&](uint32_t thread) { return r.work(thread); });
  r.collect();
  if (p.inject_error()) all.made.back()->dead = !all.made.back()->dead;
  p.varying_result("triangles_after", living());
  return p.finish(all.valid() && r.done());
}
