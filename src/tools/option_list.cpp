// option_list.cpp -- one JSON object per environment variable.
#include "option_list.h"

#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/option.h"

namespace syncopate::tools {
namespace {

void write_words(json_writer& json, std::string_view key, std::string_view words) {
  json.key(key);
  json.begin_array();
  for_each_word(words, [&](std::string_view word) { json.value(word); });
  json.end_array();
}

void write_choices(json_writer& json, option o) {
  json.key("choices");
  json.begin_array();
  std::vector<std::string_view> waiting;
  for_each_choice(o, [&](std::string_view name, bool may_wait) {
    json.value(name);
    if (may_wait) waiting.push_back(name);
  });
  json.end_array();
  json.key("choices_that_wait");
  json.begin_array();
  for (const std::string_view name : waiting) json.value(name);
  json.end_array();
}

}  // namespace

std::string option_list_json() {
  json_writer json;
  json.begin_object();
  json.key("options");
  json.begin_array();
  for (std::size_t i = 0; i < std::size(option_rows); ++i) {
    const option_row& row = option_rows[i];
    json.begin_object();
    json.member("variable", row.variable);
    write_words(json, "readers", row.readers);
    json.member("form", row.form);
    write_choices(json, static_cast<option>(i));
    json.member("unless_set", row.unless);
    json.member("meaning", row.meaning);
    json.end_object();
  }
  json.end_array();
  json.key("names");
  json.begin_object();
  for (const name_row& row : name_rows) write_words(json, row.id, row.names);
  json.end_object();
  json.end_object();
  return json.text();
}

}  // namespace syncopate::tools
