#include "launcher/preparation.h"

#include <unistd.h>

#include "base/option.h"
#include "launcher/choices.h"
#include "launcher/program.h"

namespace syncopate::launcher {

std::optional<environment> prepare(const place& at, const command_line& said,
                                   std::string_view unless_said, char** variables) {
  environment result(variables);
  if (result.has_unknown() || result.has_openmp()) return {};
  // Another prefix has a catalogue of its own.
  const std::string_view chosen = result.get(variable_of(option::native));
  if (!chosen.empty() && chosen != at.prefix) return {};
  const std::string library = at.prefix + "/lib/libsyncopate-pthread.so.0";
  if (library.find_first_of(" :;") != std::string::npos) return {};
  if (access(library.c_str(), F_OK) != 0) return {};

  const std::string_view set_before = result.get(variable_of(option::lock));
  std::string lock(set_before.empty() ? unless_said : set_before);
  if (said.has("--lock")) lock = said.get("--lock");
  if (!is_plain_lock(lock)) return {};
  result.preload(library);
  result.set(variable_of(option::lock), lock);
  if (said.has("--verbose")) result.set(variable_of(option::verbose), "1");
  return result;
}

void say_once(environment& environment) {
  const char* const told = variable_of(option::told);
  if (environment.get(variable_of(option::elide)) == "always" && environment.get(told).empty())
    environment.set(told, "0");
}

std::string plain_program(const command_line& said, const environment& environment) {
  std::string path = find_program(said.program[0], environment);
  return !path.empty() && is_plain_program(path, environment) ? path : std::string{};
}

}  // namespace syncopate::launcher
