// lock_list.cpp -- one JSON object per algorithm, its waiting strategies folded into it.
#include "lock_list.h"

#include <concepts>
#include <string>
#include <string_view>
#include <vector>

#include <syncopate/locks/all.h>

#include "base/json.h"
#include "openmp/locks/offered.h"
#include "preload/choice/offered.h"

namespace syncopate::tools {
namespace {

struct algorithm {
  std::string_view name;
  std::string_view header;
  lock_traits traits;
  std::size_t size = 0;
  std::vector<std::string_view> waits;
  std::string_view default_wait;
  bool preload = false;                         // by default, that is with default_wait
  std::vector<std::string_view> preload_waits;  // strategies that unmodified programs may have
  bool openmp = false;                          // the same for OpenMP programs' locks
  std::vector<std::string_view> openmp_waits;
  std::vector<std::string_view> collapsing;  // waits under which oversubscription is ruinous
};

std::string_view name_of(fairness fair) {
  switch (fair) {
    case fairness::fifo: return "FIFO";
    case fairness::eventual: return "eventual";
    case fairness::none: break;
  }
  return "none";
}

std::vector<algorithm> collect() {
  std::vector<algorithm> result;
  for_each_lock([&]<class Lock>(const lock_entry<Lock>& entry) {
    if (result.empty() || result.back().name != entry.name) {
      result.emplace_back();
    }
    algorithm& a = result.back();
    a.name = entry.name;
    a.header = entry.header;
    if (entry.is_default) {
      a.traits = Lock::traits;
      a.size = sizeof(Lock);
      a.default_wait = entry.wait;
      a.preload = shim::is_for_unmodified_programs<Lock>;
      a.openmp = openmp::is_for_openmp<Lock>;
    }
    if (shim::is_for_unmodified_programs<Lock> && !entry.wait.empty())
      a.preload_waits.push_back(entry.wait);
    if (openmp::is_for_openmp<Lock> && !entry.wait.empty()) a.openmp_waits.push_back(entry.wait);
    const bool collapses = Lock::traits.collapses && never_sleeps<Lock>;
    if (collapses) a.collapsing.push_back(entry.wait.empty() ? "its own way" : entry.wait);
    if (!entry.wait.empty()) a.waits.push_back(entry.wait);
  });
  return result;
}

void write_names(json_writer& json, std::string_view key,
                 const std::vector<std::string_view>& names) {
  json.key(key);
  json.begin_array();
  for (const std::string_view name : names) json.value(name);
  json.end_array();
}

}  // namespace

std::string lock_list_json() {
  json_writer json;
  json.begin_array();
  for (const algorithm& a : collect()) {
    json.begin_object();
    json.member("name", a.name);
    const bool in_locks = a.header.find('/') == std::string_view::npos;
    json.member("header",
                "syncopate/" + std::string(in_locks ? "locks/" : "") + std::string(a.header));
    json.member("summary", a.traits.summary);
    json.member("source", a.traits.source);
    json.member("fair", name_of(a.traits.fair));
    json.member("size", a.size);
    write_names(json, "waits", a.waits);
    json.member("default_wait", a.default_wait);
    json.member("timed", a.traits.timed ? "native" : "polled");
    // The preload library keeps a lock's state inside the program's mutex objects.
    json.member("preload", a.preload);
    write_names(json, "preload_waits", a.preload_waits);
    json.member("openmp", a.openmp);
    write_names(json, "openmp_waits", a.openmp_waits);
    write_names(json, "collapses_when_oversubscribed", a.collapsing);
    // Its sections, or its waiters', run as hardware transactions.
    json.member("transacts", a.traits.transacts);
    json.member("excludes", a.traits.excludes);
    json.end_object();
  }
  json.end_array();
  return json.text();
}

}  // namespace syncopate::tools
