// coherence.cpp -- requests that an L1 cannot serve: its L2, and the directory behind it.
#include "memory_system.h"

#include <algorithm>
#include <bit>

namespace syncopate::simulated {

// The L2 has the line with the permission asked for; other cores of the group may have copies.
cycles memory_system::serve_from_l2(const request& wanted, tag& below, cycles now) {
  port& by = wanted.by;
  ++by.totals.l2_hits;
  const cycles latency = machine_.l2.latency;
  if (machine_.l2.shared_by == 1) return now + latency;

  const unsigned copies = settle_with_group(wanted, &below);
  if (copies == 0) return now + latency;
  line_record& record = *directory_.find(wanted.what);
  const cycles start = wait_for(wanted, record, now);
  record.busy_until =
      start + (wanted.exclusive() ? latency + wanted.lock : machine_.coherence.occupancy);
  count(wanted, record, {true, wanted.exclusive() ? copies : 0}, start - now);
  return start + latency;
}

// The L1s of the group's other cores: a writer takes their copies, a reader the permission to
// write. below: the line in the group's L2, if it is there. Returns: how many changed.
unsigned memory_system::settle_with_group(const request& wanted, tag* below) {
  // Nobody's L1 may write what the L2 may not.
  const tag others = below ? *below & tags::all_l1_copies & ~copy_bit(wanted.by.core) : 0;
  const bool disturbed = others != 0 && (wanted.exclusive() || (*below & tags::exclusive));
  if (!disturbed && spilled_lines_ == 0) [[likely]]
    return 0;

  unsigned changed = 0;
  const group own = group_of(wanted.by.core);
  for (unsigned i = 0; i < machine_.l2.shared_by; ++i) {
    const unsigned core = own * machine_.l2.shared_by + i;
    if (core == wanted.by.core) continue;
    report_spilled_conflicts(core, wanted.what, wanted.how, wanted.by.number);
    if (!below || !(*below & copy_bit(core))) continue;
    const tag* copy = cores_[core].l1.find(wanted.what);
    if (!wanted.exclusive() && !(*copy & tags::exclusive)) continue;
    ++changed;
    if (wanted.exclusive()) {
      take_from_l1(core, wanted.what, wanted.by.number);
      *below &= ~copy_bit(core);
    } else {
      downgrade_in_l1(core, wanted.what, wanted.by.number);
    }
  }
  return changed;
}

cycles memory_system::wait_for(const request& wanted, const line_record& record, cycles now) {
  cycles free = record.busy_until;
  if (lines_are_held_) free = free_for(wanted, record);
  const cycles start = std::max(now, free);
  wanted.by.totals.waited += start - now;
  return start;
}

// below: not null if the group has a shared copy and wants to write.
memory_system::served memory_system::serve_from_directory(const request& wanted, tag* below,
                                                          cycles now) {
  const group own = group_of(wanted.by.core);
  line_record& record = directory_.at(wanted.what, distances_.node_of(own));
  const cycles start = wait_for(wanted, record, now);
  const way_behind before = lines_are_held_ ? end_turn(wanted) : way_behind{};
  incident happened;
  cycles latency = supply(wanted, record, below != nullptr, start, happened);
  if (wanted.exclusive()) {
    if (machine_.l2.shared_by > 1) happened.invalidated += settle_with_group(wanted, below);
    latency = invalidate_others(wanted, record, below != nullptr, latency, happened);
    latency -= std::min(latency, before.way);
    record.busy_until = start + latency + wanted.lock;
  } else {
    latency -= std::min(latency, before.way);
    const bool migrating = migrates(wanted, record);
    if (migrating) happened.invalidated += take_from_owner(wanted, record);
    else if (record.owner != nobody) downgrade_owner(wanted.what, record, wanted.by.number);
    else if (machine_.htm.present && !machine_.htm.write_in_l1)
      report_written_elsewhere(wanted, record);
    if (machine_.l2.shared_by > 1) settle_with_group(wanted, below);
    record.busy_until = start + (migrating ? latency : machine_.coherence.occupancy);
  }
  count(wanted, record, happened, start - now + before.queued);
  return {start + latency, &grant(wanted, record, below)};
}

// Where the data comes from, and how long that takes.
cycles memory_system::supply(const request& wanted, line_record& record, bool held, cycles start,
                             incident& happened) {
  access_totals& totals = wanted.by.totals;
  const group own = group_of(wanted.by.core);
  const auto transferred = [&](const route& from) {
    ++totals.transfers[static_cast<unsigned>(from.far)];
    happened.transferred = true;
    return from.latency;
  };
  if (held) {
    ++totals.upgrades;
    return machine_.llc.latency;
  }
  if (record.owner != nobody) return transferred(distances_.between(record.owner, own));
  if (record.llc >> distances_.llc_of(own) & 1) {
    ++totals.llc_hits;
    llcs_[distances_.llc_of(own)].touch(wanted.what);
    return machine_.llc.latency;
  }
  const group_set sharers = directory_.sharers(record);
  const bool shared =
      sharers.any_in(0, own) || sharers.any_in(own + 1, static_cast<group>(l2s_.size()));
  if (shared || record.llc) {
    const route from_core = shared ? distances_.nearest(sharers, own) : route{~cycles{0}};
    const route from_llc = distances_.nearest_llc(record.llc, own);
    return transferred(from_core.latency <= from_llc.latency ? from_core : from_llc);
  }
  ++(record.node == distances_.node_of(own) ? totals.dram_local : totals.dram_remote);
  const cycles leaves = channels_[record.node].enter(start);
  return leaves - start + distances_.dram(record.node, own);
}

// Takes the line from everybody else. Returns: the request's latency, given the data's: the
// farthest copy's confirmation, if that takes longer, and each copy's share. Where the directory
// does not know who shares a line, that of the farthest core, whoever has copies.
cycles memory_system::invalidate_others(const request& wanted, line_record& record, bool held,
                                        cycles supplied, incident& happened) {
  const group own = group_of(wanted.by.core);
  const group supplier = record.owner;
  cycles latency = supplied;
  unsigned others = 0;
  const group_set sharers = directory_.sharers(record);
  sharers.for_each([&](group sharer) {
    if (sharer == own) return;
    happened.invalidated += take_from_group(sharer, wanted.what, wanted.by.number);
    ++wanted.by.totals.invalidations_sent;
    group_set(sharers).remove(sharer);
    if (sharer == supplier) return;  // it answers with the data
    ++others;
    latency = std::max(latency, distances_.between(sharer, own).latency);
  });
  if (machine_.coherence.broadcast && supplier == nobody && (held || others != 0))
    return std::max(latency, distances_.farthest(own));
  return latency + cycles{others} * machine_.coherence.invalidate_per_sharer;
}

// Returns: the copies that cores lost.
unsigned memory_system::take_from_group(group whose, line what, unsigned by) {
  cache& l2 = l2s_[whose];
  const unsigned cores = machine_.l2.shared_by;
  tag* entry = l2.find(what);
  const tag having = entry ? (*entry & tags::all_l1_copies) >> tags::l1_copies : 0;
  // Without spilled marks only those that have a copy are concerned.
  tag concerned = spilled_lines_ == 0 && cores > 1 ? having : (tag{1} << cores) - 1;
  unsigned copies = 0;
  for (; concerned != 0; concerned &= concerned - 1) {
    const auto i = static_cast<unsigned>(std::countr_zero(concerned));
    const unsigned core = whose * cores + i;
    report_spilled_conflicts(core, what, use::write, by);
    if (having >> i & 1) {
      take_from_l1(core, what, by);
      ++copies;
    } else if (entry && cores == 1) {
      report_move({event::kind::invalidated, use::read, 0, core, what, by});
      ++copies;
    }
  }
  if (entry) l2.erase(entry);
  return copies;
}

void memory_system::take_from_l1(unsigned core, line what, unsigned by) {
  tag* copy = cores_[core].l1.find(what);
  report_conflicts(core, what, *copy & tags::all_marks, use::write, by);
  cores_[core].l1.erase(copy);
  report_move({event::kind::invalidated, use::read, 0, core, what, by});
}

void memory_system::downgrade_in_l1(unsigned core, line what, unsigned by) {
  tag* copy = cores_[core].l1.find(what);
  report_conflicts(core, what, *copy & tags::all_marks, use::read, by);
  if (*copy & tags::dirty) *l2s_[group_of(core)].find(what) |= tags::dirty;
  *copy &= ~(tags::exclusive | tags::dirty);
  report_move({event::kind::downgraded, use::read, 0, core, what, by});
}

// Whether a read takes the line away, with the permission to write: processors that expect the
// reader of what another core has modified to modify it next. A transaction's lines stay with it.
bool memory_system::migrates(const request& wanted, const line_record& record) {
  if (!machine_.coherence.migratory || record.owner == nobody) return false;
  tag found = *l2s_[record.owner].find(wanted.what) & tags::dirty;
  for (unsigned i = 0; i < machine_.l2.shared_by; ++i) {
    const unsigned core = record.owner * machine_.l2.shared_by + i;
    if (const tag* copy = cores_[core].l1.find(wanted.what))
      found |= *copy & (tags::dirty | tags::all_marks);
  }
  return found == tags::dirty && !group_has_spilled(record.owner, wanted.what);
}

// The reader's LLC keeps what the owner has modified, so that the line arrives unmodified.
// Returns: the copies that cores lost.
unsigned memory_system::take_from_owner(const request& wanted, line_record& record) {
  const group owner = record.owner;
  fill_llc(distances_.llc_of(group_of(wanted.by.core)), record, wanted.what, tags::dirty);
  record.owner = nobody;
  group_set(directory_.sharers(record)).remove(owner);
  return take_from_group(owner, wanted.what, wanted.by.number);
}

void memory_system::downgrade_owner(line what, line_record& record, unsigned by) {
  const group owner = record.owner;
  tag* entry = l2s_[owner].find(what);
  for (unsigned i = 0; i < machine_.l2.shared_by; ++i) {
    const unsigned core = owner * machine_.l2.shared_by + i;
    report_spilled_conflicts(core, what, use::read, by);
    const tag* copy = cores_[core].l1.find(what);
    if (copy && (*copy & tags::exclusive)) downgrade_in_l1(core, what, by);
    else if (!copy && machine_.l2.shared_by == 1)
      report_move({event::kind::downgraded, use::read, 0, core, what, by});
  }
  *entry &= ~tags::exclusive;
  record.owner = nobody;
  if (machine_.coherence.owned) return;  // it stays modified there
  fill_llc(distances_.llc_of(owner), record, what, *entry & tags::dirty);
  *entry &= ~tags::dirty;
}

// A reader of a line that a transaction wrote and that left the caches since, where the machine
// keeps such lines aside.
void memory_system::report_written_elsewhere(const request& wanted, line_record& record) {
  const group own = group_of(wanted.by.core);
  directory_.sharers(record).for_each([&](group sharer) {
    for (unsigned i = 0; sharer != own && i < machine_.l2.shared_by; ++i)
      report_spilled_conflicts(sharer * machine_.l2.shared_by + i, wanted.what, use::read,
                               wanted.by.number);
  });
}

// Returns: the line in the group's L2.
tag& memory_system::grant(const request& wanted, line_record& record, tag* below) {
  const group own = group_of(wanted.by.core);
  const unsigned llc = distances_.llc_of(own);
  group_set sharers = directory_.sharers(record);
  sharers.remove(own);
  const bool alone = wanted.exclusive() || !sharers.any_in(0, static_cast<group>(l2s_.size()));
  sharers.add(own);
  if (alone) {
    record.owner = own;
    record.llc &= std::uint64_t{1} << llc;  // the owner's contents may soon differ
  }
  if (wanted.exclusive()) record.llc = 0;
  else if (!machine_.coherence.owned) fill_llc(llc, record, wanted.what, 0);
  if (!below) return fill_l2(own, tags::make(wanted.what, alone ? tags::exclusive : 0));
  *below |= tags::exclusive;
  return *below;
}

// Lines get statistics with the first transfer or invalidation.
void memory_system::count(const request& wanted, line_record& record, const incident& happened,
                          cycles waited) {
  if (record.statistics == 0) {
    if (!happened.transferred && happened.invalidated == 0) return;
    lines_.push_back({wanted.what});
    record.statistics = static_cast<std::uint32_t>(lines_.size());
  }
  line_statistics& counts = lines_[record.statistics - 1];
  ++counts.misses;
  counts.transfers += happened.transferred;
  counts.invalidations += happened.invalidated;
  counts.waited += waited;
}

}  // namespace syncopate::simulated
