#include "launcher/record.h"

#include <dirent.h>
#include <unistd.h>
#include <cctype>
#include <cinttypes>
#include <cstdio>
#include <string>
#include <vector>

#include "base/option.h"
#include "launcher/claim.h"
#include "launcher/preparation.h"
#include "launcher/program.h"
#include "launcher/record_file.h"
#include "launcher/recording.h"

namespace syncopate::launcher {
namespace {

// Whether a meter of energy may be there: syncopate/machines/energy.py reads them.
bool may_have_meters(const environment& environment) {
  std::string root(environment.get(variable_of(option::sysfs)));
  if (root.empty()) root = "/sys";
  if (access((root + "/bus/event_source/devices/power").c_str(), F_OK) == 0) return true;
  DIR* const zones = opendir((root + "/class/powercap").c_str());
  if (zones == nullptr) return false;
  bool found = false;
  while (const dirent* const entry = readdir(zones))
    if (std::string_view(entry->d_name).find(':') != std::string_view::npos) found = true;
  closedir(zones);
  return found;
}

// Whether a name is shown and typed as it is.
bool is_plain_name(std::string_view name) {
  constexpr std::string_view also = "_@%+=:,./-";
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80 || (std::isalnum(byte) == 0 && also.find(c) == std::string_view::npos))
      return false;
  }
  return !name.empty();
}

// The Python command in place of this process, to go on with the child (go_on() of
// syncopate/commands/record.py).
[[noreturn]] void hand_over(const place& at, char** words, child& child) {
  std::uint64_t mask = 0;
  for (int number = 1; number <= 64; ++number)
    if (sigismember(&child.before, number) == 1) mask |= std::uint64_t{1} << (number - 1);
  std::string state[] = {at.command,
                         "go-on-recording",
                         std::to_string(child.process),
                         child.status ? std::to_string(*child.status) : "-",
                         std::to_string(child.begun_ns),
                         std::to_string(child.ended_ns),
                         std::to_string(mask)};
  std::vector<char*> all;
  for (std::string& each : state) all.push_back(each.data());
  while (*words != nullptr) all.push_back(*words++);
  all.push_back(nullptr);
  become_python(at, all.data());
  std::fprintf(stderr,
               "syncopate: %s, which starts the Python command, does not start; the record may lack"
               " what that adds; install Syncopate again\n",
               at.command.c_str());
  wait_for_the_end(child);
  leave_as(child);
}

}  // namespace

void record(const place& at, char** words, char** variables) {
  const auto said = read_options(words, {{"--output", 'o', true},
                                         {"--lock", 'l', true},
                                         {"--redact", 0, false},
                                         {"--quiet", 'q', false},
                                         {"--verbose", 'v', false}});
  if (!said || at.command.empty()) return;
  auto environment = prepare(at, *said, "futex", variables);
  if (!environment || environment->get(variable_of(option::everything)) == "off") return;
  say_once(*environment);
  if (may_have_meters(*environment)) return;
  const std::string named(said->has("--output") ? said->get("--output") : "syncopate.rec");
  const std::string record = is_plain_name(named) ? plain_path(named) : std::string{};
  const std::string path = plain_program(*said, *environment);
  if (record.empty() || path.empty() || may_be_java(path)) return;
  const int claimed = claim(record);
  if (claimed < 0 || !make_room(record)) return;
  environment->set(variable_of(option::record), record);
  if (said->has("--redact")) environment->set(variable_of(option::redact), "1");
  child program = start(path, said->program, *environment);
  if (program.process < 0) return;
  wait_a_while(program);
  if (!program.status || !complete(record, program)) {
    keep_claim(claimed);
    hand_over(at, words, program);
  }
  if (!said->has("--quiet"))
    std::fprintf(stderr, "syncopate: recorded in %s; to read it: syncopate report %s\n",
                 named.c_str(), named.c_str());
  leave_as(program);
}

}  // namespace syncopate::launcher
