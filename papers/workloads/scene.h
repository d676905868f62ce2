// scene.h -- the objects of physics_solver.cpp, and the constraints between them, in whole numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "common.h"
#include "sections.h"

namespace workloads {

struct vector3 {
  std::int64_t x = 0, y = 0, z = 0;
  vector3& operator+=(const vector3& other) {
    x += other.x;
    y += other.y;
    z += other.z;
    return *this;
  }
  vector3& operator-=(const vector3& other) {
    x -= other.x;
    y -= other.y;
    z -= other.z;
    return *this;
  }
  friend vector3 operator-(vector3 left, const vector3& right) { return left -= right; }
  friend bool operator==(const vector3&, const vector3&) = default;
};

// Two objects that pull each other. first < second: the order of their locks.
struct constraint {
  std::uint32_t first, second;
};
using constraints = std::vector<constraint>;

struct object {
  vector3 position, velocity;
  void move(const vector3& force) {
    velocity += force;
    position += velocity;
  }
  friend bool operator==(const object&, const object&) = default;
};

struct scene {
  std::vector<object> objects;

  scene(std::uint64_t count, std::uint64_t seed) : objects(count) {
    random_numbers random(seed, 0);
    const auto coordinate = [&] { return static_cast<std::int64_t>(random.below(1u << 20)); };
    for (object& each : objects) {
      each.position.x = coordinate();
      each.position.y = coordinate();
      each.position.z = coordinate();
    }
  }

  // What pulls the first object towards the second, and the second as much towards the first.
  [[nodiscard]] vector3 force(const constraint& c) const {
    const vector3 distance = objects[c.second].position - objects[c.first].position;
    return {distance.x / 256, distance.y / 256, distance.z / 256};
  }

  // The same steps by one thread, without any synchronization.
  void solve_alone(const constraints& all, std::uint64_t steps) {
    for (std::uint64_t step = 0; step < steps; ++step) {
      std::vector<vector3> forces(objects.size());
      for (const constraint& c : all) {
        const vector3 pull = force(c);
        forces[c.first] += pull;
        forces[c.second] -= pull;
      }
      for (std::size_t i = 0; i < objects.size(); ++i) objects[i].move(forces[i]);
    }
  }
};

// Random pairs. In every fourth, the first object is one of the first `hubs`. Requires:
// hubs < objects.
inline constraints make_constraints(std::uint64_t objects, std::uint64_t count, std::uint64_t hubs,
                                    std::uint64_t seed) {
  random_numbers random(seed, 1);
  constraints result;
  while (result.size() < count) {
    const bool at_hub = result.size() % 4 == 0;
    const auto one = static_cast<std::uint32_t>(random.below(at_hub ? hubs : objects));
    const auto other = static_cast<std::uint32_t>(random.below(objects));
    if (one != other) result.push_back({std::min(one, other), std::max(one, other)});
  }
  return result;
}

// Groups in which no object occurs twice: each takes what it can of what is left, in order.
inline std::vector<constraints> independent_groups(constraints left, std::uint64_t objects) {
  std::vector<constraints> groups;
  while (!left.empty()) {
    std::vector<bool> taken(objects);
    constraints group, later;
    for (const constraint& c : left) {
      const bool fits = !taken[c.first] && !taken[c.second];
      if (fits) taken[c.first] = taken[c.second] = true;
      (fits ? group : later).push_back(c);
    }
    groups.push_back(std::move(group));
    left = std::move(later);
  }
  return groups;
}

}  // namespace workloads
