// main.cpp -- the search against plain enumeration: random programs have the same outcomes under
// the reduced search as under every order, or the seed and the smallest such program are printed.
//
//   explore_fuzz [--seed FIRST] [--programs N] [--executions MOST] [--seconds S] [--jobs N]
//                [--focus NAME]
//   explore_fuzz --litmus FILE        (litmus.h)
//
// The seeds FIRST, FIRST + 1, ... are the programs. Where MOST executions are not every order, what
// they have found must have been found. With --jobs, the search in one process is compared with the
// search in several: their verdicts and counts, also where all must end. Without, each failure is
// repeated by its schedule, as SYNCOPATE_SCHEDULE does, and must be the same one. --focus: only
// programs of some kinds (program.cpp).
// Status 1: there was a difference.
#include "litmus.h"
#include "run.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

using fuzz::found;
using fuzz::program;
using syncopate::explored::result;

struct settings {
  std::uint64_t seed = 1, programs = 1'000, executions = 20'000;
  double seconds = 0;
  unsigned jobs = 0;
  std::string focus;
  std::string set;  // options of the machine beside the program's own
};

struct counts {
  std::uint64_t complete = 0, partly = 0, failing = 0, undecided = 0;
};

std::uint64_t repeated = 0;  // failures

enum class answer { same, partly, failing, undecided, different };

struct comparison {
  answer is;
  std::string why;
};

std::string verdict_of(const found& f) {
  const auto& v = f.how;
  return std::string(name(v.how)) + ": " + name(v.what.kind) + ": " + v.what.text + ", " +
         v.what.schedule;
}

// Its failure is repeated by its schedule alone.
comparison compare_repeated(const program& p, const found& f) {
  const found again = fuzz::explore_schedule(p, f.how.what.schedule);
  ++repeated;
  if (verdict_of(again) == verdict_of(f)) return {answer::failing, {}};
  return {answer::different,
          "found: " + verdict_of(f) + "; its schedule repeated: " + verdict_of(again)};
}

// As programs are checked that must come to their ends.
comparison compare_strictly(const program& p, std::uint64_t executions) {
  const fuzz::strictly all_must_end;
  const found f = fuzz::explore_reduced(p, executions);
  return f.how.how == result::failed ? compare_repeated(p, f) : comparison{answer::same, {}};
}

comparison compare(const program& p, std::uint64_t executions) {
  const found reduced = fuzz::explore_reduced(p, executions);
  if (reduced.how.how == result::bounded) return {answer::undecided, {}};
  const found every = fuzz::explore_every_order(p, executions);
  const bool complete = every.how.how != result::bounded;
  const auto kind = [](const found& f) { return name(f.how.what.kind); };
  if (every.how.how == result::failed && reduced.how.how != result::failed)
    return {answer::different, std::string("only every order fails: ") + kind(every) + ": " +
                                   every.how.what.text + ", " + every.how.what.schedule};
  if (reduced.how.how == result::failed) {
    if (comparison again = compare_repeated(p, reduced);
        again.is == answer::different || every.how.how == result::failed)
      return again;
    if (!complete) return {answer::undecided, {}};
    return {answer::different, std::string("only the reduced search fails: ") + kind(reduced) +
                                   ": " + reduced.how.what.text};
  }
  if (!std::includes(reduced.outcomes.begin(), reduced.outcomes.end(), every.outcomes.begin(),
                     every.outcomes.end())) {
    std::string why = "outcomes lost: " + std::to_string(reduced.outcomes.size()) + " of " +
                      std::to_string(every.outcomes.size()) + " found by " +
                      std::to_string(reduced.how.executions) + " executions of " +
                      std::to_string(every.how.executions) + "; not";
    for (const std::string& each : every.outcomes)
      if (!reduced.outcomes.contains(each)) return {answer::different, why + " " + text(p, each)};
  }
  if (!complete) return {answer::partly, {}};
  if (reduced.outcomes != every.outcomes)
    return {answer::different, "only the reduced search has some outcomes"};
  if (reduced.how.executions > every.how.executions)
    return {answer::different, "the reduced search has more executions"};
  return {answer::same, {}};
}

