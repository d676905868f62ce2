// options.cpp -- see options.h.
#include "options.h"

#include "model/explored/report/verdict.h"

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

namespace syncopate::explored {

namespace {

bool number(const std::string& text, double& value) {
  char* end = nullptr;
  errno = 0;
  value = std::strtod(text.c_str(), &end);
  return errno == 0 && !text.empty() && *end == 0 && value >= 0;
}

// What a double and the option hold exactly.
bool is_whole(const std::string& name, double value) {
  const bool wide = name == "executions" || name == "random";
  return value == std::floor(value) && value <= (wide ? 0x1p53 : 0x1p31 - 1);
}

std::string set(const std::string& name, const std::string& text, options& into) {
  const bool has_value = !text.empty();
  double value = 1;
  if (has_value && !number(text, value)) return name + "=" + text + " is not a number";
  if (name != "seconds" && !is_whole(name, value))
    return name + "=" + text + " is not whole, or too large";
  const auto whole = static_cast<std::uint64_t>(value);
  if (name == "executions") into.executions = whole;
  else if (name == "seconds") into.seconds = value;
  else if (name == "jobs") into.jobs = static_cast<unsigned>(whole);
  else if (name == "split") into.split = whole;
  else if (name == "steps") into.steps = static_cast<std::uint32_t>(whole);
  else if (name == "preemptions") into.preemptions = static_cast<int>(whole);
  else if (name == "random") into.random = true, into.seed = whole;
  else if (name == "depth") into.depth = static_cast<unsigned>(whole);
  else if (name == "every_order") into.every_order = whole != 0;
  else if (name == "timeouts") into.timeouts = static_cast<unsigned>(whole);
  else if (name == "jumps") into.jumps = static_cast<unsigned>(whole);
  else if (name == "looks") into.looks = static_cast<unsigned>(whole);
  else if (name == "turns") into.turns = static_cast<int>(whole);
  else if (name == "spurious") into.spurious = static_cast<unsigned>(whole);
  else if (name == "aborts") into.aborts = static_cast<unsigned>(whole);
  else if (name == "htm") into.htm = whole != 0;
  else if (name == "claims") into.claims = whole != 0;
  else if (name == "any_waiter") into.any_waiter = whole != 0;
  else if (name == "processors") into.processors = static_cast<unsigned>(whole);
  else if (name == "nodes") into.nodes = static_cast<unsigned>(whole);
  else if (name == "progress") into.progress = whole != 0;
  else return "there is no option " + name;
  if (into.steps == 0 || into.processors == 0 || into.nodes == 0 || into.jobs == 0 ||
      into.split == 0)
    return name + " must not be 0";
  return {};
}

std::string from_environment(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

[[noreturn]] void refuse(const std::string& what) {
  const std::string line = "syncopate: " + what + "\n";
  (void)!::write(STDERR_FILENO, line.data(), line.size());
  ::_exit(2);
}

}  // namespace

std::string parse(const char* text, options& into) {
  for (const char* at = text; *at != 0;) {
    const char* const end =
        std::strchr(at, ',') != nullptr ? std::strchr(at, ',') : at + std::strlen(at);
    const std::string item(at, end);
    at = *end != 0 ? end + 1 : end;
    if (item.empty()) continue;
    const std::size_t equals = item.find('=');
    const std::string name = item.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : item.substr(equals + 1);
    if (equals != std::string::npos && value.empty()) return name + " has no value";
    if (std::string wrong = set(name, value, into); !wrong.empty()) return wrong;
  }
  return {};
}

std::string unusual(const options& o) {
  const options usual;
  std::string text;
  const auto add = [&](const char* name, std::uint64_t value, std::uint64_t usually) {
    if (value == usually) return;
    text += (text.empty() ? "" : ",") + std::string(name) + "=" + std::to_string(value);
  };
  add("steps", o.steps, usual.steps);
  add("timeouts", o.timeouts, usual.timeouts);
  add("jumps", o.jumps, usual.jumps);
  add("looks", o.looks, usual.looks);
  if (o.turns >= 0) add("turns", static_cast<std::uint64_t>(o.turns), ~std::uint64_t{0});
  add("spurious", o.spurious, usual.spurious);
  add("aborts", o.aborts, usual.aborts);
  add("any_waiter", o.any_waiter, usual.any_waiter);
  add("processors", o.processors, usual.processors);
  add("nodes", o.nodes, usual.nodes);
  add("htm", o.htm, usual.htm);
  add("claims", o.claims, usual.claims);
  return text;
}

std::string take_options_of_schedule(options& o) {
  const std::size_t end = o.schedule.find(' ');
  const std::string first = o.schedule.substr(0, end);
  if (first.find('=') == std::string::npos) return {};
  o.schedule = end == std::string::npos ? "-" : o.schedule.substr(end + 1);
  return parse(first.c_str(), o);
}

options options_from_environment() {
  options result;
  if (const std::string wrong = parse(from_environment("SYNCOPATE_EXPLORE").c_str(), result);
      !wrong.empty())
    refuse("SYNCOPATE_EXPLORE: " + wrong);
  if (const std::string weaken = from_environment("SYNCOPATE_WEAKEN"); !weaken.empty()) {
    double value = 0;
    if (!number(weaken, value)) refuse("SYNCOPATE_WEAKEN=" + weaken + " is not a number");
    if (!is_whole("weaken", value)) refuse("SYNCOPATE_WEAKEN=" + weaken + " is no access's number");
    result.weaken = static_cast<unsigned>(value);
  }
  result.sites = from_environment("SYNCOPATE_SITES");
  result.schedule = from_environment("SYNCOPATE_SCHEDULE");
  if (const std::string wrong = take_options_of_schedule(result); !wrong.empty())
    refuse("SYNCOPATE_SCHEDULE: " + wrong);
  if (std::vector<schedule_token> tokens;
      !result.schedule.empty() && !read_schedule(result.schedule, tokens))
    refuse("SYNCOPATE_SCHEDULE is no schedule");
  result.statistics = from_environment("SYNCOPATE_STATS");
  if (result.statistics == "0") result.statistics.clear();
  result.quiet = from_environment("SYNCOPATE_QUIET") == "1";
  return result;
}

}  // namespace syncopate::explored
