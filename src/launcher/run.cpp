#include "launcher/run.h"

#include <unistd.h>
#include <string>

#include "base/option.h"
#include "launcher/choices.h"
#include "launcher/preparation.h"
#include "launcher/program.h"

namespace syncopate::launcher {
namespace {

// Adds words to a list with commas between, those that are there already once.
std::string joined(std::string_view first, std::string_view list) {
  std::string result(first);
  while (!list.empty()) {
    const std::size_t end = list.find(',');
    const std::string word(list.substr(0, end));
    if (!word.empty() && ("," + result + ",").find("," + word + ",") == std::string::npos)
      result += "," + word;
    list = end == std::string_view::npos ? std::string_view{} : list.substr(end + 1);
  }
  return result;
}

// What the options say of the guard. Returns: whether that was plain.
bool add_guard(environment& environment, const command_line& said) {
  std::string wanted = said.has("--guard") || said.has("--guard-log") ? "epochs,misuse" : "";
  if (said.has("--preempted-holders")) wanted += wanted.empty() ? "slices" : ",slices";
  if (wanted.empty()) return true;
  const char* const variable = variable_of(option::guard);
  environment.set(variable, joined(wanted, environment.get(variable)));
  if (!said.has("--guard-log")) return true;
  const std::string log = plain_path(said.get("--guard-log"));
  environment.set(variable_of(option::guard_log), log);
  return !log.empty();
}

// What --elide says. Returns: whether that was plain.
bool add_elision(environment& environment, const command_line& said) {
  if (!said.has("--elide")) return true;
  const std::string_view choice = said.get("--elide");
  if (!is_elision(choice)) return false;
  const std::size_t colon = choice.find(':');
  environment.set(variable_of(option::elide), choice.substr(0, colon));
  environment.drop(variable_of(option::elide_policy));
  if (colon != std::string_view::npos)
    environment.set(variable_of(option::elide_policy), choice.substr(colon + 1));
  return true;
}

// Whether nothing that is wanted of the locks does nothing beside what else is: then the Python
// command says what (check_agreement() of syncopate/launch/preload.py).
bool agrees(const environment& environment, const command_line& said) {
  const std::string_view mode = environment.get(variable_of(option::elide));
  const std::string_view guards = environment.get(variable_of(option::guard));
  const std::string_view sites = environment.get(variable_of(option::sites));
  const bool elides = mode == "always" || (said.has("--elide") && mode != "off");
  if (!is_ours(environment.get(variable_of(option::lock))))
    return guards.empty() && sites.empty() && !elides;
  if (guards.find("misuse") == std::string_view::npos) return true;
  return !elides && sites.find("elide=always") == std::string_view::npos;
}

}  // namespace

void run(const place& at, char** words, char** variables) {
  const auto said = read_options(words, {{"--lock", 'l', true},
                                         {"--elide", 0, true},
                                         {"--guard", 0, false},
                                         {"--guard-log", 0, true},
                                         {"--preempted-holders", 0, false},
                                         {"--verbose", 'v', false}});
  if (!said) return;
  auto environment = prepare(at, *said, "auto", variables);
  if (!environment || !add_elision(*environment, *said) || !add_guard(*environment, *said)) return;
  if (!agrees(*environment, *said)) return;
  say_once(*environment);
  const std::string path = plain_program(*said, *environment);
  if (path.empty()) return;
  execve(path.c_str(), said->program, environment->for_exec().data());
  // It could not be started: the Python command finds out why, and says it.
}

}  // namespace syncopate::launcher
