// memory.cpp -- see memory.h.
#include "memory.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

namespace syncopate::explored {

namespace {
constexpr std::size_t block_bytes = std::size_t{1} << 20;
}  // namespace

memory::memory() : slots_(1024) {
  messages_.reserve(4096);
  locations_.emplace_back();
  next_.push_back(none);
  messages_.push_back({});
}

void memory::reset(bool s_by_graph) {
  s_by_graph_ = s_by_graph;
  ++execution_;
  used_ = 1;
  slots_used_ = 0;
  filter_.fill(0);
  messages_.resize(1);
  block_ = block_used_ = 0;
  in_transaction_ = false;
  last_commit_ = nullptr;
}

std::byte* memory::take(std::size_t bytes) {
  bytes = (bytes + 15) & ~std::size_t{15};
  if (block_ < blocks_.size() && block_used_ + bytes > block_bytes) {
    ++block_;
    block_used_ = 0;
  }
  if (block_ == blocks_.size()) blocks_.push_back(std::make_unique<std::byte[]>(block_bytes));
  std::byte* const result = blocks_[block_].get() + block_used_;
  block_used_ += bytes;
  return result;
}

// ---- locations --------------------------------------------------------------------------------

memory::slot& memory::slot_of(address granule) {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t i = (granule * 0x9e3779b97f4a7c15u) >> 32;; ++i) {
    slot& s = slots_[i & mask];
    if (s.execution != execution_ || s.granule == granule) return s;
  }
}

void memory::grow_slots() {
  std::vector<slot> old(slots_.size() * 2);
  old.swap(slots_);
  for (const slot& s : old)
    if (s.execution == execution_) slot_of(s.granule) = s;
}

// Whether one of these locations, from the first on, is in use and has some of the bytes.
bool memory::is_overlapped(location_id first, address at, unsigned bytes) const noexcept {
  for (location_id id = first; id != none; id = next_[id])
    if (const location& l = locations_[id]; !l.fresh && l.at < at + bytes && at < l.at + l.bytes)
      return true;
  return false;
}

location_id memory::find(address at, unsigned bytes) {
  slot* s = &slot_of(at >> granule_bits);
  if (s->execution != execution_) {
    if (++slots_used_ * 2 > slots_.size()) {
      grow_slots();
      s = &slot_of(at >> granule_bits);
    }
    *s = {at >> granule_bits, execution_, none};
    const unsigned bit = filter_bit(at >> granule_bits);
    filter_[bit / 64] |= std::uint64_t{1} << bit % 64;
  }
  bool overlaps = false;
  for (location_id id = s->first; id != none; id = next_[id]) {
    const location& l = locations_[id];
    if (l.at == at && l.bytes == bytes) {
      // (What begins anew may have been something else in between. Else nothing else is there.)
      if (overlaps || (l.fresh && is_overlapped(next_[id], at, bytes))) return none;
      refresh(id);
      return id;
    }
    overlaps |= !l.fresh && l.at < at + bytes && at < l.at + l.bytes;
  }
  if (overlaps) return none;
  const auto id = static_cast<location_id>(used_++);
  if (id == locations_.size()) {
    locations_.emplace_back();
    next_.push_back(none);
  }
  location& l = locations_[id];
  l.at = at;
  l.bytes = static_cast<std::uint8_t>(bytes);
  l.fresh = true;
  l.has_own_sequences = false;
  l.first_position = 0;
  l.order.clear();
  l.readings.clear();
  l.transactions.clear();
  l.transaction_step.fill(0);
  l.sc_floor = 0;
  l.sc_moves.clear();
  l.sc_step.fill(0);
  l.sc_change_step.fill(0);
  l.write_step.fill(0);
  next_[id] = s->first;
  s->first = id;
  refresh(id);
  return id;
}

bool memory::overwrite_locations(address at, std::size_t bytes) {
  if (used_ == 1 || bytes == 0) return false;
  const address first = at >> granule_bits, last = (at + bytes - 1) >> granule_bits;
  bool any = false;
  const auto renew = [&](location_id id) {
    location& l = locations_[id];
    if (l.at >= at + bytes || at >= l.at + l.bytes) return;
    any = true;
    const auto is_kept = [id](const kept_location& k) { return k.id == id; };
    if (in_transaction_ && std::none_of(kept_.begin(), kept_.end(), is_kept))
      kept_.push_back({id, l});
    l.fresh = true;
  };
  if (last - first > used_) {
    for (location_id id = 1; id < used_; ++id) renew(id);
    return any;
  }
  for (address granule = first; granule <= last; ++granule) {
    const slot& s = slot_of(granule);
    if (s.execution != execution_) continue;
    for (location_id id = s.first; id != none; id = next_[id]) renew(id);
  }
  return any;
}

