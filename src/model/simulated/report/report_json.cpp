// report_json.cpp -- the report of a simulated run as JSON:
// docs/reference/machine-report-schema.md.
#include "base/json.h"
#include "model/front/names/names.h"
#include "report_figures.h"
#include "report_names.h"

#include <algorithm>
#include <string>

namespace syncopate::simulated {

namespace {

constexpr int version = 1;

// Names that people read, as keys and values for programs: "write capacity" is "write_capacity".
std::string identifier(const char* name) {
  std::string text = name;
  std::replace(text.begin(), text.end(), ' ', '_');
  return text;
}

class report_writer {
 public:
  explicit report_writer(const statistics& of) : of_(of) {}

  std::string all() {
    json_.begin_object();
    json_.member("schema", "syncopate-machine-report");
    json_.member("version", version);
    summary();
    list("threads", of_.threads, [this](const auto& each) { thread(each); });
    list("processors", of_.processors, [this](const auto& each) { processor(each); });
    list("marks", of_.marks, [this](const auto& each) { mark(each); });
    list("waits", of_.waits, [this](const auto& each) { wait(each); });
    list("lines", of_.lines, [this](const auto& each) { line(each); });
    list("transactions", of_.transactions, [this](const auto& each) { transaction(each); });
    list("aborts", of_.aborts, [this](const auto& each) { abort(each); });
    if (of_.native.seconds > 0) native(of_.native);
    json_.end_object();
    return json_.text() + "\n";
  }

 private:
  // One element a line: differences of two reports are readable.
  template <class List, class Write>
  void list(const char* key, const List& from, Write write) {
    json_.line_break();
    json_.key(key);
    json_.begin_array();
    for (const auto& each : from) {
      json_.line_break();
      json_.begin_object();
      write(each);
      json_.end_object();
    }
    json_.end_array();
  }

  void summary() {
    json_.line_break();
    json_.member("machine", of_.machine);
    json_.member("hertz", of_.hertz);
    json_.member("line_bytes", of_.line_bytes);
    json_.member("cycles", of_.cycles);
    json_.member("seconds", of_.seconds());
    json_.member("finished", of_.finished);
    json_.member("exit_status", of_.exit_status);
    json_.line_break();
    json_.key("energy");
    json_.begin_object();
    json_.member("joules", of_.energy.joules);
    json_.member("average_watts", of_.seconds() > 0 ? of_.energy.joules / of_.seconds() : 0.0);
    json_.member("processors_joules", of_.energy.processors);
    json_.member("transfers_joules", of_.energy.transfers);
    json_.member("base_joules", of_.energy.base);
    json_.end_object();
  }

  void activity_cycles(const std::array<std::uint64_t, activities>& cycles) {
    json_.key("cycles");
    json_.begin_object();
    for (std::size_t i = 0; i < activities; ++i) {
      if (cycles[i] != 0) json_.member(identifier(name(static_cast<activity>(i))), cycles[i]);
    }
    json_.end_object();
  }

  void thread(const thread_statistics& each) {
    json_.member("index", each.index);
    json_.member("name", thread_name(each));
    if (each.made_at != nullptr) json_.member("made_at", instrument::place_name(each.made_at));
    json_.member("begin", each.begin);
    json_.member("end", each.end);
    activity_cycles(each.cycles);
    json_.member("accesses", each.accesses);
    json_.member("atomics", each.atomics);
    json_.member("slow", each.slow);
    json_.member("stalled", each.stalled);
    json_.member("switches", each.switches);
    json_.member("preemptions", each.preemptions);
    json_.member("migrations", each.migrations);
    json_.member("parks", each.parks);
    json_.member("wakes", each.wakes);
    json_.member("system_calls", each.system_calls);
  }

  void processor(const processor_statistics& each) {
    const access_totals& memory = each.memory;
    activity_cycles(each.cycles);
    json_.member("accesses", memory.accesses);
    json_.member("l1_misses", memory.l1_misses);
    json_.member("l2_hits", memory.l2_hits);
    json_.member("llc_hits", memory.llc_hits);
    json_.key("transfers");
    json_.begin_object();
    constexpr const char* from[distances] = {"cluster", "node", "socket", "remote"};
    for (std::size_t i = 0; i < distances; ++i) json_.member(from[i], memory.transfers[i]);
    json_.end_object();
    json_.member("upgrades", memory.upgrades);
    json_.member("dram_local", memory.dram_local);
    json_.member("dram_remote", memory.dram_remote);
    json_.member("invalidations_sent", memory.invalidations_sent);
    json_.member("waited", memory.waited);
    json_.member("stalled", memory.stalled);
  }

