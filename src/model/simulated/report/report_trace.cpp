// report_trace.cpp -- a simulated run as Chrome trace events: one track for each
// thread (what it did) and one for each processor (whom it served);
// and by thread what it held after it had waited for it, and its transactions.
//
// Format: "Trace Event Format", complete events ("X") and metadata ("M"); times are microseconds.
#include "base/json.h"
#include "model/front/names/names.h"
#include "report_figures.h"
#include "report_names.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace syncopate::simulated {

namespace {

constexpr int threads_group = 1;  // "processes" of the trace
constexpr int processors_group = 2;
constexpr int held_group = 3;
constexpr int transactions_group = 4;

class trace_writer {
 public:
  explicit trace_writer(const statistics& of) : of_(of) {}

  std::string all() {
    json_.begin_object();
    json_.member("displayTimeUnit", "ns");
    json_.key("otherData");
    json_.begin_object();
    json_.member("machine", of_.machine);
    json_.member("simulated_seconds", of_.seconds());
    json_.member("cut", of_.timeline_cut);
    json_.end_object();
    json_.key("traceEvents");
    json_.begin_array();
    tracks();
    for (const stretch& each : of_.timeline) events(each);
    for (const span& each : of_.spans) event(each);
    json_.end_array();
    json_.end_object();
    return json_.text() + "\n";
  }

 private:
  void metadata(const char* what, int group, unsigned track, const std::string& name) {
    json_.line_break();
    json_.begin_object();
    json_.member("ph", "M");
    json_.member("name", what);
    json_.member("pid", group);
    json_.member("tid", track);
    json_.key("args");
    json_.begin_object();
    json_.member("name", name);
    json_.end_object();
    json_.end_object();
  }

  void tracks() {
    metadata("process_name", threads_group, 0, "threads on " + of_.machine + " (simulated)");
    for (const thread_statistics& thread : of_.threads) {
      metadata("thread_name", threads_group, thread.index,
               std::to_string(thread.index) + " " + thread_name(thread));
    }
    metadata("process_name", processors_group, 0, "processors of " + of_.machine);
    for (std::size_t i = 0; i < of_.processors.size(); ++i) {
      const auto& spent = of_.processors[i].cycles;
      if (spent[static_cast<std::size_t>(activity::off)] == of_.cycles) continue;
      metadata("thread_name", processors_group, static_cast<unsigned>(i),
               "processor " + std::to_string(i));
    }
    span_tracks();
  }

  // Tracks by thread of their own: a span does not nest in the stretches of a thread's life.
  void span_tracks() {
    for (const int group : {held_group, transactions_group}) {
      const auto belongs = [group](const span& each) { return group_of(each) == group; };
      if (std::none_of(of_.spans.begin(), of_.spans.end(), belongs)) continue;
      metadata("process_name", group, 0,
               group == held_group ? "held after a wait" : "transactions");
      for (const thread_statistics& thread : of_.threads)
        metadata("thread_name", group, thread.index, "thread " + std::to_string(thread.index));
    }
  }

  static int group_of(const span& each) {
    return each.kind == span_kind::held ? held_group : transactions_group;
  }

  static bool on_processor(activity what) {
    switch (what) {
      case activity::running:
      case activity::spinning:
      case activity::light:
      case activity::deep:
      case activity::kernel:
      case activity::switching: return true;
      default: return false;
    }
  }

  void events(const stretch& each) {
    event(each, threads_group, each.thread, name(each.what));
    if (on_processor(each.what)) {
      event(each, processors_group, each.processor, "thread " + std::to_string(each.thread));
    }
  }

  void event(const stretch& each, int group, unsigned track, const std::string& title) {
    json_.line_break();
    json_.begin_object();
    json_.member("ph", "X");
    json_.member("name", title);
    json_.member("cat", name(each.what));
    json_.member("pid", group);
    json_.member("tid", track);
    json_.member("ts", microseconds(each.from));
    json_.member("dur", microseconds(each.to - each.from));
    json_.key("args");
    json_.begin_object();
    if (group == threads_group && on_processor(each.what)) {
      json_.member("processor", each.processor);
    }
    if (each.address != 0) json_.member("for", address_name(each.address));
    json_.end_object();
    json_.end_object();
  }

  void event(const span& each) {
    constexpr const char* category[] = {"held", "committed", "aborted"};
    json_.line_break();
    json_.begin_object();
    json_.member("ph", "X");
    json_.member("name", title_of(each));
    json_.member("cat", category[static_cast<std::size_t>(each.kind)]);
    json_.member("pid", group_of(each));
    json_.member("tid", each.thread);
    json_.member("ts", microseconds(each.from));
    json_.member("dur", microseconds(each.to - each.from));
    json_.key("args");
    json_.begin_object();
    if (each.place != nullptr) json_.member("begun_at", instrument::code_name(each.place));
    json_.end_object();
    json_.end_object();
  }

  std::string title_of(const span& each) {
    switch (each.kind) {
      case span_kind::held: return address_name(each.address);
      case span_kind::committed: return "committed";
      case span_kind::aborted: break;
    }
    return std::string("aborted: ") + name(each.cause);
  }

  [[nodiscard]] double microseconds(std::uint64_t cycles) const {
    // To the picosecond: fewer digits, smaller files.
    const double value = of_.hertz > 0 ? static_cast<double>(cycles) * 1e6 / of_.hertz : 0;
    return std::round(value * 1e6) / 1e6;
  }

  // The same few words are waited for again and again; a name costs a look into debug information.
  const std::string& address_name(std::uintptr_t address) {
    const auto [at, is_new] = names_.try_emplace(address);
    if (is_new) at->second = wait_name(address);
    return at->second;
  }

  const statistics& of_;
  json_writer json_;
  std::map<std::uintptr_t, std::string> names_;
};

}  // namespace

std::string trace_report(const statistics& of) { return trace_writer(of).all(); }

}  // namespace syncopate::simulated
