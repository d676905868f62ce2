// options.h -- the options that need no Python, as `syncopate run` and `record` read them.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <string_view>

namespace syncopate::launcher {

struct option_word {
  std::string_view name;  // "--lock"
  char alias;             // 'l', or 0
  bool takes_value;
};

struct command_line {
  std::map<std::string_view, std::string_view> options;  // a flag has "1"
  char** program;                                        // its words, a null pointer at the end

  [[nodiscard]] bool has(std::string_view name) const { return options.count(name) != 0; }
  // "" where it was not said.
  [[nodiscard]] std::string_view get(std::string_view name) const {
    const auto found = options.find(name);
    return found == options.end() ? std::string_view{} : found->second;
  }
};

// Reads options up to `--` or the first word that is none. Returns: nothing where a word is not one
// of `known` in its plain form, or no program is named: the Python command knows all others, and
// what to say of mistakes.
std::optional<command_line> read_options(char** words, std::initializer_list<option_word> known);

}  // namespace syncopate::launcher
