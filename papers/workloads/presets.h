// presets.h -- sizes of a workload by name: --preset sets what the command line does not.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "options.h"

namespace workloads {

// --preset, with its default and the names of a program's sizes.
inline option preset_option(std::string chosen = "small",
                            std::vector<std::string> names = {"small", "paper", "large"}) {
  return {"preset", std::move(chosen), "sizes", std::move(names)};
}

// Of programs that modeled machines run, too: there a millisecond is much.
inline option tiny_preset_option() {
  return preset_option("tiny", {"tiny", "small", "paper", "large"});
}

// A number that --preset chooses where the command line does not.
struct sized {
  const char* name;
  const char* help;
  std::vector<std::uint64_t> values;  // in each preset

  [[nodiscard]] option as_option() const {
    std::vector<std::string> texts;
    for (const std::uint64_t value : values) texts.push_back(std::to_string(value));
    return {name, "", help, std::move(texts)};
  }
  // Requires: as_option() is one of the options.
  [[nodiscard]] std::uint64_t of(const options& o) const { return o.number(name, 1); }
};

// Of programs that run for so long.
inline const sized running_time{"microseconds", "how long", {1000, 50'000, 1'000'000, 5'000'000}};

}  // namespace workloads
