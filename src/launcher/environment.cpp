#include "launcher/environment.h"

#include <algorithm>

#include "base/option.h"

namespace syncopate::launcher {
namespace {

std::string_view name_of(std::string_view entry) { return entry.substr(0, entry.find('=')); }

constexpr std::string_view prefix = "SYNCOPATE";

bool as_if_ours(std::string_view name) {
  return name == prefix || (name.starts_with(prefix) && name[prefix.size()] == '_');
}

}  // namespace

environment::environment(char** variables) {
  for (; *variables != nullptr; ++variables) {
    const std::string_view entry = *variables;
    const bool sound = entry.find('=') != std::string_view::npos;
    if (sound && !has(name_of(entry))) entries_.emplace_back(entry);
  }
}

std::size_t environment::find(std::string_view variable) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const auto& entry) { return name_of(entry) == variable; });
  return found == entries_.end() ? npos : static_cast<std::size_t>(found - entries_.begin());
}

std::string_view environment::get(std::string_view variable) const {
  const std::size_t at = find(variable);
  if (at == npos) return {};
  return std::string_view(entries_[at]).substr(variable.size() + 1);
}

void environment::set(std::string_view variable, std::string_view text) {
  std::string entry = std::string(variable) + "=" + std::string(text);
  const std::size_t at = find(variable);
  if (at == npos) entries_.push_back(std::move(entry));
  else entries_[at] = std::move(entry);
}

void environment::drop(std::string_view variable) {
  const std::size_t at = find(variable);
  if (at != npos) entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(at));
}

bool environment::has_unknown() const {
  return std::any_of(entries_.begin(), entries_.end(), [](const std::string& entry) {
    const std::string_view name = name_of(entry);
    return as_if_ours(name) &&
           std::none_of(std::begin(option_rows), std::end(option_rows),
                        [&](const option_row& row) { return row.variable == name; });
  });
}

bool environment::has_openmp() const {
  return std::any_of(std::begin(option_rows), std::end(option_rows), [&](const option_row& row) {
    return (row.readers == "openmp" || row.readers == "openmp command") &&
           !get(row.variable).empty();
  });
}

void environment::preload(std::string_view library) {
  std::string list(library);
  std::string_view rest = get("LD_PRELOAD");
  while (!rest.empty()) {
    const std::size_t end = rest.find_first_of(" :");
    const std::string_view entry = rest.substr(0, end);
    if (!entry.empty() && entry != library) list.append(":").append(entry);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  }
  set("LD_PRELOAD", list);
}

std::vector<char*> environment::for_exec() {
  std::vector<char*> pointers;
  pointers.reserve(entries_.size() + 1);
  for (std::string& entry : entries_) pointers.push_back(entry.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace syncopate::launcher
