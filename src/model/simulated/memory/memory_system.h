// memory_system.h -- caches, directory, store buffers and memory of the simulated machine.
//
// Two levels of coherence: the directory keeps the L2 groups coherent (MESI; MOESI where
// coherence.owned is set), each L2 the L1s of its cores, which it includes. An LLC is neither
// inclusive nor exclusive: it gets what is read from memory and what L2s drop, or, where owned is
// set, the latter only. A request to the directory waits until the line is free, and keeps it busy:
// a write until the line has arrived, a read for coherence.occupancy. Where lines are migratory, a
// read of a modified one is like a write in that, but nothing is modified.
//
// Not modeled: hardware prefetchers, address translation, finite bandwidth of the interconnect.
//
// Deterministic: results depend on the description and the sequence of calls only. Calls should
// come in about the order of their times; a call in the past of an earlier one is served with the
// state that the earlier one left behind.
#pragma once

#include "cache.h"
#include "memory_statistics.h"
#include "store_buffer.h"

namespace syncopate::simulated {

class memory_system {
 public:
  // Both references must outlive the object.
  memory_system(const description&, memory_listener&);

  // Makes an access of `processor` at time `now`. Returns: when the processor can go on. A plain
  // write goes on when it is in the store buffer (see drained_at); an access to several lines
  // when the last of them is there. Afterwards the core has the (last) line, with permission to
  // write it unless it was a read. core.access_cycles is the caller's business.
  cycles access(unsigned processor, std::uintptr_t at, std::size_t bytes, use what, cycles now);

  // Whether lines take time to change hands (coherence.request, hold): then turn() comes first.
  bool lines_are_held() const { return lines_are_held_; }

  // The processor wants to make this access at `now`, when somebody else may have the line.
  // Returns: when it can take place; until then that core goes on with the line. If that is not
  // `now`, the request is under way, and is to be asked for again at the time returned: it may have
  // to wait longer. Plain writes do not ask: the store buffer waits for them, not the processor.
  cycles turn(unsigned processor, std::uintptr_t at, std::size_t bytes, use what, cycles now);

  // A sequentially consistent fence. Returns: when it is done.
  cycles fence(unsigned processor, cycles now);

  // When all stores of the processor so far are visible to others; may lie in the past.
  cycles drained_at(unsigned processor) const { return ports_[processor].stores.drained_at(); }

  line line_of(std::uintptr_t at) const { return at >> line_shift_; }
  std::uintptr_t address_of(line what) const { return what << line_shift_; }

  // Whether a write of `core` to the line would be told to the listener: it is in its L1, or in an
  // L2 that is the core's own.
  bool holds(unsigned core, line) const;
  // Whether the core can write to the line without asking anybody.
  bool holds_exclusively(unsigned core, line) const;
  bool in_l1(unsigned core, line what) const { return cores_[core].l1.find(what) != nullptr; }

  // Empties the core's L1, and its L2 if that is the core's own, as deep sleep does.
  void drop_private_lines(unsigned core);

  // ---- speculation (speculation.cpp) ----------------------------------------------------------

  // Marks a line that the processor just accessed as read or written in its transaction, until
  // end_speculation(). read then write leaves both marks. Returns: whether the mark is new.
  // Conflicts come to the listener even when the line leaves the caches, but for written lines
  // that overflow. Requires: nothing came between; so an access to several lines is made line by
  // line in a transaction.
  bool mark(unsigned processor, line, use what);
  bool marked(unsigned processor, line, use what) const;

  // Removes the processor's marks. After an abort the lines it wrote leave its L1 (the L2 still
  // has them, with the old contents); lines it read stay, as do all after a commit.
  enum class outcome { committed, aborted };
  void end_speculation(unsigned processor, outcome);

  // ---- statistics -----------------------------------------------------------------------------

