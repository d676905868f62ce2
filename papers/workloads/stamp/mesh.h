// mesh.h -- a Delaunay triangulation of a square, for yada.
//
// Invariants
//   I1  The living triangles turn left, cover the square, and do not overlap.
//   I2  across[i] of a triangle is the living one on the other side of the edge opposite to corner
//       i; null exactly where that edge is a piece of the square's border.
//   I3  No corner lies inside the circle of a living triangle.
// A triangle's corners never change. A dead one stays in memory: others may still point to it.
#pragma once

#include <vector>

#include "containers/scratch.h"
#include "geometry.h"
#include "transaction.h"

namespace workloads::stamp {

struct triangle {
  triangle(point a, point b, point c) : corner{{a.x, a.y}, {b.x, b.y}, {c.x, c.y}} {
    for (int i = 0; i < 3; ++i) across[i] = nullptr;
  }
  const point corner[3];
  shared<triangle*> across[3];
  shared<bool> dead = false;
};

[[gnu::always_inline]] inline point corner(const triangle* t, int i) {
  return {t->corner[i].x, t->corner[i].y};
}
// The two ends of the edge opposite to corner i, in left turn.
[[gnu::always_inline]] inline point edge_from(const triangle* t, int i) {
  return corner(t, (i + 1) % 3);
}
[[gnu::always_inline]] inline point edge_to(const triangle* t, int i) {
  return corner(t, (i + 2) % 3);
}
[[gnu::always_inline]] inline bool circle_holds(const triangle* t, point p) {
  return in_circle(corner(t, 0), corner(t, 1), corner(t, 2), p);
}

// No initializers: a constructor would make GCC track accesses to local ones (see geometry.h).
struct edge {
  triangle* of;
  int side;
};

// The hole that a new point makes: the triangles whose circles hold it. Memory of one thread.
class cavity {
 public:
  // Collects it from `start` on, whose circle holds p. Where p lies beyond a border edge, or inside
  // the circle of one, the result is that edge instead, and the cavity is of no use; `split` is the
  // edge that p itself lies on, if any.
  edge grow(triangle* start, point p, edge split = {nullptr, 0}) {
    old_.clear();
    rim_.clear();
    old_.push(start);
    for (std::size_t next = 0; next < old_.size(); ++next) {
      triangle* const t = old_.get(next);
      for (int i = 0; i < 3; ++i) {
        triangle* const beyond = t->across[i];
        if (beyond == nullptr) {
          if (t == split.of && i == split.side) continue;
          const point a = edge_from(t, i), b = edge_to(t, i);
          if (split.of == nullptr && (area(a, b, p) <= 0 || encroaches(p, a, b))) return {t, i};
          rim_.push({t, i});
        } else if (!has(beyond)) {
          if (circle_holds(beyond, p)) old_.push(beyond);
          else rim_.push({t, i});
        }
      }
    }
    return {nullptr, 0};
  }

  // Replaces the cavity by triangles from its rim to p; they are in fresh() then.
  void fill(point p) {
    fresh_.clear();
    for (std::size_t r = 0; r < rim_.size(); ++r) {
      const edge e = rim_.get(r);
      triangle* const t = new triangle(edge_from(e.of, e.side), edge_to(e.of, e.side), p);
      triangle* const beyond = e.of->across[e.side];
      t->across[2] = beyond;
      if (beyond != nullptr) beyond->across[side_towards(beyond, e.of)] = t;
      fresh_.push(t);
    }
    for (std::size_t i = 0; i < fresh_.size(); ++i) join(fresh_.get(i));
    for (std::size_t i = 0; i < old_.size(); ++i) old_.get(i)->dead = true;
  }

  scratch<triangle*>& fresh() { return fresh_; }

 private:
  bool has(const triangle* t) const {
    for (std::size_t i = 0; i < old_.size(); ++i)
      if (old_.get(i) == t) return true;
    return false;
  }
  static int side_towards(const triangle* from, const triangle* to) {
    return from->across[0] == to ? 0 : from->across[1] == to ? 1 : 2;
  }
  // Finds the fresh triangle that shares t's edge from its second corner to p.
  void join(triangle* t) {
    const point second = corner(t, 1);
    for (std::size_t i = 0; i < fresh_.size(); ++i) {
      triangle* const u = fresh_.get(i);
      if (corner(u, 0) == second) {
        t->across[0] = u;
        u->across[1] = t;
        return;
      }
    }
  }

  scratch<triangle*> old_, fresh_;
  scratch<edge> rim_;
};

class mesh {
 public:
  // Of the whole square, with these points inside it (none twice).
  explicit mesh(const std::vector<point>& inside) {
    constexpr std::int64_t s = point::side;
    auto* const lower = new triangle({0, 0}, {s, 0}, {s, s});
    auto* const upper = new triangle({0, 0}, {s, s}, {0, s});
    lower->across[1] = upper;
    upper->across[2] = lower;
    made = {lower, upper};
    cavity hole;
    for (const point& p : inside) {
      triangle* const start = locate(p);
      // On the square's border (it is inside: never), or an input point again: no cavity.
      if (!circle_holds(start, p) || hole.grow(start, p, {start, -1}).of != nullptr) continue;
      hole.fill(p);
      keep(hole, made);
    }
  }
  ~mesh() {
    for (triangle* t : made) delete t;
  }
  mesh(const mesh&) = delete;
  mesh& operator=(const mesh&) = delete;

  static void keep(cavity& from, std::vector<triangle*>& to) {
    for (std::size_t i = 0; i < from.fresh().size(); ++i) to.push_back(from.fresh().get(i));
  }

  // Whether I1 to I3 hold.
  [[nodiscard]] bool valid() const {
    std::int64_t covered = 0;
    for (const triangle* t : made) {
      if (t->dead) continue;
      const std::int64_t own = area(t->corner[0], t->corner[1], t->corner[2]);
      if (own <= 0) return false;
      covered += own;
      for (int i = 0; i < 3; ++i)
        if (!edge_is_right(t, i)) return false;
    }
    return covered == 2 * point::side * point::side;
  }

  std::vector<triangle*> made;  // the dead ones too

 private:
  static bool edge_is_right(const triangle* t, int i) {
    const point a = edge_from(t, i), b = edge_to(t, i);
    const triangle* const u = t->across[i];
    if (u == nullptr)
      return (a.x == b.x && a.x % point::side == 0) || (a.y == b.y && a.y % point::side == 0);
    if (u->dead) return false;
    for (int j = 0; j < 3; ++j)
      if (u->across[j] == t)
        return edge_from(u, j) == b && edge_to(u, j) == a && !circle_holds(t, u->corner[j]);
    return false;
  }

  // Walks from the newest triangle to one that holds p.
  [[nodiscard]] triangle* locate(point p) const {
    triangle* t = made.back();
    for (bool there = false; !there;) {
      there = true;
      for (int i = 0; i < 3 && there; ++i)
        if (t->across[i] != nullptr && area(edge_from(t, i), edge_to(t, i), p) < 0) {
          t = t->across[i];
          there = false;
        }
    }
    return t;
  }
};

}  // namespace workloads::stamp