void memory::refresh(location_id id) {
  location& l = locations_[id];
  const word now = peek(l.at, l.bytes);
  if (!l.fresh && messages_[l.order.back()].value == now) return;
  l.fresh = false;
  l.first_position += static_cast<std::uint32_t>(l.order.size()) + 1;
  l.order.assign(1, static_cast<message_id>(messages_.size()));
  l.readings.clear();
  l.transactions.clear();
  messages_.push_back({now, id, l.first_position, 0, 0, false, nullptr, 0});
}

word memory::peek(address at, unsigned bytes) noexcept {
  word value = 0;
  std::memcpy(&value, reinterpret_cast<const void*>(at), bytes);  // little-endian
  return value;
}

void memory::poke(address at, unsigned bytes, word value) noexcept {
  std::memcpy(reinterpret_cast<void*>(at), &value, bytes);
}

// ---- threads ----------------------------------------------------------------------------------

void memory::begin_thread(thread_index t, const thread* parent, thread_index parent_index) {
  thread& me = threads_[t];
  if (parent != nullptr) {
    me.happened = parent->happened;
    me.newest = parent->newest;
    me.time = parent->time;
    tick(parent_index);
  } else {
    me.happened = {};
    me.newest.clear();
    me.time = 0;
  }
  me.happened.at[t] = 1;
  me.has_acquirable = false;
  me.acquirable = {};
  me.acquirable_newest.clear();
  me.fenced = nullptr;
}

message_id memory::seen(const thread& t, location_id id) const noexcept {
  return id < t.newest.size() ? t.newest[id] : 0;
}

void memory::join(std::vector<message_id>& newest, const message_id* other,
                  std::size_t size) const {
  if (newest.size() < size) newest.resize(size, 0);
  for (std::size_t i = 0; i < size; ++i)
    if (other[i] != 0) raise(newest[i], other[i]);
}

const frozen_view* memory::freeze(const clock& happened, const std::vector<message_id>& newest) {
  const std::size_t bytes = newest.size() * sizeof(message_id);
  auto* const ids = reinterpret_cast<message_id*>(take(bytes));
  if (bytes != 0) std::memcpy(ids, newest.data(), bytes);
  return new (take(sizeof(frozen_view)))
      frozen_view{happened, static_cast<std::uint32_t>(newest.size()), ids};
}

// ---- accesses ---------------------------------------------------------------------------------

std::size_t memory::reach(const location& l, message_id floor) const noexcept {
  const std::uint32_t at = position(floor);
  return at <= l.first_position ? l.order.size() : l.order.size() - (at - l.first_position);
}

choices memory::readable(thread_index t, location_id id, bool seq_cst) {
  const location& l = locations_[id];
  std::size_t many = reach(l, seen(threads_[t], id));
  if (seq_cst && !s_by_graph_) many = std::min(many, reach(l, l.sc_floor));
  if (many > max_choices) {
    many = max_choices;
    note_too_many();
  }
  return (choices{1} << many) - 1;
}

choices memory::writable(thread_index t, location_id id, bool seq_cst) {
  const location& l = locations_[id];
  choices result = readable(t, id, seq_cst);
  // Directly behind choice c, and so in front of choice c - 1.
  for (choice c = 1; c < max_choices && result >> c != 0; ++c)
    if (messages_[named(l, c - 1)].by_rmw) result &= ~(choices{1} << c);
  return result;
}

bool memory::unclaimed(const location& l, choice c) const noexcept {
  return c == 0 || !messages_[named(l, c - 1)].by_rmw;
}

choices memory::newer(const location& l, choices all, message_id since) const noexcept {
  choices result = 0;
  for (choice c = 0; c < l.order.size() && all >> c != 0; ++c) {
    const message_id m = named(l, c);
    const bool is_new = (m > since && messages_[m].step != 0) || messages_[m].changed > since;
    if ((all >> c & 1) != 0 && is_new) result |= choices{1} << c;
  }
  return result;
}

// Whether who acquires `more` knows all that `less` would tell.
bool memory::within(const frozen_view* less, const frozen_view* more) const noexcept {
  if (less == nullptr || less == more) return true;
  if (more == nullptr || !more->happened.includes(less->happened)) return false;
  for (std::uint32_t i = 0; i < less->size; ++i)
    if (position(less->newest[i]) > (i < more->size ? position(more->newest[i]) : 0)) return false;
  return true;
}

