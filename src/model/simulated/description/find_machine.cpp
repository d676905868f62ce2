// find_machine.cpp -- where machine descriptions lie.
#include "toml_fields.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <dlfcn.h>

namespace syncopate::simulated {

namespace {

// Where `syncopate calibrate` writes the machine at hand.
std::filesystem::path user_folder() {
  std::filesystem::path config;
  if (const char* given = std::getenv("XDG_CONFIG_HOME"); given != nullptr && *given != '\0')
    config = given;
  else if (const char* home = std::getenv("HOME")) config = std::filesystem::path(home) / ".config";
  return config / "syncopate" / "machines";
}

// share/syncopate/machines of the prefix that this library lies in, wherever that was moved: as it
// was installed, which may be in a folder of lib, or beside it, as in a build and a wheel.
void add_beside_library(std::vector<std::filesystem::path>& all) {
  Dl_info library{};
  if (dladdr(reinterpret_cast<const void*>(&add_beside_library), &library) == 0) return;
  const auto folder = std::filesystem::path(library.dli_fname).parent_path();
  all.push_back(folder / SYNCOPATE_MACHINES_FROM_LIBRARY);
  all.push_back(folder / ".." / "share" / "syncopate" / "machines");
}

std::vector<std::filesystem::path> folders() {
  std::vector<std::filesystem::path> all;
  if (const char* given = std::getenv("SYNCOPATE_MACHINES")) {
    std::string_view rest = given;
    while (!rest.empty()) {
      const std::size_t colon = std::min(rest.find(':'), rest.size());
      if (colon != 0) all.emplace_back(rest.substr(0, colon));
      rest.remove_prefix(std::min(colon + 1, rest.size()));
    }
  }
  all.push_back(user_folder());
  add_beside_library(all);
  return all;
}

}  // namespace

std::vector<std::string> machine_names() {
  std::vector<std::string> names;
  for (const auto& folder : folders()) {
    std::error_code none;  // a folder that is not there has no machines
    for (const auto& entry : std::filesystem::directory_iterator(folder, none))
      if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::string find_machine(const std::string& name_or_path) {
  if (name_or_path.find('/') != std::string::npos || name_or_path.ends_with(".toml"))
    return name_or_path;
  for (const auto& folder : folders()) {
    std::error_code none;
    auto file = folder / (name_or_path + ".toml");
    if (std::filesystem::is_regular_file(file, none)) return file.string();
  }
  const std::vector<std::string> all = machine_names();
  std::vector<std::string> near = near_names(name_or_path, all);
  std::string message = "no machine is called \"" + name_or_path + "\"; ";
  message += near.empty() ? "there are" : "did you mean";
  if (near.empty()) near = all;
  for (std::size_t i = 0; i < near.size(); ++i) message += (i ? ", " : " ") + near[i];
  if (near.empty()) message += " none (is SYNCOPATE_MACHINES right?)";
  throw description_error(message);
}

}  // namespace syncopate::simulated
