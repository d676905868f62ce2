// sections_json.cpp -- what is known of critical sections, as JSON for `syncopate advise`.
#include "sections.h"

#include <algorithm>

#include "base/json.h"
#include "model/front/names/names.h"

namespace syncopate::simulated {

namespace {

constexpr int version = 1;
constexpr std::size_t most_rows = 16;    // of one list
constexpr std::size_t most_named = 256;  // fields of a lock: each name costs up to a millisecond

using histogram_of_lines = std::map<std::uint32_t, std::uint64_t>;

// The entries with the most; equal ones in the map's order.
template <class Map, class Amount>
auto largest(const Map& from, Amount amount, std::size_t most = most_rows) {
  std::vector<const typename Map::value_type*> rows;
  for (const auto& each : from) rows.push_back(&each);
  std::ranges::stable_sort(rows, std::ranges::greater{},
                           [&](const auto* each) { return amount(each->second); });
  rows.resize(std::min(rows.size(), most));
  return rows;
}
std::uint64_t pairs_of(const meeting_counts& counts) { return counts.pairs; }
std::uint64_t itself(std::uint64_t count) { return count; }

// Of a block whether it was freed does not matter: all that were allocated there have one name.
std::string field_name(engine::address at) {
  std::string name = instrument::data_name(at);
  return name.starts_with("freed ") ? name.substr(6) : name;
}

// "queue.lock" instead of "queue.lock._M_mutex.__data.__lock".
std::string lock_name(engine::address at) {
  std::string name = field_name(at);
  for (const char* inside : {"._M_mutex", ".__data", "._M_impl", ".std::__mutex_base"})
    name = name.substr(0, name.find(inside));
  return name;
}

// By name, as different blocks of the heap have the same one.
template <class Map, class Name>
auto named(const Map& counts, Name name) {
  std::map<decltype(name(counts.begin()->first)), meeting_counts> result;
  for (const auto* each : largest(counts, pairs_of, most_named))
    result[name(each->first)].add(each->second);
  return result;
}

std::uint32_t quantile(const histogram_of_lines& of, double share) {
  std::uint64_t all = 0, seen = 0;
  for (const auto& [lines, sections] : of) all += sections;
  for (const auto& [lines, sections] : of) {
    seen += sections;
    if (static_cast<double>(seen) >= share * static_cast<double>(all)) return lines;
  }
  return 0;
}

class sections_writer {
 public:
  void begin(const description& machine, std::uint64_t not_watched) {
    json_.begin_object();
    json_.member("schema", "syncopate-sections-report");
    json_.member("version", version);
    json_.member("machine", machine.name);
    json_.member("line_bytes", machine.l1.line);
    json_.member("l1_bytes", machine.l1.size);
    json_.member("l1_ways", machine.l1.ways);
    json_.member("sections_not_watched", not_watched);
    json_.line_break();
    json_.key("locks");
    json_.begin_array();
  }
  std::string end() {
    json_.end_array();
    json_.end_object();
    return json_.text() + "\n";
  }

  void lock(const std::string& name, std::uint64_t locks, const lock_totals& of) {
    json_.line_break();
    json_.begin_object();
    json_.member("name", name);
    json_.member("locks", locks);
    json_.member("threads", of.threads.size());
    json_.member("sections", of.sections);
    json_.member("shared", of.shared);
    json_.member("read_only", of.read_only);
    json_.member("calling", of.calling);
    json_.member("too_large", of.too_large);
    json_.member("friendly", of.friendly);
    json_.member("pairs", of.pairs);
    json_.member("conflicting", of.conflicting);
    json_.member("sharing_lines", of.sharing_lines);
    json_.member("meetings_left_out", of.left_out);
    lines("read_lines", of.read_lines);
    lines("written_lines", of.written_lines);
    sites(of);
    calls(of);
    conflicts(of);
    shared_lines(of);
    json_.end_object();
  }

 private:
  template <class Rows, class Write>
  void list(const char* key, const Rows& rows, Write write) {
    json_.line_break();
    json_.key(key);
    json_.begin_array();
    for (const auto* row : rows) {
      json_.begin_object();
      write(row->first, row->second);
      json_.end_object();
    }
    json_.end_array();
  }

  void lines(const char* key, const histogram_of_lines& of) {
    json_.key(key);
    json_.begin_object();
    json_.member("median", quantile(of, 0.5));
    json_.member("p99", quantile(of, 0.99));
    json_.member("most", of.empty() ? 0 : of.rbegin()->first);
    json_.end_object();
  }

  void sites(const lock_totals& of) {
    list("taken_at", largest(of.sites, itself), [&](engine::place at, std::uint64_t count) {
      json_.member("place", instrument::code_name(at));
      json_.member("sections", count);
    });
  }

  void calls(const lock_totals& of) {
    list("calls", largest(of.calls, itself), [&](const auto& call, std::uint64_t count) {
      json_.member("function", call.first);
      json_.member("place", instrument::code_name(call.second));
      json_.member("count", count);
    });
  }

  void meetings(const meeting_counts& counts) {
    json_.member("pairs", counts.pairs);
    json_.member("alone", counts.alone);
    list("met_at", largest(counts.places, itself), [&](const auto& places, std::uint64_t count) {
      json_.member("first", instrument::code_name(places.first));
      json_.member("second", instrument::code_name(places.second));
      json_.member("count", count);
    });
  }

  void conflicts(const lock_totals& of) {
    const auto fields = named(of.conflicts, field_name);
    list("conflicts", largest(fields, pairs_of), [&](const auto& field, const auto& counts) {
      json_.member("field", field);
      meetings(counts);
    });
  }

  void shared_lines(const lock_totals& of) {
    const auto fields = named(of.shared_lines, [](const auto& both) {
      return std::pair(field_name(both.first), field_name(both.second));
    });
    list("shared_lines", largest(fields, pairs_of), [&](const auto& both, const auto& counts) {
      json_.member("first", both.first);
      json_.member("second", both.second);
      meetings(counts);
    });
  }

  json_writer json_;
};

}  // namespace

std::string section_watch::json() const {
  sections_writer to;
  to.begin(machine_, not_watched_);
  std::map<std::string, std::pair<std::uint64_t, lock_totals>> by_name;
  for (const auto& [at, lock] : locks_) {
    auto& [count, totals] = by_name[lock_name(at)];
    ++count;
    totals.add(lock.totals);
  }
  for (const auto& [name, found] : by_name) to.lock(name, found.first, found.second);
  return to.end();
}

}  // namespace syncopate::simulated
