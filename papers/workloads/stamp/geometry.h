// geometry.h -- exact geometry of points on a 2^24 x 2^24 lattice, for yada: signs are never wrong,
// so that a mesh stays one. All of it is on values and constants.
#pragma once

#include <cmath>
#include <cstdint>

#include "transaction.h"

namespace workloads::stamp {

struct point {
  static constexpr std::int64_t side = 1 << 24;  // coordinates are 0 .. side
  std::int64_t x, y;
  bool operator==(const point&) const = default;
};

// What the compiler could not look into.
TRANSACTION_PURE inline std::int64_t nearest_integer(double x) { return std::llround(x); }
TRANSACTION_PURE inline double square_root(double x) { return std::sqrt(x); }

// Twice the area of the triangle; positive when a, b, c turn left.
[[gnu::always_inline]] inline std::int64_t area(point a, point b, point c) {
  return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

// Whether p lies inside the circle through a, b, c, which turn left: the sign of the determinant of
// Guibas & Stolfi.
[[gnu::always_inline]] inline bool in_circle(point a, point b, point c, point p) {
  __extension__ typedef __int128 product;
  const std::int64_t ax = a.x - p.x, ay = a.y - p.y, bx = b.x - p.x, by = b.y - p.y, cx = c.x - p.x,
                     cy = c.y - p.y;
  const product first = static_cast<product>(ax * ax + ay * ay) * (bx * cy - by * cx);
  const product second = static_cast<product>(bx * bx + by * by) * (ax * cy - ay * cx);
  const product third = static_cast<product>(cx * cx + cy * cy) * (ax * by - ay * bx);
  return first - second + third > 0;
}

// Whether p lies inside the circle whose diameter is the segment.
[[gnu::always_inline]] inline bool encroaches(point p, point a, point b) {
  return (a.x - p.x) * (b.x - p.x) + (a.y - p.y) * (b.y - p.y) < 0;
}

[[gnu::always_inline]] inline point middle(point a, point b) {
  return {(a.x + b.x) / 2, (a.y + b.y) / 2};
}

// The lattice point nearest to the center of the circle through a, b, c.
[[gnu::always_inline]] inline point circumcenter(point a, point b, point c) {
  const auto bx = static_cast<double>(b.x - a.x), by = static_cast<double>(b.y - a.y),
             cx = static_cast<double>(c.x - a.x), cy = static_cast<double>(c.y - a.y);
  const double d = 2 * (bx * cy - by * cx), b2 = bx * bx + by * by, c2 = cx * cx + cy * cy;
  double x = (cy * b2 - by * c2) / d, y = (bx * c2 - cx * b2) / d;
  constexpr double limit = 4.0 * point::side;  // far outside: any such point does
  x = x > limit ? limit : x < -limit ? -limit : x;
  y = y > limit ? limit : y < -limit ? -limit : y;
  return {a.x + nearest_integer(x), a.y + nearest_integer(y)};
}

// The cosine of the least angle; 0 when the shortest edge is too short for the lattice to improve
// on.
[[gnu::always_inline]] inline double cosine_of_least_angle(point a, point b, point c) {
  const double abx = static_cast<double>(b.x - a.x), aby = static_cast<double>(b.y - a.y),
               bcx = static_cast<double>(c.x - b.x), bcy = static_cast<double>(c.y - b.y),
               cax = static_cast<double>(a.x - c.x), cay = static_cast<double>(a.y - c.y);
  const double ab = abx * abx + aby * aby, bc = bcx * bcx + bcy * bcy, ca = cax * cax + cay * cay;
  double s = ab, t = bc, u = ca;  // s becomes the least
  if (bc < s) {
    s = bc;
    t = ab;
  }
  if (ca < s) {
    u = s;
    s = ca;
  }
  constexpr double shortest = 32;
  return s < shortest * shortest ? 0 : (t + u - s) / (2 * square_root(t * u));
}

}  // namespace workloads::stamp