bool memory::stands_for(message_id older, message_id newer, std::uint64_t time,
                        bool by_value) const noexcept {
  const message &o = messages_[older], &n = messages_[newer];
  if (s_by_graph_) return false;  // more has to follow who reads the older one in S
  return (!by_value || o.value == n.value) && n.time <= std::max(time, o.time) &&
         within(o.released, n.released);
}

choices memory::distinct(thread_index t, const location& l, choices all,
                         bool by_value) const noexcept {
  choices result = all;
  for (choices rest = all; rest != 0; rest &= rest - 1) {
    const auto newer = static_cast<choice>(std::countr_zero(rest));
    for (choices behind = rest & (rest - 1); behind != 0; behind &= behind - 1) {
      const auto older = static_cast<choice>(std::countr_zero(behind));
      if (!stands_for(named(l, older), named(l, newer), threads_[t].time, by_value)) continue;
      result &= ~(choices{1} << newer);
      break;
    }
  }
  return result;
}

message_id memory::read(thread_index t, location_id id, choice c, std::memory_order order,
                        bool& raised) {
  thread& me = threads_[t];
  location& l = locations_[id];
  const message_id m = named(l, c);
  const message& from = messages_[m];
  if (me.newest.size() <= id) me.newest.resize(used_, 0);
  raise(me.newest[id], m);
  me.time = std::max(me.time, from.time);
  if (from.released != nullptr) {
    if (acquires(order)) {
      me.happened.join(from.released->happened);
      join(me.newest, from.released->newest, from.released->size);
    } else {
      me.has_acquirable = true;
      me.acquirable.join(from.released->happened);
      join(me.acquirable_newest, from.released->newest, from.released->size);
    }
  }
  raised = false;
  if (moves_s(order) && position(m) > position(l.sc_floor)) {
    // The first message is known to all: reading it tells nothing unless there is another.
    raised = position(m) > l.first_position;
    raise_sc(l, m);
  }
  return m;
}

message_id memory::write(thread_index t, location_id id, choice behind, word value,
                         std::memory_order order, std::uint32_t step, bool& raised,
                         message_id rmw_of, continues sequence) {
  thread& me = threads_[t];
  location& l = locations_[id];
  const auto m = static_cast<message_id>(messages_.size());
  const std::size_t index = l.order.size() - behind;
  const auto position_of_new = l.first_position + static_cast<std::uint32_t>(index);
  l.order.insert(l.order.begin() + static_cast<std::ptrdiff_t>(index), m);
  for (std::size_t i = index + 1; i < l.order.size(); ++i) ++messages_[l.order[i]].position;
  messages_.push_back({value, id, position_of_new, step + 1, t, rmw_of != 0, nullptr, me.time});
  if (me.newest.size() <= id) me.newest.resize(used_, 0);
  me.newest[id] = m;

  const frozen_view* released = releases(order) ? freeze(me.happened, me.newest) : me.fenced;
  messages_[m].begins = released;
  messages_[m].sequence = rmw_of != 0 ? continues::all : sequence;
  l.has_own_sequences |= sequence == continues::its_own;
  const frozen_view* const inherited = rmw_of != 0 ? messages_[rmw_of].released : nullptr;
  if (inherited != nullptr && released == nullptr) released = inherited;
  // (Otherwise this thread has just acquired it, and releases it with its own view.)
  else if (inherited != nullptr && !(acquires(order) && releases(order)))
    released = both(released, inherited);
  messages_[m].released = released;
  if (l.has_own_sequences) renew_sequences(l, index);
  raised = moves_s(order);
  if (raised) raise_sc(l, m);
  if (behind == 0) poke(l.at, l.bytes, value);
  return m;
}

const frozen_view* memory::both(const frozen_view* a, const frozen_view* b) {
  if (a == nullptr || b == nullptr || a == b) return a != nullptr ? a : b;
  clock happened = a->happened;
  happened.join(b->happened);
  both_.assign(a->newest, a->newest + a->size);
  join(both_, b->newest, b->size);
  return freeze(happened, both_);
}

// What a message gives to who acquires it, by its place in the modification order: what it begins,
// and what those have begun before it whose release sequences reach it. From it backwards, these
// are all as long as there are only read-modify-writes, and then one thread's. first: of those that
// stand there or behind.
const frozen_view* memory::of_sequences(const location& l, std::size_t index, std::size_t first) {
  const frozen_view* all = messages_[l.order[index]].begins;
  unsigned only = max_threads;
  for (; index > first; --index) {
    const message& m = messages_[l.order[index]];
    if (m.sequence == continues::nothing) break;
    if (m.sequence == continues::its_own && only == max_threads) only = m.writer;
    if (m.sequence == continues::its_own && only != m.writer) break;
    const message& before = messages_[l.order[index - 1]];
    if (before.begins != nullptr && (only == max_threads || only == before.writer))
      all = both(all, before.begins);
  }
  return all;
}