// What is known of the outcomes of loops without end in other ways: those in which a few turns are
// enough are outcomes without end, too; and a loop that only reads is an await.
comparison compare_loops(const program& p, std::uint64_t executions) {
  const found loops = fuzz::explore_reduced(p, executions);
  if (loops.how.how != result::passed) return {answer::undecided, {}};
  const auto lacks = [&](const found& a, const found& b) -> std::string {
    for (const std::string& each : a.outcomes)
      if (!b.outcomes.contains(each)) return text(p, each);
    return {};
  };
  const found unrolled = fuzz::explore_unrolled(p, executions);
  if (unrolled.how.how == result::failed)
    return {answer::different, "only the unrolled loops fail: " + unrolled.how.what.text};
  if (const std::string what = lacks(unrolled, loops); !what.empty())
    return {answer::different, "a few turns have also: " + what};
  program last_turns = p;
  last_turns.options += ",turns=0";
  const found last = fuzz::explore_reduced(last_turns, executions);
  if (last.how.how == result::failed)
    return {answer::different, "only the last turns fail: " + last.how.what.text};
  if (const std::string what = lacks(last, loops); !what.empty())
    return {answer::different, "the last turns have also: " + what};
  for (const std::string& each : loops.outcomes)
    if (const std::string what = text(p, each); last.how.how == result::passed &&
                                                !last.outcomes.contains(each) &&
                                                what.find("waits") == std::string::npos)
      return {answer::different, "the last turns do not have: " + what};
  if (fuzz::has_other_loops(p)) return {answer::same, {}};
  const found awaits = fuzz::explore_reduced(fuzz::with_awaits(p), executions);
  if (awaits.how.how == result::failed)
    return {answer::different, "only the awaits fail: " + awaits.how.what.text};
  if (const std::string what = lacks(awaits, loops); !what.empty())
    return {answer::different, "awaits have also: " + what};
  // (With awaits S is an order of execution, and the verdict says where that could matter.)
  if (const std::string what = lacks(loops, awaits);
      awaits.how.how == result::passed && !awaits.how.sc_orders && !what.empty())
    return {answer::different, "awaits do not have: " + what};
  return {answer::same, {}};
}

comparison compare_jobs_as_is(const program& p, const settings& s) {
  const found one = fuzz::explore_reduced(p, s.executions);
  if (one.how.how == result::bounded) return {answer::undecided, {}};
  const found many = fuzz::explore_in_jobs(p, s.jobs);
  const auto counts = [](const found& f) {
    const auto& v = f.how;
    return std::string(name(v.how)) + ": " + v.what.text + ", " + std::to_string(v.executions) +
           " executions, " + std::to_string(v.redundant) + " redundant, " + std::to_string(v.cut) +
           " cut, " + std::to_string(v.steps) + " steps, " + v.what.schedule;
  };
  if (counts(one) != counts(many))
    return {answer::different, "one process: " + counts(one) + "; several: " + counts(many)};
  return {one.how.how == result::failed ? answer::failing : answer::same, {}};
}

comparison compare_jobs(const program& p, const settings& s) {
  comparison c = compare_jobs_as_is(p, s);
  if (c.is == answer::different) return c;
  const fuzz::strictly all_must_end;
  comparison strict = compare_jobs_as_is(p, s);
  return strict.is == answer::different ? strict : c;
}

// Its loops have no end: one that gives up comes back, and goes on. So the program has the outcomes
// that it has where no loop gives up, and the search has only learned on its way that none does.
comparison compare_impatient(const program& p, std::uint64_t executions) {
  const found hasty = fuzz::explore_reduced(p, executions);
  const found patient = fuzz::explore_reduced(fuzz::with_patience(p), executions);
  if (hasty.how.how == result::bounded || patient.how.how == result::bounded)
    return {answer::undecided, {}};
  if (hasty.how.how != patient.how.how)
    return {answer::different,
            "with loops that give up: " + verdict_of(hasty) + "; without: " + verdict_of(patient)};
  if (hasty.how.how == result::failed) return compare_repeated(p, hasty);
  for (const auto* all : {&hasty.outcomes, &patient.outcomes})
    for (const std::string& each : *all)
      if (!hasty.outcomes.contains(each) || !patient.outcomes.contains(each))
        return {answer::different, std::string(all == &hasty.outcomes ? "only" : "not") +
                                       " with loops that give up: " + text(p, each)};
  return {answer::same, {}};
}