  void counts(const char* key, const std::vector<std::uint64_t>& numbers) {
    json_.key(key);
    json_.begin_array();
    for (const std::uint64_t number : numbers) json_.value(number);
    json_.end_array();
  }

  void mark(const mark_statistics& each) {
    json_.member("name", each.name);
    json_.member("total", each.total());
    json_.member("per_second", each.per_second(of_.hertz));
    json_.member("fairness", each.fairness());
    json_.member("first", each.first);
    json_.member("last", each.last);
    counts("by_thread", each.by_thread);
  }

  void distribution(const char* key, const histogram& from) {
    json_.key(key);
    json_.begin_object();
    json_.member("count", from.count);
    json_.member("sum", from.sum);
    json_.member("p50", quantile(from, 0.5));
    json_.member("p90", quantile(from, 0.9));
    json_.member("p99", quantile(from, 0.99));
    json_.member("longest", from.longest);
    std::size_t used = from.bucket.size();
    while (used > 0 && from.bucket[used - 1] == 0) --used;
    counts("powers_of_two", {from.bucket.begin(), from.bucket.begin() + static_cast<long>(used)});
    json_.end_object();
  }

  void wait(const wait_statistics& each) {
    json_.member("name", wait_name(each.address));
    json_.member("address", each.address);
    json_.member("by", name(each.kind));
    if (each.first_place != nullptr) {
      json_.member("first_place", instrument::code_name(each.first_place));
    }
    json_.member("waits", each.waits);
    json_.member("timeouts", each.timeouts);
    json_.member("looks", each.looks);
    json_.member("most_waiters", each.most_waiters);
    distribution("waited", each.waited);
    distribution("held", each.held);
    counts("waited_by_thread", each.waited_by_thread);
  }

  void line(const line_statistics& each) {
    const std::uint64_t address = each.what * of_.line_bytes;
    json_.member("name", line_name(address, of_.line_bytes));
    json_.member("address", address);
    json_.member("misses", each.misses);
    json_.member("transfers", each.transfers);
    json_.member("invalidations", each.invalidations);
    json_.member("waited", each.waited);
  }

  void transaction(const transaction_statistics& each) {
    json_.member("begun_at", instrument::code_name(each.begin));
    json_.member("begins", each.begins);
    json_.member("commits", each.commits);
    json_.key("aborts");
    json_.begin_object();
    for (std::size_t i = 0; i < abort_causes; ++i) {
      json_.member(identifier(name(static_cast<abort_cause>(i))), each.aborts[i]);
    }
    json_.end_object();
    json_.member("committed_cycles", each.committed_cycles);
    json_.member("wasted_cycles", each.wasted_cycles);
    json_.member("most_read_lines", each.most_read_lines);
    json_.member("most_written_lines", each.most_written_lines);
  }

  void abort(const abort_statistics& each) {
    json_.member("cause", identifier(name(each.cause)));
    if (each.cause == abort_cause::explicit_) json_.member("code", each.code);
    json_.member("begun_at", instrument::code_name(each.begin));
    if (each.by != nullptr) json_.member("ended_at", instrument::code_name(each.by));
    if (each.line != 0) {
      json_.member("line", line_name(each.line, of_.line_bytes));
    }
    json_.member("count", each.count);
    json_.member("wasted_cycles", each.wasted);
  }

  // The only part that is not simulated, and not the same in every run.
  void native(const instrument::native_time& time) {
    json_.line_break();
    json_.key("native");
    json_.begin_object();
    json_.member("cpu_seconds", time.seconds);
    json_.member("samples", time.samples);
    json_.member("program_seconds", time.program);
    json_.member("machine_seconds", time.machine);
    json_.member("not_seen_seconds", time.not_seen());
    json_.key("not_seen");
    json_.begin_array();
    for (const instrument::native_time::library& each : time.libraries) {
      json_.begin_object();
      json_.member("library", each.name);
      json_.member("seconds", each.seconds);
      json_.end_object();
    }
    json_.end_array();
    json_.end_object();
  }

  const statistics& of_;
  json_writer json_;
};

}  // namespace

std::string json_report(const statistics& of) { return report_writer(of).all(); }

}  // namespace syncopate::simulated