// A message has come to stand there: it and those behind it that continue a sequence.
void memory::renew_sequences(location& l, std::size_t index) {
  for (std::size_t i = index; i < l.order.size(); ++i) {
    message& m = messages_[l.order[i]];
    if (i != index && m.sequence == continues::nothing) break;
    const frozen_view* const now = of_sequences(l, i);
    if (i != index && !within(m.released, now)) m.changed = last_message();
    m.released = now;
  }
}

void memory::fence(thread_index t, std::memory_order order) {
  thread& me = threads_[t];
  if (acquires(order) && me.has_acquirable) {
    me.happened.join(me.acquirable);
    join(me.newest, me.acquirable_newest.data(), me.acquirable_newest.size());
    me.has_acquirable = false;
    me.acquirable = {};
    me.acquirable_newest.clear();
  }
  if (moves_s(order)) {
    me.newest.resize(used_, 0);
    for (location_id id = 1; id < used_; ++id) {
      raise(me.newest[id], locations_[id].sc_floor);
      raise_sc(locations_[id], me.newest[id]);
    }
  }
  if (releases(order)) me.fenced = freeze(me.happened, me.newest);
}

const frozen_view* memory::release(thread_index t) {
  return freeze(threads_[t].happened, threads_[t].newest);
}

void memory::acquire(thread_index t, const frozen_view& from, std::uint64_t time) {
  thread& me = threads_[t];
  me.happened.join(from.happened);
  join(me.newest, from.newest, from.size);
  me.time = std::max(me.time, time);
}

// ---- transactions -----------------------------------------------------------------------------

void memory::begin_transaction(thread_index t) {
  in_transaction_ = true;
  before_ = threads_[t];
  kept_.clear();
  written_.clear();
  if (last_commit_ == nullptr) return;
  thread& me = threads_[t];
  me.happened.join(last_commit_->happened);
  join(me.newest, last_commit_->newest, last_commit_->size);
}

void memory::roll_back(thread_index t) {
  in_transaction_ = false;
  threads_[t] = std::move(before_);
  for (kept_location& k : kept_) locations_[k.id] = std::move(k.was);
}

message_id memory::read_newest(thread_index t, location_id id) {
  thread& me = threads_[t];
  const message_id m = locations_[id].order.back();
  const message& from = messages_[m];
  learn(t, id, m);
  me.time = std::max(me.time, from.time);
  if (from.released != nullptr) {
    me.happened.join(from.released->happened);
    join(me.newest, from.released->newest, from.released->size);
  }
  return m;
}

void memory::write_newest(thread_index t, location_id id, word value, std::uint32_t step) {
  thread& me = threads_[t];
  location& l = locations_[id];
  const auto m = static_cast<message_id>(messages_.size());
  const auto position = l.first_position + static_cast<std::uint32_t>(l.order.size());
  l.order.push_back(m);
  messages_.push_back({value, id, position, step + 1, t, true, nullptr, me.time});
  if (me.newest.size() <= id) me.newest.resize(used_, 0);
  me.newest[id] = m;
  written_.push_back(m);
}

const frozen_view* memory::commit(thread_index t) {
  in_transaction_ = false;
  fence(t, std::memory_order_seq_cst);
  last_commit_ = threads_[t].fenced;
  for (const message_id m : written_) messages_[m].released = messages_[m].begins = last_commit_;
  return last_commit_;
}

void memory::note_transaction(location_id id, message_id read, const frozen_view* ended) {
  auto& all = locations_[id].transactions;
  // Transactions follow each other: the last one's view has the others' in it.
  if (!all.empty() && all.back().read == read) all.back().ended = ended;
  else all.push_back({read, ended});
}

void memory::follow_transactions(thread_index t, location_id id, message_id behind) {
  thread& me = threads_[t];
  for (const location::transactional& each : locations_[id].transactions) {
    if (position(each.read) > position(behind)) continue;
    me.happened.join(each.ended->happened);
    join(me.newest, each.ended->newest, each.ended->size);
  }
}

void memory::learn(thread_index t, location_id id, message_id of) {
  thread& me = threads_[t];
  if (me.newest.size() <= id) me.newest.resize(used_, 0);
  raise(me.newest[id], of);
}

}  // namespace syncopate::explored