  const access_totals& totals(unsigned processor) const { return ports_[processor].totals; }
  access_totals totals() const;
  // Of lines that coherence ever moved or invalidated, in the order of the first time.
  const std::vector<line_statistics>& lines() const { return lines_; }

 private:
  friend class memory_inspector;  // the tests' view of the state

  static constexpr line no_line = ~line{0};
  struct in_flight {
    line what;
    cycles ready;
  };
  struct alignas(64) core_state {
    core_state(const description& machine, unsigned number)
        : own(number / machine.l2.shared_by),
          copy_bit(tag{1} << (tags::l1_copies + number % machine.l2.shared_by)),
          l1(machine.l1) {}
    group own;
    tag copy_bit;  // in the tags of its L2
    cache l1;
    cycles settled = 0;               // when the last line on its way is there
    std::vector<in_flight> arriving;  // lines in L1 whose data is still under way
    flat_map<std::uint16_t> spilled;  // marks of lines that left L1, as in the tag
  };
  // What one processor needs for a hit, together.
  struct alignas(64) port {
    explicit port(const description& machine) : stores(machine.core.store_buffer) {}
    tag* l1 = nullptr;
    // The bits of a tag that decide a hit by use: line, permissions, marks of siblings.
    tag relevant[3] = {};
    cycles quiet_from = 0;  // no store is pending and no line arriving in L1 after this time
    unsigned core = 0;
    unsigned sibling = 0;
    unsigned number = 0;
    access_totals totals;
    line requested = no_line;  // by turn()
    cycles queued = 0;         // how long that request waited for others
    store_buffer stores;
    std::vector<line> marks;  // lines with a mark of this processor; each once per new mark
  };
  struct event {
    enum class kind : unsigned char { invalidated, downgraded, evicted, conflict, overflow };
    kind what;
    use marked;
    int level;
    unsigned whom;  // core or processor
    line where;
    unsigned by;
  };
  struct request {
    port& by;
    line what;
    use how;
    cycles lock;  // how much longer the line stays busy than its way takes

    bool exclusive() const { return how != use::read; }
  };
  struct obtained {
    cycles ready;
    bool hit;
  };
  // A request that the L1 could not serve: when the line is there, and its entry in the group's L2.
  struct served {
    cycles ready;
    tag* below;
  };
  // The last of those who wait for a line: where it is, and when it will give the line away.
  struct last_in_line {
    group which = 0;
    cycles until = 0;
  };
  // What of a request's time lies behind it, when it takes place.
  struct way_behind {
    cycles way = 0;
    cycles queued = 0;
  };
  // What happened to a line at the directory, for its statistics.
  struct incident {
    bool transferred = false;
    unsigned invalidated = 0;
  };

  // memory_system.cpp: an access
  cycles access_slow(port&, std::uintptr_t at, std::size_t bytes, use, cycles now);
  cycles access_line(port&, std::uintptr_t at, std::size_t bytes, use, cycles now);
  cycles read_line(port&, std::uintptr_t at, std::size_t bytes, cycles now);
  cycles write_line(port&, std::uintptr_t at, std::size_t bytes, cycles now);
  cycles modify_line(port&, std::uintptr_t at, cycles now);
  obtained obtain(const request&, cycles now);
  cycles arrival(const core_state&, line, cycles now) const;
  void note_arrival(port&, line, cycles ready, cycles now);
  void update_quiet_from(unsigned core);
  void deliver_events(unsigned core, line accessed);

  // coherence.cpp: what happens outside of the L1 that missed
  cycles serve_from_l2(const request&, tag& below, cycles now);
  served serve_from_directory(const request&, tag* below, cycles now);
  cycles supply(const request&, line_record&, bool held, cycles start, incident&);
  cycles invalidate_others(const request&, line_record&, bool held, cycles supplied, incident&);
  unsigned settle_with_group(const request&, tag* below);
  bool migrates(const request&, const line_record&);
  unsigned take_from_owner(const request&, line_record&);
  void downgrade_owner(line, line_record&, unsigned by);
  void report_written_elsewhere(const request&, line_record&);
  tag& grant(const request&, line_record&, tag* below);
  unsigned take_from_group(group, line, unsigned by);
  void take_from_l1(unsigned core, line, unsigned by);
  void downgrade_in_l1(unsigned core, line, unsigned by);
  cycles wait_for(const request&, const line_record&, cycles now);
  void count(const request&, line_record&, const incident&, cycles waited);

