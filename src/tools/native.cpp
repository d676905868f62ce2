// native.cpp -- syncopate-native: prints, as JSON, what the Python side cannot know by itself.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include <syncopate/machine.h>
#include <syncopate/machine/probe.h>

#include "base/json.h"
#include "calibrate.h"
#include "lock_list.h"
#include "option_list.h"

using namespace std::string_view_literals;

namespace {

constexpr std::string_view help_text =
    "usage: syncopate-native {list | options | probe | calibrate [SECONDS]}\n"
    "\n"
    "  list       print every lock of the library with its traits\n"
    "  options    print every environment variable that is read\n"
    "  probe      print what this machine can do, each answer with its reason\n"
    "  calibrate  measure caches, atomics and the kernel, for about SECONDS (5)\n"
    "  --help     print this text\n"
    "  --version  print the version\n"
    "\n"
    "The output is JSON. Exit status: 0, 1 when the output cannot be written, 2 for a wrong "
    "call.\n";

std::string probe_json() {
  namespace machine = syncopate::machine;
  syncopate::json_writer json;
  json.begin_object();
  json.member("version", SYNCOPATE_VERSION);
  json.member("node_count", machine::node_count());
  json.member("ticks_per_second", machine::ticks_per_second());
  json.member("may_spin", machine::may_spin());
  json.key("capabilities");
  json.begin_array();
  for (const machine::capability& c : machine::probe()) {
    json.begin_object();
    json.member("name", c.name);
    json.member("usable", c.usable);
    json.member("reason", c.reason);
    json.member("meaning", c.meaning);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return json.text();
}

int print(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (written && std::fflush(stdout) == 0) return 0;
  std::fprintf(stderr, "syncopate-native: cannot write: %s\n", std::strerror(errno));
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view command =
      argc == 2 || (argc == 3 && argv[1] == "calibrate"sv) ? argv[1] : "";
  if (command == "list") return print(syncopate::tools::lock_list_json() + "\n");
  if (command == "options") return print(syncopate::tools::option_list_json() + "\n");
  if (command == "probe") return print(probe_json() + "\n");
  if (command == "calibrate") {
    char* end = nullptr;
    const double seconds = argc == 3 ? std::strtod(argv[2], &end) : 5.0;
    if (seconds > 0 && seconds <= 3600 && (end == nullptr || *end == '\0'))
      return print(syncopate::tools::calibrate_json(seconds) + "\n");
    std::fprintf(stderr, "syncopate-native: not a number of seconds up to 3600: %s\n", argv[2]);
    return 2;
  }
  if (command == "--version") return print("syncopate-native " SYNCOPATE_VERSION "\n");
  if (command == "--help" || command == "-h") return print(help_text);
  std::fwrite(help_text.data(), 1, help_text.size(), stderr);
  return 2;
}
