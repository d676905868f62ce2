#include "launcher/options.h"

#include <algorithm>

namespace syncopate::launcher {
namespace {

struct option_text {
  std::string_view name;
  std::optional<std::string_view> value;
};

// Takes `--name=value`, `--name`, `-ovalue` or `-o` apart. A null name: not one of `known`.
option_text split(std::string_view word, std::initializer_list<option_word> known) {
  if (word.starts_with("--")) {
    const std::size_t equals = word.find('=');
    const auto found = std::find_if(known.begin(), known.end(), [&](const option_word& each) {
      return each.name == word.substr(0, equals);
    });
    if (found == known.end()) return {};
    if (equals == std::string_view::npos) return {found->name, {}};
    return {found->name, word.substr(equals + 1)};
  }
  const auto found = std::find_if(known.begin(), known.end(),
                                  [&](const option_word& each) { return each.alias == word[1]; });
  if (found == known.end()) return {};
  if (word.size() == 2) return {found->name, {}};
  return {found->name, word.substr(2)};
}

}  // namespace

std::optional<command_line> read_options(char** words, std::initializer_list<option_word> known) {
  command_line result{{}, words};
  while (*result.program != nullptr) {
    const std::string_view word = *result.program;
    if (!word.starts_with("-") || word == "-") break;
    ++result.program;
    if (word == "--") break;
    const auto [name, value] = split(word, known);
    if (name.empty()) return {};
    const bool takes_value = std::find_if(known.begin(), known.end(), [name = name](const auto& o) {
                               return o.name == name;
                             })->takes_value;
    if (!takes_value && value) return {};
    if (!takes_value) {
      result.options[name] = "1";
    } else if (value) {
      result.options[name] = *value;
    } else {
      if (*result.program == nullptr) return {};
      result.options[name] = *result.program++;
    }
  }
  if (*result.program == nullptr) return {};
  return result;
}

}  // namespace syncopate::launcher
