// sites.cpp -- see sites.h.
#include "sites.h"

#include "report.h"

#include "base/json.h"
#include "model/front/names/names.h"

#include <cstdio>

#include <dlfcn.h>

namespace syncopate::explored {

const char* name(std::memory_order order) noexcept {
  switch (order) {
    case std::memory_order_relaxed: return "relaxed";
    case std::memory_order_consume: return "consume";
    case std::memory_order_acquire: return "acquire";
    case std::memory_order_release: return "release";
    case std::memory_order_acq_rel: return "acq_rel";
    case std::memory_order_seq_cst: return "seq_cst";
  }
  return "?";
}

namespace {

// The runtime's own algorithms (src/model/front/pthread/algorithm) are instrumented code, too.
bool is_of_runtime(engine::place where) {
  static const char anchor = 0;
  Dl_info here{}, there{};
  return ::dladdr(&anchor, &here) != 0 && ::dladdr(where, &there) != 0 &&
         here.dli_fbase == there.dli_fbase;
}

}  // namespace

std::size_t sites::number(engine::place where, const char* what, std::memory_order asked) {
  for (const copy& c : copies_)
    if (c.where == where && c.what == what) return c.number;
  if (is_of_runtime(where)) {
    copies_.push_back({where, what, 0});
    return 0;
  }
  site met{what, asked, without_arguments(instrument::code_name(where))};
  std::size_t i = 0;
  while (i < all_.size() &&
         (all_[i].what != what || all_[i].order != asked || all_[i].position != met.position))
    ++i;
  if (i == all_.size()) all_.push_back(std::move(met));
  copies_.push_back({where, what, i + 1});
  return i + 1;
}

std::string sites::as_json() const {
  json_writer json;
  json.begin_array();
  for (std::size_t i = 0; i < all_.size(); ++i) {
    json.line_break();
    json.begin_object();
    json.member("site", i + 1);
    json.member("operation", all_[i].what);
    json.member("order", name(all_[i].order));
    json.member("position", all_[i].position);
    json.end_object();
  }
  json.end_array();
  return json.text() + '\n';
}

std::string sites::weakened() const {
  if (weaken_ == 0 || weaken_ > all_.size()) return {};
  const site& s = all_[weaken_ - 1];
  return std::string(s.what) + " " + name(s.order) + ", " + s.position;
}

std::string sites::what_was_weakened() const {
  if (weaken_ == 0) return {};
  if (const std::string site = weakened(); !site.empty()) return ", weakened: " + site;
  return ", weakened: nothing, of " + std::to_string(all_.size()) +
         " ordered accesses none is number " + std::to_string(weaken_);
}

}  // namespace syncopate::explored
