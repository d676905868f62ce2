// presets.h -- sizes of a workload by name: --preset sets those that the command line does not.
#pragma once

#include <array>
#include <cstdint>
#include <iterator>
#include <string>

#include "options.h"

namespace workloads {

inline const char* const preset_names[] = {"small", "paper", "large"};

// A number that --preset chooses where the command line does not.
struct sized {
  const char* name;
  const char* help;
  std::array<std::uint64_t, std::size(preset_names)> values;

  [[nodiscard]] option as_option() const {
    std::string text = help;
    for (std::size_t i = 0; i < values.size(); ++i)
      text += (i == 0 ? ": " : ", ") + std::to_string(values[i]);
    return {name, "preset", text};
  }
  // Requires: as_option() is one of the options.
  [[nodiscard]] std::uint64_t of(const options& o) const {
    if (o.text(name) != "preset") return o.number(name, 1);
    for (std::size_t i = 0; i < values.size(); ++i)
      if (o.text("preset") == preset_names[i]) return values[i];
    o.refuse("no preset is called '" + o.text("preset") + "'; there are small, paper and large");
  }
};

inline const option preset_option{"preset", "small", "sizes: small, paper or large"};

}  // namespace workloads
