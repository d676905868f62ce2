// sites.cpp -- L0: see sites.h.
#include "sites.h"

#include "instrument/names.h"

#include <cstdio>

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

std::memory_order sites::look_up(engine::place where, const char* what, std::memory_order asked) {
  std::size_t i = 0;
  while (i < all_.size() && (all_[i].where != where || all_[i].what != what)) ++i;
  if (i == all_.size()) all_.push_back({where, what, asked});
  return i + 1 == weaken_ ? std::memory_order_relaxed : asked;
}

bool sites::write(const std::string& file) const {
  std::FILE* const out = std::fopen(file.c_str(), "we");
  if (out == nullptr) return false;
  std::fputs("[", out);
  for (std::size_t i = 0; i < all_.size(); ++i)
    std::fprintf(out,
                 "%s\n {\"site\": %zu, \"operation\": \"%s\", \"order\": \"%s\", "
                 "\"position\": \"%s\"}",
                 i == 0 ? "" : ",", i + 1, all_[i].what, name(all_[i].order),
                 instrument::code_name(all_[i].where).c_str());
  std::fputs("\n]\n", out);
  return std::fclose(out) == 0;
}

std::string sites::weakened() const {
  if (weaken_ == 0 || weaken_ > all_.size()) return {};
  const site& s = all_[weaken_ - 1];
  return std::string(s.what) + " " + name(s.order) + ", " + instrument::code_name(s.where);
}

}  // namespace syncopate::explored