  // turns.cpp: when lines change hands
  bool somebody_loses(const request&, line_record&) const;
  cycles released_at(const line_record&) const;
  cycles join_queue(const request&, const line_record&, cycles now);
  cycles free_for(const request&, const line_record&) const;
  way_behind end_turn(const request&);

  // eviction.cpp: what has to make room
  tag* fill_l1(port&, line, tag* entry, bool to_write, tag& below);
  tag& fill_l2(group, tag entry);
  void fill_llc(unsigned llc, line_record&, line, tag dirty);
  void leave_l1(unsigned core, tag victim);
  void leave_l2(group, tag victim);
  void leave_llc(unsigned llc, tag victim);

  // speculation.cpp
  void spill_marks(unsigned core, tag victim);
  void report_conflicts(unsigned core, line, tag marks, use how, unsigned by);
  void find_spilled_conflicts(unsigned core, line, use how, unsigned by);
  void unspill(unsigned core, unsigned sibling, line);
  bool group_has_spilled(group, line);
  bool another_has_spilled(unsigned core, line);  // of the core's group

  void report(event what) { events_.push_back(what); }
  // A move is told to a listener that asks for moves.
  void report_move(event what) {
    if (tells_moves_) events_.push_back(what);
  }
  void report_spilled_conflicts(unsigned core, line what, use how, unsigned by) {
    if (spilled_lines_ != 0) [[unlikely]]
      find_spilled_conflicts(core, what, how, by);
  }
  group group_of(unsigned core) const { return cores_[core].own; }
  tag copy_bit(unsigned core) const { return cores_[core].copy_bit; }

  const description& machine_;
  memory_listener& listener_;
  const bool tells_moves_;
  const bool lines_are_held_;
  interconnect distances_;
  directory directory_;
  unsigned line_shift_;
  std::uintptr_t line_mask_;
  line l1_set_mask_;
  unsigned l1_ways_;
  cycles hit_cycles_[3];
  std::vector<port> ports_;
  std::vector<core_state> cores_;
  std::vector<cache> l2s_;
  std::vector<cache> llcs_;
  std::vector<dram_channel> channels_;
  flat_map<last_in_line> queues_;  // of lines that were ever waited for in turn()
  std::vector<event> events_;
  std::size_t spilled_lines_ = 0;  // of all cores
  unsigned accessing_core_ = ~0u;  // while events are told
  line accessed_ = 0;
  std::vector<line_statistics> lines_;
  cycles now_ = 0;  // of the access under way, for write-backs, which have no time of their own
};

inline cycles memory_system::access(unsigned processor, std::uintptr_t at, std::size_t bytes,
                                    use what, cycles now) {
  static constexpr tag wanted[] = {tags::valid, tags::valid | tags::exclusive,
                                   tags::valid | tags::exclusive};
  static constexpr tag becomes[] = {0, tags::dirty, tags::dirty};
  port& by = ports_[processor];
  const line which = at >> line_shift_;
  const auto how = static_cast<unsigned>(what);
  tag& first = by.l1[(which & l1_set_mask_) * l1_ways_];
  if ((first & by.relevant[how]) == (which << tags::flag_bits | wanted[how]) &&
      (at & line_mask_) + bytes <= line_mask_ + 1 && now >= by.quiet_from) [[likely]] {
    ++by.totals.accesses;
    first |= becomes[how];
    return now + hit_cycles_[how];
  }
  return access_slow(by, at, bytes, what, now);
}

}  // namespace syncopate::simulated
