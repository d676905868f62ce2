// report_text.cpp -- the report of a simulated run as tables for people.
#include "model/front/names/names.h"
#include "report_figures.h"
#include "report_names.h"

#include <algorithm>
#include <cstdio>
#include <map>

namespace syncopate::simulated {

namespace {

using instrument::place_name;

constexpr std::size_t most_rows = 12;       // of a table; JSON has them all
constexpr std::uint64_t negligible = 1000;  // lines that moved this many times less than the first
constexpr std::size_t most_threads = 16;    // beyond, threads with the same function share a row

class text_writer {
 public:
  explicit text_writer(const statistics& of) : of_(of) {}

  std::string all() {
    summary();
    marks();
    threads();
    waits();
    lines();
    memory();
    transactions();
    aborts();
    native();
    return std::move(text_);
  }

 private:
  [[nodiscard]] double seconds(std::uint64_t cycles) const {
    return of_.hertz > 0 ? static_cast<double>(cycles) / of_.hertz : 0;
  }
  [[nodiscard]] std::string time(std::uint64_t cycles) const { return duration(seconds(cycles)); }

  void summary();
  void marks();
  void threads();
  void waits();
  void lines();
  void memory();
  void transactions();
  void aborts();
  void native();

  void section(const char* title, const text_table& table, std::size_t rows) {
    text_ += std::string("\n") + title + "\n" + table.text();
    if (rows > most_rows) {
      text_ += "  ... and " + std::to_string(rows - most_rows) + " more: SYNCOPATE_STATS=json\n";
    }
  }

