// fluid.h -- the particles and cells of fluidanimate.cpp, in whole numbers: sums do not depend on
// the order of threads.
//
// A cell's side is the distance within which particles act on each other; a kernel is the square of
// what is left of that distance's square, scaled down to 10 bits.
#pragma once

#include <cstdint>
#include <vector>

#include "../random_numbers.h"

namespace workloads::rmstm {

struct vec {
  std::int64_t x = 0, y = 0, z = 0;
  friend bool operator==(const vec&, const vec&) = default;
  friend vec operator+(const vec& a, const vec& b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
  friend vec operator-(const vec& a, const vec& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
  // Towards zero, so that -(v * n / d) is (-v) * n / d.
  [[nodiscard]] vec scaled(std::int64_t n, std::int64_t d) const {
    return {x * n / d, y * n / d, z * n / d};
  }
  [[nodiscard]] std::int64_t square() const { return x * x + y * y + z * z; }
};

struct particle {
  vec position, velocity, force;
  std::int64_t density = 0;
  friend bool operator==(const particle&, const particle&) = default;
};

constexpr std::int64_t cell_side = 1024, rest_density = 3000, fastest = 200;

// 0 to 1024; 0 from a distance of cell_side on.
inline std::int64_t kernel(std::int64_t square_of_distance) {
  const std::int64_t left = cell_side * cell_side - square_of_distance;
  return left <= 0 ? 0 : left / cell_side;
}

inline std::int64_t density_of(std::int64_t k) { return k * k / 1024; }

// What pushes a away from b, and b as much away from a.
inline vec force_of(const particle& a, const particle& b, std::int64_t k) {
  const std::int64_t pressure = a.density + b.density - 2 * rest_density;
  const vec viscous = (b.velocity - a.velocity).scaled(k, 8192);
  return (a.position - b.position).scaled(k * pressure / 1024, 1 << 16) + viscous;
}

inline std::int64_t within(std::int64_t v, std::int64_t least, std::int64_t most) {
  return v < least ? least : v > most ? most : v;
}

// Requires: the forces of this step are summed up. Bounces off the walls of a box.
inline void advance(particle& p, std::int64_t box) {
  const auto one = [box](std::int64_t& at, std::int64_t& speed, std::int64_t force) {
    speed = within(speed + force, -fastest, fastest);
    at += speed;
    if (at < 0 || at >= box) speed = -speed / 2;
    at = within(at, 0, box - 1);
  };
  one(p.position.x, p.velocity.x, p.force.x);
  one(p.position.y, p.velocity.y, p.force.y - 4);
  one(p.position.z, p.velocity.z, p.force.z);
  p.density = 0;
  p.force = {};
}

// A block of fluid in the lower half of the box.
inline std::vector<particle> make_fluid(std::uint64_t count, std::int64_t box, std::uint64_t seed) {
  random_numbers random(seed, 0);
  const auto below = [&](std::int64_t bound) {
    return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(bound)));
  };
  std::vector<particle> result(count);
  for (particle& each : result) {
    each.position = {below(box), below(box / 2), below(box)};
    each.velocity = {below(21) - 10, below(21) - 10, below(21) - 10};
  }
  return result;
}

}  // namespace workloads::rmstm
