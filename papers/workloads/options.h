// options.h -- the command line of a workload: `--name value`, each with a default and one line of
// help; sizes by name are the option --preset (presets.h).
#pragma once

#include <algorithm>
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
  // Its value in each preset, where the command line gives none; of --preset itself, their names.
  // None: presets leave it alone.
  std::vector<std::string> presets = {};
};

class options {
 public:
  // Reads the command line. Ends the program for --help (status 0) and for what it cannot
  // understand (status 2, one line on standard error).
  options(int argc, char** argv, std::string_view about, std::vector<option> known,
          std::string_view prints = "one line of JSON")
      : program_(argv[0]), known_(std::move(known)) {
    std::set_new_handler(end_without_memory);
    std::vector<std::pair<option*, const char*>> given;
    for (int i = 1; i < argc; ++i) {
      const std::string_view word = argv[i];
      if (word == "--help" || word == "-h") show_help(about, prints);
      if (!word.starts_with("--"))
        refuse("expected --name value, found '" + std::string(word) + "'");
      option* const found = find(word.substr(2));
      if (found == nullptr) refuse("there is no option '" + std::string(word) + "'; see --help");
      if (++i == argc) refuse("option '" + std::string(word) + "' needs a value");
      given.emplace_back(found, argv[i]);
    }
    for (const auto& [which, value] : given)
      if (which->name == "preset") which->value = value;
    take_preset();
    for (const auto& [which, value] : given) which->value = value;
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

  // "a, b AND c"
  static std::string joined(const std::vector<std::string>& words, const char* last) {
    std::string result;
    for (std::size_t i = 0; i < words.size(); ++i)
      result += (i == 0 ? "" : i + 1 == words.size() ? last : ", ") + words[i];
    return result;
  }

  void take_preset() {
    const option* const chosen = find("preset");
    if (chosen == nullptr) return;
    const std::vector<std::string>& names = chosen->presets;
    const auto place = std::ranges::find(names, chosen->value);
    if (place == names.end())
      refuse("no preset is called '" + chosen->value + "'; there are " + joined(names, " and "));
    for (option& o : known_)
      if (&o != chosen && !o.presets.empty())
        o.value = o.presets[static_cast<std::size_t>(place - names.begin())];
  }

  // A row for each preset, a column for each option that it sets.
  void show_presets(const option& names) const {
    std::printf("\n  %-16s", "sizes");
    for (const option& o : known_)
      if (&o != &names && !o.presets.empty()) std::printf("  %*s", width(o), o.name.c_str());
    std::printf("\n");
    for (std::size_t i = 0; i < names.presets.size(); ++i) {
      std::printf("  %-16s", names.presets[i].c_str());
      for (const option& o : known_)
        if (&o != &names && !o.presets.empty())
          std::printf("  %*s", width(o), o.presets[i].c_str());
      std::printf("\n");
    }
  }
  static int width(const option& o) {
    std::size_t most = o.name.size();
    for (const std::string& value : o.presets) most = std::max(most, value.size());
    return static_cast<int>(most);
  }

  [[noreturn]] void show_help(std::string_view about, std::string_view prints) {
    const option* const preset = find("preset");
    std::printf("%.*s\n\n", static_cast<int>(about.size()), about.data());
    for (const option& o : known_) {
      std::string help = o.help, value = o.value;
      if (&o == preset) help += ": " + joined(o.presets, " or ");
      else if (!o.presets.empty()) value = "the preset's";
      std::printf("  --%-14s %s (default: %s)\n", o.name.c_str(), help.c_str(), value.c_str());
    }
    if (preset != nullptr) show_presets(*preset);
    std::printf("\nPrints %.*s. Times are CLOCK_MONOTONIC's, on the machine it runs on.\n",
                static_cast<int>(prints.size()), prints.data());
    std::exit(0);
  }

  const char* program_;
  std::vector<option> known_;
};

}  // namespace workloads
