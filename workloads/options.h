// options.h -- the command line of a workload: `--name value`, each with a default and one line of
// help.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace workloads {

struct option {
  std::string name, value, help;
};

class options {
 public:
  // Reads the command line. Ends the program for --help (status 0) and for what it cannot
  // understand (status 2, one line on standard error).
  options(int argc, char** argv, std::string_view about, std::vector<option> known,
          std::string_view prints = "one line of JSON")
      : program_(argv[0]), known_(std::move(known)) {
    std::set_new_handler(end_without_memory);
    for (int i = 1; i < argc; ++i) {
      const std::string_view word = argv[i];
      if (word == "--help" || word == "-h") show_help(about, prints);
      if (!word.starts_with("--"))
        refuse("expected --name value, found '" + std::string(word) + "'");
      option* const found = find(word.substr(2));
      if (found == nullptr) refuse("there is no option '" + std::string(word) + "'; see --help");
      if (++i == argc) refuse("option '" + std::string(word) + "' needs a value");
      found->value = argv[i];
    }
  }

  // Requires: `name` is one of the options.
  [[nodiscard]] const std::string& text(std::string_view name) const {
    for (const option& o : known_)
      if (o.name == name) return o.value;
    std::abort();
  }

  // A whole number of at least `least`; anything else ends the program as above.
  [[nodiscard]] std::uint64_t number(std::string_view name, std::uint64_t least = 0) const {
    const std::string& value = text(name);
    char* end = nullptr;
    const std::uint64_t result = std::strtoull(value.c_str(), &end, 10);
    if (value.empty() || *end != '\0' || value[0] == '-' || result < least)
      refuse("--" + std::string(name) + " needs a whole number of at least " +
             std::to_string(least) + ", not '" + value + "'");
    return result;
  }

  [[nodiscard]] bool flag(std::string_view name) const { return number(name) != 0; }

  [[noreturn]] void refuse(const std::string& why) const {
    std::fprintf(stderr, "%s: %s\n", program_, why.c_str());
    std::exit(2);
  }

 private:
  [[noreturn]] static void end_without_memory() {
    std::fputs("no memory for this size; choose a smaller one\n", stderr);
    std::_Exit(3);
  }

  option* find(std::string_view name) {
    for (option& o : known_)
      if (o.name == name) return &o;
    return nullptr;
  }

  [[noreturn]] void show_help(std::string_view about, std::string_view prints) const {
    std::printf("%.*s\n\n", static_cast<int>(about.size()), about.data());
    for (const option& o : known_)
      std::printf("  --%-14s %s (default: %s)\n", o.name.c_str(), o.help.c_str(), o.value.c_str());
    std::printf("\nPrints %.*s. Times are CLOCK_MONOTONIC's, on the machine it runs on.\n",
                static_cast<int>(prints.size()), prints.data());
    std::exit(0);
  }

  const char* program_;
  std::vector<option> known_;
};

}  // namespace workloads
