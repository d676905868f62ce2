// scenario.h -- programs of several scenarios, each run by its name.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string_view>

namespace scenario_program {

// main() runs the one that its argument names.
struct scenario {
  std::string_view name;
  void (*run)();
};

// Runs the scenario that argv[1] names; without one lists them, one a line.
template <std::size_t N>
int main(int argc, char** argv, const scenario (&all)[N]) {
  for (const scenario& s : all) {
    if (argc < 2) std::printf("%.*s\n", static_cast<int>(s.name.size()), s.name.data());
    else if (s.name == argv[1]) return s.run(), 0;
  }
  if (argc < 2) return 0;
  std::fprintf(stderr, "%s: no scenario is called '%s'\n", argv[0], argv[1]);
  return 2;
}

}  // namespace scenario_program
