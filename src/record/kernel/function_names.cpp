// function_names.cpp -- see function_names.h.
#include "record/kernel/function_names.h"

#include <algorithm>
#include <tuple>

namespace syncopate::record::kernel {

namespace {

bool is_of_code(const GElf_Sym& symbol, GElf_Word section) {
  const auto type = GELF_ST_TYPE(symbol.st_info);
  return section != SHN_UNDEF && (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE);
}

unsigned rank_of(const GElf_Sym& symbol) {
  switch (GELF_ST_BIND(symbol.st_info)) {
    case STB_GLOBAL: return 2;
    case STB_WEAK: return 1;
    default: return 0;
  }
}

}  // namespace

function_names::function_names(Dwfl_Module* module) : module_(module) {
  const int count = dwfl_module_getsymtab(module);
  for (int i = 1; i < count; ++i) {
    GElf_Sym symbol;
    GElf_Addr address = 0;
    GElf_Word section = SHN_UNDEF;
    const char* name =
        dwfl_module_getsym_info(module, i, &symbol, &address, &section, nullptr, nullptr);
    if (name == nullptr || *name == 0 || !is_of_code(symbol, section)) continue;
    (symbol.st_size != 0 ? sized_ : labels_)
        .push_back({address, address + symbol.st_size, name, section, rank_of(symbol)});
  }
  const auto before = [](const symbol& a, const symbol& b) {
    // Of equal rank the shorter one, and of two alike the first of the module's, precedes.
    return std::tie(a.begin, a.rank, b.end) < std::tie(b.begin, b.rank, a.end);
  };
  for (std::vector<symbol>* all : {&sized_, &labels_}) {
    std::reverse(all->begin(), all->end());
    std::stable_sort(all->begin(), all->end(), before);
  }
  for (const symbol& each : sized_)
    reach_.push_back(std::max(reach_.empty() ? 0 : reach_.back(), each.end));
}

bool function_names::is_in_section(std::uint64_t address, unsigned section) const {
  Dwarf_Addr inside = address, bias = 0;
  Elf_Scn* const found = dwfl_module_address_section(module_, &inside, &bias);
  return found != nullptr && elf_ndxscn(found) == section;
}

function_names::found function_names::at(std::uint64_t address) const {
  const auto last_before = [&](const std::vector<symbol>& all) {
    return static_cast<std::size_t>(
        std::upper_bound(all.begin(), all.end(), address,
                         [](std::uint64_t a, const symbol& s) { return a < s.begin; }) -
        all.begin());
  };
  const std::size_t candidates = last_before(sized_);
  for (std::size_t i = candidates; i-- != 0 && reach_[i] > address;)
    if (sized_[i].end > address) return {sized_[i].name, true};
  const std::size_t labels = last_before(labels_);
  if (labels == 0) return {};
  const symbol& label = labels_[labels - 1];
  const bool is_after_all = candidates == 0 || reach_[candidates - 1] <= label.begin;
  if (!is_after_all || !is_in_section(address, label.section)) return {};
  return {label.name, false};
}

}  // namespace syncopate::record::kernel
