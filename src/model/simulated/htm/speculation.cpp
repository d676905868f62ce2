// speculation.cpp -- marks of transactions on lines.
//
// A mark lives in the L1's tag. When the line leaves L1 the mark moves to the core's spilled table
// (Haswell's second structure, zEC12's LRU extension vector) and back with the line; while a group
// has a spilled mark the directory keeps it as a sharer, so that writes are still told to it.
#include "model/simulated/memory/memory_system.h"

namespace syncopate::simulated {

namespace {

constexpr tag mark_of(unsigned sibling, use what) {
  return tag{1} << ((what == use::read ? tags::read_marks : tags::written_marks) + sibling);
}

}  // namespace

bool memory_system::mark(unsigned processor, line what, use how) {
  port& by = ports_[processor];
  tag* entry = cores_[by.core].l1.find(what);
  const tag bit = mark_of(by.sibling, how);
  if (!entry || (*entry & bit)) return false;
  *entry |= bit;
  by.marks.push_back(what);
  return true;
}

bool memory_system::marked(unsigned processor, line what, use how) const {
  const port& by = ports_[processor];
  const tag bit = mark_of(by.sibling, how);
  if (const tag* entry = cores_[by.core].l1.find(what)) return (*entry & bit) != 0;
  const std::uint16_t* spilled = cores_[by.core].spilled.find(what);
  return spilled && (*spilled & bit);
}

void memory_system::end_speculation(unsigned processor, outcome how) {
  port& by = ports_[processor];
  cache& l1 = cores_[by.core].l1;
  const tag written = mark_of(by.sibling, use::write);
  for (const line what : by.marks) {
    if (tag* entry = l1.find(what)) {
      const bool needed = by.core == accessing_core_ && what == accessed_;  // by a sibling
      const bool drop = how == outcome::aborted && (*entry & written) && !needed;
      *entry &= ~(written | mark_of(by.sibling, use::read));
      if (drop) {
        *l2s_[group_of(by.core)].find(what) &= ~copy_bit(by.core);
        l1.erase(entry);
      }
    } else {
      unspill(by.core, by.sibling, what);
    }
  }
  by.marks.clear();
}

// The line leaves L1 for want of room.
void memory_system::spill_marks(unsigned core, tag victim) {
  tag marks = victim & tags::all_marks;
  if (marks == 0) return;
  const line what = tags::line_of(victim);
  if (machine_.htm.write_in_l1) {
    for (unsigned sibling = 0; sibling < machine_.topology.smt; ++sibling) {
      if (!(marks & mark_of(sibling, use::write))) continue;
      marks &= ~mark_of(sibling, use::write);
      const unsigned processor = core + sibling * machine_.topology.cores;
      report({event::kind::overflow, use::write, 0, processor, what, 0});
    }
  }
  if (marks == 0) return;
  auto& spilled = cores_[core].spilled;
  spilled_lines_ += spilled.find(what) == nullptr;
  spilled[what] |= static_cast<std::uint16_t>(marks);
}

// Removes a sibling's spilled marks, and the group from the sharers if that was all it had.
void memory_system::unspill(unsigned core, unsigned sibling, line what) {
  std::uint16_t* marks = cores_[core].spilled.find(what);
  if (!marks) return;
  *marks &=
      static_cast<std::uint16_t>(~(mark_of(sibling, use::read) | mark_of(sibling, use::write)));
  if (*marks) return;
  cores_[core].spilled.erase(what);
  --spilled_lines_;
  const group own = group_of(core);
  if (l2s_[own].find(what) || group_has_spilled(own, what)) return;
  directory_.sharers(*directory_.find(what)).remove(own);
}

bool memory_system::group_has_spilled(group own, line what) {
  if (spilled_lines_ == 0) return false;
  for (unsigned i = 0; i < machine_.l2.shared_by; ++i)
    if (cores_[own * machine_.l2.shared_by + i].spilled.find(what)) return true;
  return false;
}

bool memory_system::another_has_spilled(unsigned core, line what) {
  const unsigned first = group_of(core) * machine_.l2.shared_by;
  for (unsigned i = 0; i < machine_.l2.shared_by; ++i)
    if (first + i != core && cores_[first + i].spilled.find(what)) return true;
  return false;
}

// Somebody reads or writes a line with these marks of the core's siblings.
void memory_system::report_conflicts(unsigned core, line what, tag marks, use how, unsigned by) {
  if (marks == 0) return;
  for (unsigned sibling = 0; sibling < machine_.topology.smt; ++sibling) {
    const unsigned processor = core + sibling * machine_.topology.cores;
    if (processor == by) continue;
    if (marks & mark_of(sibling, use::write))
      report({event::kind::conflict, use::write, 0, processor, what, by});
    else if (how != use::read && (marks & mark_of(sibling, use::read)))
      report({event::kind::conflict, use::read, 0, processor, what, by});
  }
}

void memory_system::find_spilled_conflicts(unsigned core, line what, use how, unsigned by) {
  if (const std::uint16_t* marks = cores_[core].spilled.find(what))
    report_conflicts(core, what, *marks, how, by);
}

}  // namespace syncopate::simulated
