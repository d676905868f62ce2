// program.cpp -- see program.h.
#include "program.h"

#include "../common.h"
#include "../presets.h"
#include "../sections.h"

#include <cstring>
#include <string_view>

namespace workloads::stamp {

namespace {

std::unique_ptr<named_lock> global_lock;
std::uint64_t between_sections = 0;  // nanoseconds

std::vector<std::string> strings(const std::vector<const char*>& words) {
  return {words.begin(), words.end()};
}

// Programs of two contentions have each size twice: without one of them, the high one is meant.
const char* const of_high_contention = "high-";
std::string whole_preset(const parameters& all, const std::string& name) {
  std::string high = of_high_contention + name;
  return std::ranges::count(all.presets, high) != 0 ? high : name;
}

std::vector<option> option_list(const parameters& all, bool gnu_tm) {
  std::vector<option> result{preset_option(all.presets.front(), strings(all.presets))};
  if (whole_preset(all, "small") != "small")
    result.front().help = "sizes (small is high-small, and so on)";
  for (const parameter& p : all.list) result.push_back({p.name, "", p.help, strings(p.values)});
  if (gnu_tm)
    result.push_back({"variant", "tm", "tm: transactions of the compiler's run-time library"});
  else
    result.push_back(
        {"variant", "lock",
         "sequential (no lock, one thread), lock (one global lock), elided, tsx (elided, five"
         " attempts)"});
  result.push_back(
      {"lock", "", "the lock by its name (default: pthread, or elided_auto to elide)"});
  result.push_back(between_option);
  result.push_back({"threads", "1", threads_option.help});
  result.push_back(pin_option);
  result.push_back(seed_option);
  result.push_back({"format", "text", "text or json (--json is short for that)"});
  result.push_back({"inject-error", "0", "1: spoils the result, so that the check must fail"});
  return result;
}

}  // namespace

bool has_global_lock = false;
void lock_globally() {
  if (global_lock) global_lock->lock();
  else workloads::program.lock.lock();
}
void unlock_globally() {
  if (global_lock) global_lock->unlock();
  else workloads::program.lock.unlock();
  compute(between_sections);
}

struct program::team {
  explicit team(std::uint32_t threads) : meeting(threads) {}
  syncopate::central_barrier<syncopate::waits::spin_then_park> meeting;
  outcome ran;
  transaction_counts transactions;
};

program::program(int argc, char** argv, const char* name, const char* about, const parameters& all,
                 bool gnu_tm)
    : name_(name) {
  for (int i = 0; i < argc; ++i) {
    const bool json = std::strcmp(argv[i], "--json") == 0;
    const bool names_preset = i > 0 && std::strcmp(argv[i - 1], "--preset") == 0;
    words_.push_back(json ? "--format" : names_preset ? whole_preset(all, argv[i]) : argv[i]);
    if (json) words_.emplace_back("json");
  }
  std::vector<char*> pointers;
  for (std::string& word : words_) pointers.push_back(word.data());
  options_ = std::make_unique<options>(static_cast<int>(pointers.size()), pointers.data(), about,
                                       option_list(all, gnu_tm), "its result");
  for (const parameter& p : all.list) parameters_.emplace_back(p.name);
  threads_ = static_cast<std::uint32_t>(options_->number("threads", 1));
  if (const std::string& format = options_->text("format"); format != "text" && format != "json")
    refuse("--format is text or json, not '" + format + "'");
  (void)options_->number("seed");
  (void)inject_error();
  choose_variant(gnu_tm);
  team_ = std::make_unique<team>(threads_);
}

program::~program() = default;

void program::choose_variant(bool gnu_tm) {
  const std::string& variant = options_->text("variant");
  const std::string& lock = options_->text("lock");
  between_sections = options_->number("between");
  if (gnu_tm) {
    if (variant != "tm") refuse("this build has the variant tm alone, not '" + variant + "'");
    if (!lock.empty()) refuse("the variant tm has no --lock");
    return;
  }
  if (variant == "sequential") {
    if (threads_ != 1) refuse("sequential needs --threads 1");
    if (!lock.empty()) refuse("the variant sequential has no --lock");
    return;
  }
  if (variant == "tsx") {
    if (!lock.empty()) refuse("the variant tsx has no --lock");
    has_global_lock = true;
    return;
  }
  if (variant != "lock" && variant != "elided")
    refuse("no variant is called '" + variant + "' here");
  lock_ = !lock.empty() ? lock : variant == "elided" ? "elided_auto" : "pthread";
  if (!named_lock::is_name(lock_)) refuse("no lock is called '" + lock_ + "'");
  global_lock = std::make_unique<named_lock>(lock_);
  has_global_lock = true;
}

std::uint64_t program::number(const char* parameter, std::uint64_t least) const {
  return options_->number(parameter, least);
}

double program::real(const char* parameter) const {
  const std::string& value = options_->text(parameter);
  char* end = nullptr;
  const double result = std::strtod(value.c_str(), &end);
  if (value.empty() || *end != '\0' || !(result >= 0 && result < 1e18))
    refuse("--" + std::string(parameter) + " needs a number of at least 0, not '" + value + "'");
  return result;
}

random_numbers program::random(std::int64_t thread) const {
  return {options_->number("seed"), static_cast<std::uint64_t>(thread)};
}

void program::run(const std::function<std::uint64_t(std::uint32_t)>& work) {
  team_->ran = run_threads(*options_, [&](std::uint32_t thread) {
    const std::uint64_t operations = work(thread);
    if (end_of_thread != nullptr) end_of_thread(team_->transactions);
    return operations;
  });
}

void program::barrier() { team_->meeting.arrive_and_wait(); }

int program::finish(bool check_passed) const {
  if (options_->text("format") == "json") return print_json(check_passed);
  const auto row = [](const std::string& name, const std::string& value) {
    std::printf("%-22s %s\n", name.c_str(), value.c_str());
  };
  row("program", name_);
  row("variant", options_->text("variant"));
  if (!lock_.empty()) row("lock", lock_);
  row("threads", std::to_string(threads_));
  row("seed", options_->text("seed"));
  for (const std::string& parameter : parameters_) row(parameter, options_->text(parameter));
  for (const auto* list : {&results_, &varying_})
    for (const named_number& n : *list) row(n.name, std::to_string(n.value));
  row("operations", std::to_string(team_->ran.operations()));
  row("seconds", std::to_string(team_->ran.seconds()));
  row("check", check_passed ? "passed" : "FAILED");
  return check_passed ? 0 : 1;
}

int program::print_json(bool check_passed) const {
  std::string extra;
  for (const char* name : {"preset", "variant"}) extra += member(name, options_->text(name));
  extra += member("lock", lock_);
  for (const std::string& p : parameters_) extra += '"' + p + "\": " + options_->text(p) + ", ";
  const auto object = [&extra](const char* name, const std::vector<named_number>& list) {
    extra += '"' + std::string(name) + "\": {";
    for (const named_number& n : list)
      extra += (&n == list.data() ? "\"" : ", \"") + n.name + "\": " + std::to_string(n.value);
    extra += "}, ";
  };
  object("results", results_);
  object("varying", varying_);
  if (end_of_thread != nullptr)
    extra += member("attempts", team_->transactions.attempts.load()) +
             member("commits", team_->transactions.commits.load());
  return report(name_, *options_, team_->ran, check_passed, extra);
}

}  // namespace workloads::stamp
