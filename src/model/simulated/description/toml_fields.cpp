#include "toml_fields.h"

#include <algorithm>
#include <numeric>
#include <sstream>

namespace syncopate::simulated {

namespace {

std::string type_name(const toml::node& node) {
  std::ostringstream out;
  out << node.type();
  return out.str();
}

std::string number_text(double number) {
  std::ostringstream out;
  out << number;
  return out.str();
}

std::string range_text(const std::string& least, const std::string& most, const std::string& is) {
  return "must lie between " + least + " and " + most + ", is " + is;
}

template <class Number>
toml_document::field any_integer(std::string key, Number& to, std::int64_t least,
                                 std::int64_t most) {
  return {std::move(key), [&to, least, most](const toml::node& node) -> std::string {
            const auto* value = node.as_integer();
            if (!value) return "must be an integer, is a " + type_name(node);
            if (value->get() < least || value->get() > most)
              return range_text(std::to_string(least), std::to_string(most),
                                std::to_string(value->get()));
            to = static_cast<Number>(value->get());
            return "";
          }};
}

// Levenshtein's distance.
std::size_t edits_between(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replace = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replace, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

// "key: " or "section.key: " of a line of the text that could not be parsed; empty where that has
// no key.
std::string key_in_line(std::string_view text, std::size_t line) {
  const std::string lines(text);
  std::istringstream in(lines);
  std::string section, last;
  for (std::size_t i = 0; i < line && std::getline(in, last); ++i)
    if (last.starts_with('[') && last.find(']') != std::string::npos)
      section = last.substr(1, last.find(']') - 1) + ".";
  const std::size_t end = last.find_first_of(" \t=");
  const std::size_t equals = last.find_first_not_of(" \t", end);
  const bool has_key =
      end != 0 && end != std::string::npos && equals != std::string::npos && last[equals] == '=';
  return has_key ? section + last.substr(0, end) + ": " : "";
}

}  // namespace

std::vector<std::string> near_names(const std::string& name, const std::vector<std::string>& all) {
  std::vector<std::pair<std::size_t, std::string>> found;
  for (const std::string& one : all) {
    const std::size_t edits = edits_between(name, one);
    const bool prefix = name.size() >= 2 && one.compare(0, name.size(), name) == 0;
    if (prefix || edits <= std::max<std::size_t>(1, std::max(name.size(), one.size()) / 3))
      found.emplace_back(prefix ? 0 : edits, one);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> names;
  for (auto& [edits, one] : found) names.push_back(std::move(one));
  return names;
}

toml_document::toml_document(std::string_view text, std::string file) : file_(std::move(file)) {
  try {
    root_ = toml::parse(text, file_);
  } catch (const toml::parse_error& error) {
    const std::size_t line = error.source().begin.line;
    throw description_error(file_ + ":" + std::to_string(line) + ": " + key_in_line(text, line) +
                            std::string(error.description()));
  }
}

void toml_document::fail(std::size_t line, const std::string& key, const std::string& what) const {
  throw description_error(file_ + ":" + std::to_string(std::max<std::size_t>(line, 1)) + ": " +
                          key + ": " + what);
}

void toml_document::fail(const std::string& key, const std::string& what) const {
  const auto found = lines_.find(key);
  fail(found == lines_.end() ? 1 : found->second, key, what);
}

const toml::table* toml_document::table_at(const std::string& section) const {
  return section.empty() ? &root_ : root_.at_path(section).as_table();
}

bool toml_document::is_set(const std::string& section, const std::string& key) const {
  const toml::table* table = table_at(section);
  return table && table->get(key) && table->get(key)->value_or(false);
}

void toml_document::read(const std::string& section, const std::vector<field>& fields) {
  const std::string prefix = section.empty() ? "" : section + ".";
  const toml::table* table = table_at(section);
  if (!table) {
    const auto node = root_.at_path(section);
    if (node) fail(node.node()->source().begin.line, section, "must be a table");
    fail(1, "[" + section + "]", "this section is missing");
  }
  // Misspelt keys first: "missing" would be the less helpful half of the same mistake.
  std::vector<std::string> known;
  for (const field& one : fields) known.push_back(one.key);
  for (const auto& [key, node] : *table) {
    const std::string name(key.str());
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::vector<std::string> near = near_names(name, known);
    fail(key.source().begin.line, prefix + name,
         "unknown key" + (near.empty() ? "" : "; did you mean " + near.front() + "?"));
  }
  for (const field& one : fields) {
    const toml::node* node = table->get(one.key);
    if (!node && one.may_be_missing) continue;
    if (!node) fail(table->source().begin.line, prefix + one.key, "this key is missing");
    lines_[prefix + one.key] = node->source().begin.line;
    const std::string wrong = one.keep(*node);
    if (!wrong.empty()) fail(prefix + one.key, wrong);
  }
}

toml_document::field field(std::string key, unsigned& to, std::int64_t least, std::int64_t most) {
  return any_integer(std::move(key), to, least, most);
}

toml_document::field field(std::string key, std::uint64_t& to, std::int64_t least,
                           std::int64_t most) {
  return any_integer(std::move(key), to, least, most);
}

toml_document::field field(std::string key, double& to, double least, double most) {
  return {std::move(key), [&to, least, most](const toml::node& node) -> std::string {
            if (!node.is_number()) return "must be a number, is a " + type_name(node);
            const double value = *node.value<double>();
            if (!(value >= least && value <= most))
              return range_text(number_text(least), number_text(most), number_text(value));
            to = value;
            return "";
          }};
}

toml_document::field field(std::string key, bool& to, int /*least*/, int /*most*/) {
  return {std::move(key), [&to](const toml::node& node) -> std::string {
            const auto* value = node.as_boolean();
            if (!value) return "must be true or false, is a " + type_name(node);
            to = value->get();
            return "";
          }};
}

toml_document::field text(std::string key, std::string& to) {
  return {std::move(key), [&to](const toml::node& node) -> std::string {
            const auto* value = node.as_string();
            if (!value) return "must be a string, is a " + type_name(node);
            if (value->get().empty()) return "must not be empty";
            to = value->get();
            return "";
          }};
}

toml_document::field field(std::string key, std::vector<std::vector<unsigned>>& to, int least,
                           int most) {
  return {std::move(key), [&to, least, most](const toml::node& node) -> std::string {
            std::string wanted = "must be a list of rows of small numbers";
            const auto* rows = node.as_array();
            if (!rows) return wanted;
            to.clear();
            for (const toml::node& row : *rows) {
              const auto* numbers = row.as_array();
              if (!numbers) return wanted;
              auto& made = to.emplace_back();
              for (const toml::node& number : *numbers) {
                const auto* value = number.as_integer();
                if (!value || value->get() < least || value->get() > most) return wanted;
                made.push_back(static_cast<unsigned>(value->get()));
              }
            }
            return "";
          }};
}

toml_document::field subtable(std::string key) {
  return {std::move(key), [](const toml::node& node) -> std::string {
            return node.is_table() ? "" : "must be a table, is a " + type_name(node);
          }};
}

toml_document::field required(toml_document::field of) { return of; }

toml_document::field optional(toml_document::field of) {
  of.may_be_missing = true;
  return of;
}

}  // namespace syncopate::simulated
