// records.h -- the input of scalparc.cpp: records of small numbers, each with a class that a
// planted tree of comparisons decides, with some noise.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "../random_numbers.h"

namespace workloads::rmstm {

constexpr std::uint32_t attributes = 8, attribute_values = 32, classes = 2;

struct record {
  std::array<std::uint8_t, attributes> value;
  std::uint8_t of_class;
};

inline std::vector<record> make_records(std::uint64_t count, std::uint64_t seed) {
  random_numbers random(seed, 0);
  struct comparison {
    std::uint32_t attribute, limit;
  };
  constexpr std::uint32_t inner = 15;  // of a full tree with 16 leaves, whose classes alternate
  std::array<comparison, inner> planted;
  for (comparison& each : planted)
    each = {static_cast<std::uint32_t>(random.below(attributes)),
            static_cast<std::uint32_t>(8 + random.below(attribute_values - 16))};
  std::vector<record> result(count);
  for (record& each : result) {
    for (auto& v : each.value) v = static_cast<std::uint8_t>(random.below(attribute_values));
    std::uint32_t at = 0;
    while (at < inner)
      at = 2 * at + (each.value[planted[at].attribute] < planted[at].limit ? 1 : 2);
    const bool noise = random.below(20) == 0;
    each.of_class = static_cast<std::uint8_t>((at + (noise ? 1 : 0)) % classes);
  }
  return result;
}

}  // namespace workloads::rmstm
