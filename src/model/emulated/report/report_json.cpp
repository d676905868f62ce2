// report_json.cpp -- the report as JSON: docs/reference/machine-report-schema.md.
#include <algorithm>
#include <string>

#include "base/json.h"
#include "model/front/names/names.h"
#include "statistics.h"

namespace syncopate::emulated {

namespace {

constexpr int version = 1;

std::string identifier(reason why) {
  std::string text = name(why);
  std::replace(text.begin(), text.end(), ' ', '_');
  return text;
}

void member_place(json_writer& json, const char* key, place where) {
  if (where != nullptr) json.member(key, instrument::code_name(where));
}

void write_site(json_writer& json, const call_stack& stack, const site_counts& counts) {
  json.begin_object();
  json.key("begun_at");
  json.begin_array();
  std::size_t frames = 0;
  while (frames < most_frames && stack[frames] != nullptr) ++frames;
  for (const auto& frame : instrument::known_frames(stack.data(), frames, most_frames))
    json.value(frame.text());
  json.end_array();
  json.member("begins", counts.begun);
  json.member("commits", counts.committed);
  json.member("fell_back", counts.fell_back);
  json.key("aborts");
  json.begin_object();
  for (std::size_t i = 0; i < reasons; ++i)
    if (counts.aborts[i] != 0) json.member(identifier(static_cast<reason>(i)), counts.aborts[i]);
  json.end_object();
  json.member("read_lines", counts.read_lines);
  json.member("written_lines", counts.written_lines);
  json.member("accesses", counts.accesses);
  json.member("most_read_lines", counts.most_read_lines);
  json.member("most_written_lines", counts.most_written_lines);
  json.end_object();
}

void write_abort(json_writer& json, const abort_key& key, std::uint64_t count) {
  json.begin_object();
  json.member("cause", identifier(key.why));
  if (key.why == reason::explicit_) json.member("code", static_cast<unsigned>(key.code));
  if (key.called != nullptr) json.member("called", key.called);
  member_place(json, "begun_at", key.begun);
  member_place(json, "ended_at", key.ended);
  json.member("count", count);
  json.end_object();
}

void write_line(json_writer& json, const hot_line& each) {
  json.begin_object();
  json.member("name", instrument::range_name(each.at * line_bytes, line_bytes));
  json.member("address", each.at * line_bytes);
  json.member("conflicts", each.conflicts);
  json.key("meetings");
  json.begin_array();
  for (const auto& [key, count] : each.meetings) {
    json.begin_object();
    member_place(json, "held_at", key.victim);
    member_place(json, "wanted_at", key.requester);
    json.member("count", count);
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

template <class List, class Write>
void write_list(json_writer& json, const char* key, const List& from, Write write) {
  json.line_break();
  json.key(key);
  json.begin_array();
  for (const auto& each : from) {
    json.line_break();
    write(each);
  }
  json.end_array();
}

}  // namespace

std::string json_report(const totals& of) {
  json_writer json;
  json.begin_object();
  json.member("schema", "syncopate-emulated-report");
  json.member("version", version);
  json.member("line_bytes", line_bytes);
  write_list(json, "transactions", of.sites,
             [&](const auto& each) { write_site(json, each.first, each.second); });
  write_list(json, "aborts", of.aborts,
             [&](const auto& each) { write_abort(json, each.first, each.second); });
  write_list(json, "hot_lines", hot_lines(of), [&](const auto& each) { write_line(json, each); });
  json.end_object();
  return json.text() + "\n";
}

}  // namespace syncopate::emulated
