// option.h -- the environment variables of options.def, by name.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace syncopate {

enum class option : unsigned char {
#define SYNCOPATE_OPTION(id, variable, readers, form, choices, unless, meaning) id,
#include "base/options.def"
};

struct option_row {
  const char* variable;
  std::string_view readers, form, choices, unless, meaning;
};

inline constexpr option_row option_rows[] = {
#define SYNCOPATE_OPTION(id, variable, readers, form, choices, unless, meaning) \
  {variable, readers, form, choices, unless, meaning},
#include "base/options.def"
};

struct name_row {
  std::string_view id, names;
};

inline constexpr name_row name_rows[] = {
#define SYNCOPATE_NAMES(id, names) {#id, names},
#include "base/options.def"
};

constexpr const option_row& row_of(option o) noexcept {
  return option_rows[static_cast<unsigned char>(o)];
}
constexpr const char* variable_of(option o) noexcept { return row_of(o).variable; }

// The variable's value; null when it is not set or empty. A template, so that the table is in no
// library: of it only the names that are read.
template <option O>
const char* setting() noexcept {
  constexpr const char* variable = variable_of(O);
  const char* const value = std::getenv(variable);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

// Whether it is set to something other than 0.
template <option O>
bool is_on() noexcept {
  const char* const value = setting<O>();
  return value != nullptr && std::strcmp(value, "0") != 0;
}

template <option O>
bool is_set_to(const char* what) noexcept {
  const char* const value = setting<O>();
  return value != nullptr && std::strcmp(value, what) == 0;
}

// Calls visit(word) for each word of a text with spaces between.
template <class Visit>
constexpr void for_each_word(std::string_view text, Visit&& visit) {
  while (!text.empty()) {
    const std::size_t end = text.find(' ');
    visit(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  }
}

// Calls visit(name, may_wait) for each of the choices. may_wait: ":WAIT" may follow.
template <class Visit>
constexpr void for_each_choice(option o, Visit&& visit) {
  for_each_word(row_of(o).choices, [&](std::string_view name) {
    const bool may_wait = name.ends_with(':');
    if (may_wait) name.remove_suffix(1);
    visit(name, may_wait);
  });
}

// Whether exactly these words stand in the text, in any order.
template <std::size_t N>
constexpr bool are_words(std::string_view text, const std::string_view (&words)[N]) {
  std::size_t known = 0;
  for_each_word(text, [&](std::string_view word) {
    bool found = false;
    for (const std::string_view each : words) found = found || each == word;
    known += found ? 1 : N + 1;
  });
  return known == N;
}
constexpr std::string_view names_of(std::string_view id) noexcept {
  for (const name_row& row : name_rows)
    if (row.id == id) return row.names;
  return {};
}

// The choices as a sentence has them, "a, b, c": for messages, made by the compiler.
template <option O>
struct choices_text {
  static constexpr std::size_t room = row_of(O).choices.size() * 2 + 1;
  char text[room]{};
  constexpr choices_text() noexcept {
    std::size_t at = 0;
    for_each_choice(O, [&](std::string_view name, bool) {
      if (at != 0) text[at++] = ',', text[at++] = ' ';
      for (const char c : name) text[at++] = c;
    });
  }
};
template <option O>
inline constexpr choices_text<O> choices_of{};

}  // namespace syncopate
