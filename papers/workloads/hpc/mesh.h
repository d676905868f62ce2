// mesh.h -- an adaptively refined mesh of cubic elements, and the mortars that its faces share.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <vector>

namespace workloads::hpc {

// A lattice point; a coarse element is 8 long, a fine one 4.
using point = std::array<std::int32_t, 3>;

// What collocation points of an element contribute to a mortar: weight times the mean of two, which
// are the same one where it lies on the mortar.
struct contribution {
  std::uint32_t mortar;
  std::uint32_t from, across;
  double weight;
};

// Contributions of one face that the program makes together.
struct gather {
  static constexpr std::size_t most = 4;
  std::array<contribution, most> all;
  std::size_t count = 0;
  [[nodiscard]] const contribution* begin() const { return all.data(); }
  [[nodiscard]] const contribution* end() const { return all.data() + count; }
};

// Cubes, where those that touch a ball are split into eight. Each has 5 x 5 collocation points on
// each of its faces. A mortar is a point where those of faces meet; where the face of a coarse
// element meets finer ones, it has the mortars of theirs, and interpolates.
class mesh {
 public:
  static constexpr std::int32_t coarse = 8;     // length of an element that is not split
  static constexpr std::uint32_t per_side = 5;  // collocation points
  static constexpr std::uint32_t per_face = per_side * per_side;

  // `side` coarse elements on a side.
  explicit mesh(std::int32_t side) : side_(side), split_(count(side)) {
    for (std::int32_t i = 0; i < count(side); ++i) split_[index(i)] = touches_ball(place(i));
    for (std::int32_t i = 0; i < count(side); ++i) {
      const point corner = place(i);
      if (!split_[index(i)]) {
        add_element(corner, coarse);
        continue;
      }
      for (std::int32_t child = 0; child < 8; ++child)
        add_element(
            {corner[0] + child % 2 * 4, corner[1] + child / 2 % 2 * 4, corner[2] + child / 4 * 4},
            coarse / 2);
    }
    weigh();
  }

  std::vector<gather> gathers;  // in the order of elements
  std::uint32_t elements = 0, mortars = 0;
  std::vector<double> total_weight;      // of all contributions to a mortar
  std::vector<std::uint32_t> mortar_of;  // of each collocation point

 private:
  static std::int32_t count(std::int32_t side) { return side * side * side; }
  static std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }
  [[nodiscard]] point place(std::int32_t i) const {
    return {i % side_ * coarse, i / side_ % side_ * coarse, i / side_ / side_ * coarse};
  }

  // A ball in one corner of the cube, of half its side.
  [[nodiscard]] bool touches_ball(const point& corner) const {
    std::int64_t distance = 0;
    for (const std::int32_t c : corner) distance += std::int64_t{c} * c;
    return distance * 4 <= std::int64_t{side_} * side_ * coarse * coarse;
  }

  // Whether the coarse element there is split. Outside of the cube none is.
  [[nodiscard]] bool is_split(const point& corner) const {
    std::int32_t i = 0;
    for (std::size_t d = 3; d-- > 0;) {
      if (corner[d] < 0 || corner[d] >= side_ * coarse) return false;
      i = i * side_ + corner[d] / coarse;
    }
    return split_[index(i)];
  }

  void add_element(const point& corner, std::int32_t length) {
    for (std::size_t axis = 0; axis < 3; ++axis)
      for (const bool far : {false, true}) {
        point beyond = corner;
        beyond[axis] += far ? length : -coarse;
        const bool finer = length == coarse && is_split(beyond);
        add_face(corner, length, axis, far, finer);
      }
    ++elements;
  }

  // The points of a face, corners first, as NAS UA's gather goes; `finer`: at half the distance.
  void add_face(const point& corner, std::int32_t length, std::size_t axis, bool far, bool finer) {
    const std::int32_t last = finer ? 2 * (per_side - 1) : per_side - 1;
    const std::uint32_t first = faces_++ * per_face;
    std::vector<contribution> corners, others;
    for (std::int32_t i = 0; i <= last; ++i)
      for (std::int32_t j = 0; j <= last; ++j) {
        const std::int32_t ends = (i % last == 0) + (j % last == 0);
        point at = corner;
        at[axis] += far ? length : 0;
        at[(axis + 1) % 3] += i * length / last;
        at[(axis + 2) % 3] += j * length / last;
        // A corner belongs to three faces of the element, an edge to two.
        const double weight = ends == 2 ? 1.0 / 3 : ends == 1 ? 1.0 / 2 : 1.0;
        const std::int32_t half = finer ? 2 : 1;
        const auto number = [&](std::int32_t row, std::int32_t column) {
          return first + static_cast<std::uint32_t>(row / half) * per_side +
                 static_cast<std::uint32_t>(column / half);
        };
        (ends == 2 ? corners : others)
            .push_back({mortar_at(at), number(i, j), number(i + half - 1, j + half - 1), weight});
      }
    add_gathers(corners);
    add_gathers(others);
  }

  void add_gathers(const std::vector<contribution>& face) {
    for (std::size_t i = 0; i < face.size(); ++i) {
      if (i % gather::most == 0) gathers.emplace_back();
      gather& last = gathers.back();
      last.all[last.count++] = face[i];
    }
  }

  std::uint32_t mortar_at(const point& at) {
    return numbers_.try_emplace(at, static_cast<std::uint32_t>(numbers_.size())).first->second;
  }

  void weigh() {
    mortars = static_cast<std::uint32_t>(numbers_.size());
    total_weight.assign(mortars, 0);
    mortar_of.resize(std::size_t{faces_} * per_face);
    for (const gather& g : gathers)
      for (const contribution& c : g) {
        total_weight[c.mortar] += c.weight;
        if (c.from == c.across) mortar_of[c.from] = c.mortar;
      }
    numbers_.clear();
  }

  std::int32_t side_;
  std::uint32_t faces_ = 0;
  std::vector<bool> split_;
  std::map<point, std::uint32_t> numbers_;
};

}  // namespace workloads::hpc
