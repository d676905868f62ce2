#include "launcher/options.h"

#include <algorithm>

namespace syncopate::launcher {
namespace {

using known_options = std::initializer_list<option_word>;

const option_word* find(known_options known, std::string_view name) {
  const auto found = std::find_if(known.begin(), known.end(),
                                  [&](const option_word& each) { return each.name == name; });
  return found == known.end() ? nullptr : found;
}

const option_word* find(known_options known, char alias) {
  const auto found = std::find_if(known.begin(), known.end(),
                                  [&](const option_word& each) { return each.alias == alias; });
  return found == known.end() ? nullptr : found;
}

// Keeps an option's value: what stands behind it in its word, else the next word. Returns whether
// there is one; an empty one is none, though the same option follow with another.
bool keep_value(command_line& to, std::string_view name, std::optional<std::string_view> behind) {
  if (!behind && *to.program == nullptr) return false;
  const std::string_view value = behind ? *behind : *to.program++;
  to.options[name] = value;
  return !value.empty();
}

// `--name`, `--name=value`. Returns whether it is one of `known`, in its plain form.
bool read_long(command_line& to, std::string_view word, known_options known) {
  const std::size_t equals = word.find('=');
  const bool has_value = equals != std::string_view::npos;
  const option_word* const found = find(known, word.substr(0, equals));
  if (found == nullptr || (has_value && !found->takes_value)) return false;
  if (!found->takes_value) return to.options[found->name] = "1", true;
  return keep_value(to, found->name,
                    has_value ? std::optional(word.substr(equals + 1)) : std::nullopt);
}

// `-o`, `-ovalue`, and flags before that: `-qo value`. Returns likewise.
bool read_short(command_line& to, std::string_view letters, known_options known) {
  while (!letters.empty()) {
    const option_word* const found = find(known, letters.front());
    if (found == nullptr) return false;
    letters.remove_prefix(1);
    if (found->takes_value)
      return keep_value(to, found->name, letters.empty() ? std::nullopt : std::optional(letters));
    to.options[found->name] = "1";
  }
  return true;
}

}  // namespace

std::optional<command_line> read_options(char** words, std::initializer_list<option_word> known) {
  command_line result{{}, words};
  while (*result.program != nullptr) {
    const std::string_view word = *result.program;
    if (!word.starts_with("-") || word == "-") break;
    ++result.program;
    if (word == "--") break;
    const bool is_read = word.starts_with("--") ? read_long(result, word, known)
                                                : read_short(result, word.substr(1), known);
    if (!is_read) return {};
  }
  if (*result.program == nullptr) return {};
  return result;
}

}  // namespace syncopate::launcher
