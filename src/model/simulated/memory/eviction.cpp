// eviction.cpp -- lines that enter a cache, and those that leave it to make room.
#include "memory_system.h"

namespace syncopate::simulated {

// below: the line in the L2. entry: a shared copy that the L1 may have already. Returns: the line
// in the L1.
tag* memory_system::fill_l1(port& by, line what, tag* entry, bool to_write, tag& below) {
  core_state& core = cores_[by.core];
  const bool only_copy = (below & tags::all_l1_copies & ~copy_bit(by.core)) == 0;
  // A reader must ask again before it writes what another core's transaction still watches.
  const bool watched = !to_write && spilled_lines_ != 0 && another_has_spilled(by.core, what);
  const tag permission = only_copy && !watched ? below & tags::exclusive : 0;
  below |= copy_bit(by.core);
  if (entry) {
    *entry |= permission;
    return entry;
  }
  tag made = tags::make(what, permission);
  if (spilled_lines_ != 0) [[unlikely]] {
    if (const std::uint16_t* marks = core.spilled.find(what)) {
      made |= *marks;
      core.spilled.erase(what);
      --spilled_lines_;
    }
  }
  if (const tag victim = core.l1.insert(made)) leave_l1(by.core, victim);
  return core.l1.set_of(what);
}

// The L2 includes its L1s; it learns there what was written.
void memory_system::leave_l1(unsigned core, tag victim) {
  const line what = tags::line_of(victim);
  tag& below = *l2s_[group_of(core)].find(what);
  below &= ~copy_bit(core);
  below |= victim & tags::dirty;
  spill_marks(core, victim);
  report_move({event::kind::evicted, use::read, 1, core, what, 0});
}

tag& memory_system::fill_l2(group own, tag entry) {
  cache& l2 = l2s_[own];
  if (const tag victim = l2.insert(entry)) leave_l2(own, victim);
  return *l2.set_of(tags::line_of(entry));
}

void memory_system::leave_l2(group own, tag victim) {
  const line what = tags::line_of(victim);
  tag dirty = victim & tags::dirty;
  for (unsigned i = 0; i < machine_.l2.shared_by; ++i) {
    const unsigned core = own * machine_.l2.shared_by + i;
    const bool in_l1 = (victim & copy_bit(core)) != 0;
    if (in_l1) {
      tag* copy = cores_[core].l1.find(what);
      dirty |= *copy & tags::dirty;
      spill_marks(core, *copy);
      cores_[core].l1.erase(copy);
    }
    if (in_l1 || machine_.l2.shared_by == 1)
      report_move({event::kind::evicted, use::read, 2, core, what, 0});
  }
  line_record& record = *directory_.find(what);
  if (!group_has_spilled(own, what)) directory_.sharers(record).remove(own);
  if (record.owner == own) record.owner = nobody;
  fill_llc(distances_.llc_of(own), record, what, dirty);
}

void memory_system::fill_llc(unsigned llc, line_record& record, line what, tag dirty) {
  const std::uint64_t bit = std::uint64_t{1} << llc;
  const tag entry = tags::make(what, dirty);
  if (tag* present = llcs_[llc].touch(what)) {
    // A stale tag's flags mean nothing.
    *present = entry | (record.llc & bit ? *present & tags::dirty : 0);
  } else if (const tag victim = llcs_[llc].insert(entry)) {
    leave_llc(llc, victim);
  }
  record.llc |= bit;
}

void memory_system::leave_llc(unsigned llc, tag victim) {
  line_record& record = *directory_.find(tags::line_of(victim));
  const std::uint64_t bit = std::uint64_t{1} << llc;
  if (!(record.llc & bit)) return;  // stale
  record.llc &= ~bit;
  if (victim & tags::dirty) channels_[record.node].enter(now_);
}

void memory_system::drop_private_lines(unsigned core) {
  cache& l1 = cores_[core].l1;
  std::vector<tag> all;
  for (std::uint64_t i = 0; i < l1.entries(); ++i)
    if (l1.at(i)) all.push_back(l1.at(i));
  for (const tag entry : all) {
    leave_l1(core, entry);
    l1.erase(l1.find(tags::line_of(entry)));
  }
  if (machine_.l2.shared_by == 1) {
    cache& l2 = l2s_[core];
    all.clear();
    for (std::uint64_t i = 0; i < l2.entries(); ++i)
      if (l2.at(i)) all.push_back(l2.at(i));
    for (const tag entry : all) {
      leave_l2(core, entry);
      l2.erase(l2.find(tags::line_of(entry)));
    }
  }
  if (!events_.empty()) deliver_events(~0u, 0);
}

}  // namespace syncopate::simulated