comparison compare(program p, const settings& s) {
  if (s.jobs > 1) return compare_jobs(p, s);
  if (comparison strict = compare_strictly(p, s.executions); strict.is == answer::different)
    return strict;
  if (fuzz::may_give_up(p)) {
    comparison c = compare_impatient(p, s.executions);
    if (c.is == answer::different || c.is == answer::undecided) return c;
    p = fuzz::with_patience(std::move(p));
  }
  comparison c = compare(p, s.executions);
  if ((c.is == answer::same || c.is == answer::partly) && fuzz::has_loops(p))
    if (const comparison more = compare_loops(p, s.executions); more.is == answer::different)
      return more;
  return c;
}

void report(const program& p, const std::string& why, const settings& s) {
  std::printf("DIFFERENT: %s\n%s", why.c_str(), fuzz::text(p).c_str());
  const program small =
      fuzz::shrink(p, [&](const program& q) { return compare(q, s).is == answer::different; });
  std::printf("smallest: %s\n%s", compare(small, s).why.c_str(), fuzz::text(small).c_str());
  std::fflush(stdout);
}

double number(const char* text) {
  char* end = nullptr;
  const double value = std::strtod(text, &end);
  if (end == text || *end != 0) {
    std::fprintf(stderr, "explore_fuzz: %s is not a number\n", text);
    std::exit(2);
  }
  return value;
}

settings arguments(int count, char** given) {
  settings s;
  for (int i = 1; i < count; i += 2) {
    if (std::strcmp(given[i], "--focus") == 0 && i + 1 < count) {
      s.focus = given[i + 1];
      const auto& all = fuzz::focuses();
      if (std::find(all.begin(), all.end(), s.focus) != all.end()) continue;
      std::fprintf(stderr, "explore_fuzz: there is no focus %s\n", given[i + 1]);
      std::exit(2);
    }
    if (std::strcmp(given[i], "--set") == 0 && i + 1 < count) {
      s.set = std::string(",") + given[i + 1];
      continue;
    }
    const double value = number(i + 1 < count ? given[i + 1] : "none");
    const auto whole = static_cast<std::uint64_t>(value);
    if (std::strcmp(given[i], "--seed") == 0) s.seed = whole;
    else if (std::strcmp(given[i], "--programs") == 0) s.programs = whole;
    else if (std::strcmp(given[i], "--executions") == 0) s.executions = whole;
    else if (std::strcmp(given[i], "--seconds") == 0) s.seconds = value;
    else if (std::strcmp(given[i], "--jobs") == 0) s.jobs = static_cast<unsigned>(whole);
    else {
      std::fprintf(stderr, "explore_fuzz: unknown argument %s\n", given[i]);
      std::exit(2);
    }
  }
  return s;
}

}  // namespace

int main(int count, char** given) {
  if (count == 3 && std::strcmp(given[1], "--litmus") == 0) return fuzz::show_litmus(given[2]);
  const settings s = arguments(count, given);
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  counts seen;
  std::uint64_t different = 0, n = 0;
  for (; n < s.programs && (s.seconds == 0 || seconds() < s.seconds) && different < 5; ++n) {
    program p = fuzz::make(s.seed + n, s.focus);
    p.options += s.set;
    const comparison c = compare(p, s);
    seen.complete += c.is == answer::same ? 1 : 0;
    seen.partly += c.is == answer::partly ? 1 : 0;
    seen.failing += c.is == answer::failing ? 1 : 0;
    seen.undecided += c.is == answer::undecided ? 1 : 0;
    if (c.is != answer::different) continue;
    ++different;
    report(p, c.why, s);
  }
  std::printf(
      "seeds %llu to %llu: %llu programs have the same outcomes, %llu as far as %llu "
      "executions go, %llu fail both ways, %llu are undecided, %llu differ; %llu failures "
      "repeated; %.1f s\n",
      static_cast<unsigned long long>(s.seed), static_cast<unsigned long long>(s.seed + n - 1),
      static_cast<unsigned long long>(seen.complete), static_cast<unsigned long long>(seen.partly),
      static_cast<unsigned long long>(s.executions), static_cast<unsigned long long>(seen.failing),
      static_cast<unsigned long long>(seen.undecided), static_cast<unsigned long long>(different),
      static_cast<unsigned long long>(repeated), seconds());
  // Most programs must have been decided, or nothing has been tested.
  return different != 0 || 2 * (seen.complete + seen.failing) < n ? 1 : 0;
}