  const statistics& of_;
  std::string text_;
};

void text_writer::summary() {
  char line[256];
  std::snprintf(line, sizeof line, "simulated on %s (%zu processors, %.2f GHz): %s%s\n",
                of_.machine.c_str(), of_.processors.size(), of_.hertz / 1e9,
                time(of_.cycles).c_str(), of_.finished ? "" : ", not finished");
  text_ += line;
  const energy_statistics& energy = of_.energy;
  if (energy.joules <= 0 || of_.seconds() <= 0) return;
  std::snprintf(line, sizeof line,
                "energy: %.4g J, %.4g W on average (cores %.4g J, transfers %.4g J, rest %.4g J)\n",
                energy.joules, energy.joules / of_.seconds(), energy.processors, energy.transfers,
                energy.base);
  text_ += line;
}

void text_writer::marks() {
  text_table table({"<work", "count", "per second", "threads", "fairness factor"});
  for (const mark_statistics& mark : of_.marks) {
    const auto total = static_cast<double>(mark.total());
    const auto threads = std::count_if(mark.by_thread.begin(), mark.by_thread.end(),
                                       [](std::uint64_t count) { return count != 0; });
    const double rate = mark.per_second(of_.hertz);
    char fairness[16];
    std::snprintf(fairness, sizeof fairness, "%.3f", mark.fairness());
    table.add({mark.name, quantity(total), rate > 0 ? quantity(rate) : "-", std::to_string(threads),
               mark.fairness() > 0 ? fairness : "-"});
  }
  if (!table.empty()) {
    section("work done (fairness factor: share of the busier half of the threads; 0.5 is fair)",
            table, of_.marks.size());
  }
}

// Threads that share a row.
struct thread_group {
  std::string name;
  std::size_t count = 0;
  thread_statistics sum;
  std::uint64_t alive = 0;  // cycles
};

std::vector<thread_group> groups_of(const std::vector<thread_statistics>& threads) {
  std::vector<thread_group> groups;
  std::map<std::pair<const void*, const void*>, std::size_t> by_entry;
  for (const thread_statistics& thread : threads) {
    const bool main = thread.index == 0;
    const bool alone = main || threads.size() <= most_threads;
    std::size_t at = groups.size();
    if (!alone) at = by_entry.try_emplace({thread.entry, thread.made_at}, at).first->second;
    if (at == groups.size()) groups.emplace_back();
    thread_group& group = groups[at];
    if (group.count++ == 0) {
      group.name = shortened(thread_name(thread));
      if (alone) group.name.insert(0, std::to_string(thread.index) + " ");
    }
    group.alive += thread.end - thread.begin;
    for (std::size_t i = 0; i < activities; ++i) group.sum.cycles[i] += thread.cycles[i];
    group.sum.accesses += thread.accesses;
    group.sum.switches += thread.switches;
    group.sum.preemptions += thread.preemptions;
    group.sum.migrations += thread.migrations;
  }
  for (thread_group& group : groups) {
    if (group.count > 1) group.name.insert(0, std::to_string(group.count) + " x ");
  }
  return groups;
}

void text_writer::threads() {
  // Only the activities that occurred get a column.
  std::vector<activity> shown;
  for (std::size_t i = 0; i < activities; ++i) {
    const bool occurred = std::any_of(of_.threads.begin(), of_.threads.end(),
                                      [i](const auto& thread) { return thread.cycles[i] != 0; });
    if (occurred) shown.push_back(static_cast<activity>(i));
  }
  std::vector<std::string> headings{"<thread", "lived"};
  for (const activity each : shown) headings.emplace_back(name(each));
  headings.insert(headings.end(), {"accesses", "preempted", "migrated"});
  text_table table(std::move(headings));
  const std::vector<thread_group> groups = groups_of(of_.threads);
  for (std::size_t i = 0; i < std::min(groups.size(), most_threads); ++i) {
    const thread_group& group = groups[i];
    std::vector<std::string> row{group.name, time(group.alive / group.count)};
    for (const activity each : shown) {
      row.push_back(share(static_cast<double>(group.sum.cycles[static_cast<std::size_t>(each)]),
                          static_cast<double>(group.alive)));
    }
    row.push_back(quantity(static_cast<double>(group.sum.accesses)));
    row.push_back(quantity(static_cast<double>(group.sum.preemptions)));
    row.push_back(quantity(static_cast<double>(group.sum.migrations)));
    table.add(std::move(row));
  }
  text_ += "\nthreads (shares of the time they lived)\n" + table.text();
}

void text_writer::waits() {
  text_table table({"<waited for", "<by", "waits", "total", "p50", "p99", "longest", "at once",
                    "held p50", "p99", "longest"});
  for (std::size_t i = 0; i < std::min(of_.waits.size(), most_rows); ++i) {
    const wait_statistics& wait = of_.waits[i];
    std::vector<std::string> row{shortened(wait_name(wait.address)),
                                 name(wait.kind),
                                 quantity(static_cast<double>(wait.waits)),
                                 time(wait.waited.sum),
                                 time(quantile(wait.waited, 0.5)),
                                 time(quantile(wait.waited, 0.99)),
                                 time(wait.waited.longest),
                                 std::to_string(wait.most_waiters)};
    if (wait.held.count == 0) {
      row.insert(row.end(), {"-", "-", "-"});
    } else {
      row.push_back(time(quantile(wait.held, 0.5)));
      row.push_back(time(quantile(wait.held, 0.99)));
      row.push_back(time(wait.held.longest));
    }
    table.add(std::move(row));
  }
  if (!table.empty()) {
    section("waits (held: from the end of a wait to the waiter's next write of the word)", table,
            of_.waits.size());
  }
}

void text_writer::lines() {
  text_table table({"misses", "transfers", "invalidations", "waited", "<line"});
  std::vector<line_statistics> most_moved = of_.lines;
  std::stable_sort(most_moved.begin(), most_moved.end(),
                   [](const auto& a, const auto& b) { return a.misses > b.misses; });
  for (std::size_t i = 0; i < std::min(most_moved.size(), most_rows); ++i) {
    const line_statistics& line = most_moved[i];
    if (line.misses * negligible < most_moved.front().misses) break;
    table.add({quantity(static_cast<double>(line.misses)),
               quantity(static_cast<double>(line.transfers)),
               quantity(static_cast<double>(line.invalidations)), time(line.waited),
               shortened(line_name(line.what * of_.line_bytes, of_.line_bytes), 90)});
  }
  if (!table.empty()) section("cache lines that moved most", table, of_.lines.size());
}

void text_writer::memory() {
  access_totals sum;
  for (const processor_statistics& processor : of_.processors) sum += processor.memory;
  if (sum.accesses == 0) return;
  const auto of_all = [&](std::uint64_t part) {
    return share(static_cast<double>(part), static_cast<double>(sum.accesses));
  };
  text_table table({"<accesses to memory", "", ""});
  const auto add = [&](const char* what, std::uint64_t count) {
    if (count != 0) table.add({what, quantity(static_cast<double>(count)), of_all(count)});
  };
  add("all, by line", sum.accesses);
  add("missed the L1", sum.l1_misses);
  add("found in the L2", sum.l2_hits);
  add("found in the LLC", sum.llc_hits);
  constexpr const char* from[] = {"from another core of the cluster",
                                  "from another core of the node",
                                  "from another node of the socket", "from another socket"};
  for (std::size_t i = 0; i < distances; ++i) add(from[i], sum.transfers[i]);
  add("upgrades of shared lines", sum.upgrades);
  add("from the node's memory", sum.dram_local);
  add("from another node's memory", sum.dram_remote);
  text_ += "\n" + table.text();
}

void text_writer::transactions() {
  std::vector<std::size_t> shown;
  std::vector<std::string> headings{"<transaction", "begun", "committed"};
  for (std::size_t i = 0; i < abort_causes; ++i) {
    const bool occurred = std::any_of(of_.transactions.begin(), of_.transactions.end(),
                                      [i](const auto& each) { return each.aborts[i] != 0; });
    if (!occurred) continue;
    shown.push_back(i);
    headings.emplace_back(name(static_cast<abort_cause>(i)));
  }
  headings.insert(headings.end(), {"wasted", "lines read", "written"});
  text_table table(std::move(headings));
  for (std::size_t i = 0; i < std::min(of_.transactions.size(), most_rows); ++i) {
    const transaction_statistics& each = of_.transactions[i];
    std::vector<std::string> row{
        place_name(each.begin), quantity(static_cast<double>(each.begins)),
        share(static_cast<double>(each.commits), static_cast<double>(each.begins))};
    for (const std::size_t cause : shown) {
      row.push_back(quantity(static_cast<double>(each.aborts[cause])));
    }
    row.push_back(share(static_cast<double>(each.wasted_cycles),
                        static_cast<double>(each.wasted_cycles + each.committed_cycles)));
    row.push_back(std::to_string(each.most_read_lines));
    row.push_back(std::to_string(each.most_written_lines));
    table.add(std::move(row));
  }
  if (!table.empty()) {
    section("transactions (wasted: share of their time; lines: of the largest that committed)",
            table, of_.transactions.size());
  }
}

void text_writer::aborts() {
  text_table table({"<abort", "count", "wasted", "<begun at", "<ended at", "<line"});
  for (std::size_t i = 0; i < std::min(of_.aborts.size(), most_rows); ++i) {
    const abort_statistics& each = of_.aborts[i];
    std::string cause = name(each.cause);
    if (each.cause == abort_cause::explicit_) cause += " " + std::to_string(each.code);
    table.add({cause, quantity(static_cast<double>(each.count)), time(each.wasted),
               place_name(each.begin), each.by == nullptr ? "" : place_name(each.by),
               each.line == 0 ? "" : shortened(line_name(each.line, of_.line_bytes))});
  }
  if (!table.empty()) section("aborts", table, of_.aborts.size());
}

void text_writer::native() {
  const instrument::native_time& time = of_.native;
  if (time.seconds <= 0) return;
  text_ += "\nnot simulated (native time): ";
  if (time.samples == 0) {
    text_ += "the run was too short to tell, " + duration(time.seconds) + " of CPU time in all\n";
    return;
  }
  text_ += duration(time.not_seen()) + " in code that the machine cannot see, of " +
           duration(time.seconds) + " of CPU time\n";
  text_table table({"<code", "time", "share"});
  const auto add = [&](const std::string& code, double seconds) {
    table.add({code, duration(seconds), share(seconds, time.seconds)});
  };
  const std::size_t rows = std::min(time.libraries.size(), most_rows);
  for (std::size_t i = 0; i < rows; ++i)
    add("not seen: " + time.libraries[i].name, time.libraries[i].seconds);
  add("seen: the program", time.program);
  add("the machine itself", time.machine);
  text_ += table.text();
}

}  // namespace

std::string text_report(const statistics& of) { return text_writer(of).all(); }

}  // namespace syncopate::simulated
