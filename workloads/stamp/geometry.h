// geometry.h -- exact geometry of points on a 2^24 x 2^24 lattice, for yada: signs are never wrong,
// so that a mesh stays one. All of it is on values and constants.
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>

#include "transaction.h"

namespace workloads::stamp {

struct point {
  static constexpr std::int64_t side = 1 << 24;  // coordinates are 0 .. side
  std::int64_t x, y;
  bool operator==(const point&) const = default;
};

// Twice the area of the triangle; positive when a, b, c turn left.
TRANSACTION_PURE inline std::int64_t area(point a, point b, point c) {
  return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

// Whether p lies inside the circle through a, b, c, which turn left.
TRANSACTION_PURE inline bool in_circle(point a, point b, point c, point p) {
  const auto lifted = [](std::int64_t x, std::int64_t y) { return x * x + y * y; };
  const std::int64_t ax = a.x - p.x, ay = a.y - p.y, bx = b.x - p.x, by = b.y - p.y, cx = c.x - p.x,
                     cy = c.y - p.y;
  const auto wide = [](std::int64_t u, std::int64_t v) {
    __extension__ typedef __int128 product;
    return static_cast<product>(u) * v;
  };
  return wide(lifted(ax, ay), bx * cy - by * cx) - wide(lifted(bx, by), ax * cy - ay * cx) +
             wide(lifted(cx, cy), ax * by - ay * bx) >
         0;
}

// Whether p lies inside the circle whose diameter is the segment.
TRANSACTION_PURE inline bool encroaches(point p, point a, point b) {
  return (a.x - p.x) * (b.x - p.x) + (a.y - p.y) * (b.y - p.y) < 0;
}

TRANSACTION_PURE inline point middle(point a, point b) {
  return {(a.x + b.x) / 2, (a.y + b.y) / 2};
}

// The lattice point nearest to the center of the circle through a, b, c.
TRANSACTION_PURE inline point circumcenter(point a, point b, point c) {
  const auto bx = static_cast<double>(b.x - a.x), by = static_cast<double>(b.y - a.y),
             cx = static_cast<double>(c.x - a.x), cy = static_cast<double>(c.y - a.y);
  const double d = 2 * (bx * cy - by * cx), b2 = bx * bx + by * by, c2 = cx * cx + cy * cy;
  const double x = (cy * b2 - by * c2) / d, y = (bx * c2 - cx * b2) / d;
  const double limit = 4.0 * point::side;  // far outside: any such point does
  const auto to_lattice = [limit](double v) {
    return static_cast<std::int64_t>(std::llround(v > limit ? limit : v < -limit ? -limit : v));
  };
  return {a.x + to_lattice(x), a.y + to_lattice(y)};
}

// The cosine of the least angle; 0 when the shortest edge is too short for the lattice to improve
// on.
TRANSACTION_PURE inline double cosine_of_least_angle(point a, point b, point c) {
  const auto squared = [](point p, point q) {
    return static_cast<double>((p.x - q.x) * (p.x - q.x) + (p.y - q.y) * (p.y - q.y));
  };
  double s = squared(a, b), t = squared(b, c), u = squared(c, a);  // the least becomes s
  if (t < s) std::swap(s, t);
  if (u < s) std::swap(s, u);
  constexpr double shortest = 32;
  return s < shortest * shortest ? 0 : (t + u - s) / (2 * std::sqrt(t) * std::sqrt(u));
}

}  // namespace workloads::stamp
