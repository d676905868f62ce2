// toml_fields.h -- reads a TOML table into variables, strictly.
//
// A table is read with the list of all its keys; a key that is not in the list, is missing, has the
// wrong type or a value out of range is an error that names file, line and key.
#pragma once

#include "description.h"

#include <toml++/toml.h>
#include <functional>
#include <map>

namespace syncopate::simulated {

class toml_document {
 public:
  // Throws description_error.
  toml_document(std::string_view text, std::string file);

  [[noreturn]] void fail(std::size_t line, const std::string& key, const std::string& what) const;
  // At the line of a key that was read, "section.key".
  [[noreturn]] void fail(const std::string& key, const std::string& what) const;

  struct field {
    std::string key;
    // Stores the value. Returns: what is wrong with it, or nothing.
    std::function<std::string(const toml::node&)> keep;
    bool may_be_missing = false;  // the variable keeps its value then
  };
  // Reads [section]; an empty name is the top level. Names with dots are sub-tables.
  void read(const std::string& section, const std::vector<field>& fields);
  // Whether the flag [section] key is there and true; read() checks its type later.
  bool is_set(const std::string& section, const std::string& key) const;

 private:
  const toml::table* table_at(const std::string& section) const;

  std::string file_;
  toml::table root_;
  std::map<std::string, std::size_t> lines_;
};

// Fields of each type. Limits are inclusive; of a flag nothing is asked.
toml_document::field field(std::string key, unsigned& to, std::int64_t least, std::int64_t most);
toml_document::field field(std::string key, std::uint64_t& to, std::int64_t least,
                           std::int64_t most);
toml_document::field field(std::string key, double& to, double least, double most);
toml_document::field field(std::string key, bool& to, int least = 0, int most = 1);
toml_document::field field(std::string key, std::vector<std::vector<unsigned>>& to, int least,
                           int most);
toml_document::field text(std::string key, std::string& to);
toml_document::field subtable(std::string key);  // its own read() looks into it
toml_document::field required(toml_document::field);
toml_document::field optional(toml_document::field);

// The names a misspelt one may mean, nearest first; those too different are left out.
std::vector<std::string> near_names(const std::string& name, const std::vector<std::string>& all);

}  // namespace syncopate::simulated
