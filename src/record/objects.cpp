// objects.cpp -- who is who: object and slot to id, and the counts kept per id.
//
// A slot (32 bits in the object) holds 0, an id, or - between the init call and the first use - the
// stack of the init call, marked by the top bit: objects that are never used cost no entry.
//
// Ids are used again, so that programs which make objects by the million do not fill the table:
//   - an object at the address and of the kind of a known one, whose slot lost the id, goes on in
//     its entry when both come from the same place, or one's place is not known;
//   - an entry of a known place that is destroyed, or whose memory has gone to an object of another
//     place, waits in a list of its own for the next object from there. Its counts, rows and events
//     go on: they stand for "the objects of this place", which is how a report names them anyway.
// The place of an object is the stack of its init call; without one, as std::mutex is, that of its
// first use.
//
// Invariants
//   I1  A slot's id is believed only if the entry has the object's address and is not destroyed:
//       memory is copied, and used again.
//   I2  Under `objects.lock`: the address index holds every entry but those in a list of I3 and
//       those whose (address, kind) a later entry has taken over.
//   I3  Under `objects.lock`: an entry is in at most one list; then it is destroyed, and
//       lock_entry::reserved is the next one's id.
//   I4  Outside of lists, lock_entry::reserved says where in the object the slot and count are, and
//       how many acquisitions add_remainders() has added, which the next sampled one stands for as
//       well; of futexes and of semaphores that processes share, which are in no list and have
//       neither, how they are woken (futex_wakes).
//   I5  What a thread counts by itself is of the lock that it takes it for, as long as no object of
//       that kind has come or gone since. (The slot would say so too, but its line is the lock's.)
//       Of locks without a slot, which are known by their address alone, as long as that is it.
//
// Memory order (each tag stands at its site below)
//   [H]  relaxed: the thread has loaded the header with acquire when it entered (recorder.cpp).
//   [K]  relaxed: the program orders a lock's destruction before the making of the next one there,
//        and with it the counts.
#include "record/objects.h"

#include "record/address_index.h"
#include "record/maps.h"
#include "record/stacks.h"
#include "record/threads.h"

namespace syncopate::record {

namespace {

constexpr std::uint32_t most_locks = 1'000'000;
constexpr std::size_t lists_bytes = most_stacks * sizeof(std::uint32_t);

table<lock_entry, chunk_kind::locks, 256, most_locks> constinit locks;

struct {
  tiny_lock lock;
  address_index index;
  std::uint32_t* lists = nullptr;  // by creation stack: first destroyed id
} constinit objects;

// I5. Of reader-writer locks: how often one was created or destroyed.
constinit std::atomic<std::uint32_t> lives{0};

// The mark of a slot that holds a creation stack: 17 bits of stack id under 14 bits of generation,
// since stack ids of a fork's parent mean nothing in the child.
constexpr std::uint32_t creation_mark = 0x8000'0000u, generation_shift = 17;
constinit std::uint32_t generation = 0;

std::uint32_t creation_tag(std::uint32_t stack) noexcept {
  return creation_mark | (generation & 0x3fff) << generation_shift | stack;
}
bool is_creation_tag(std::uint32_t slot) noexcept {
  return (slot ^ creation_tag(0)) >> generation_shift == 0;
}

std::uint64_t address_of(const void* object) noexcept {
  return reinterpret_cast<std::uintptr_t>(object);
}

// So many may be told apart by their first uses: a program whose every object is first used
// elsewhere, as in a recursion, would fill the table.
constexpr std::uint32_t most_by_first_use = 65'536;

struct identity {
  object_kind kind;
  int type;
  const void* object;
  std::uint32_t* slot;  // nullptr: none
  bool seen_created;
  std::uint32_t create, first;  // stacks
};

// I1
bool stands_for(const lock_entry* e, const void* object) noexcept {
  return e != nullptr && load(e->address) == address_of(object) &&
         (load(e->flags) & destroyed) == 0;
}

// I3. The entry of another object waits for the next one from its place.
void put_by_locked(std::uint32_t id, lock_entry& e, std::uint32_t place) noexcept {
  objects.index.erase(id, locks);
  store(e.reserved, place != 0 ? objects.lists[place] : 0u);
  if (place != 0) objects.lists[place] = id;
}

void retire_locked(std::uint32_t id, lock_entry& e) noexcept {
  store(e.flags, e.flags | destroyed);
  e.destroyed_ticks = machine::ticks();
  // Without a known creation stack it stays in the index, for the next object at its address.
  if (e.create_stack == 0) store(e.reserved, 0u);
  else put_by_locked(id, e, e.create_stack);
}

// I4. Semaphores that processes share are always woken one by one.
bool says_places(std::uint8_t object, std::uint32_t reserved) noexcept {
  constexpr std::uint32_t one_by_one = 1u << 20;
  return object != static_cast<std::uint8_t>(object_kind::futex) && (reserved & 0x10000) != 0 &&
         (reserved & one_by_one) == 0;
}

// The memory of an object that nobody destroyed has gone to another one, and its count with it.
void note_end_unseen(lock_entry& e) noexcept {
  if ((e.flags & destroyed) == 0 && says_places(e.object, load(e.reserved)))
    store(e.flags, static_cast<std::uint16_t>(e.flags | in_part));
}

// Whether an object whose slot lost the id may be what it says.
bool may_be(const lock_entry& e, const identity& who) noexcept {
  if (e.create_stack != who.create) return false;
  return who.create != 0 || who.slot == nullptr || who.first == 0 || e.first_stack == 0 ||
         who.first == e.first_stack || locks.count() >= most_by_first_use;
}

// An id to use again for this object, 0 when there is none. Leaves the index without an entry for
// (object, kind) unless it returns that entry.
std::uint32_t reuse_locked(const identity& who) noexcept {
  if (const std::uint32_t id = objects.index.find(address_of(who.object), who.kind, locks)) {
    lock_entry& e = *locks.at(id);
    note_end_unseen(e);
    if (may_be(e, who)) return id;
    if ((e.flags & destroyed) == 0) retire_locked(id, e);
    if (e.create_stack == 0) put_by_locked(id, e, e.first_stack);
  }
  const std::uint32_t place = who.create != 0 || who.slot == nullptr ? who.create : who.first;
  const std::uint32_t id = place != 0 ? objects.lists[place] : 0;
  if (id == 0 || locks.at(id)->create_stack != who.create) return 0;
  lock_entry& e = *locks.at(id);
  objects.lists[place] = e.reserved;
  store(e.address, address_of(who.object));
  e.object = static_cast<std::uint8_t>(who.kind);
  objects.index.insert(id, locks);
  return id;
}

std::uint32_t register_locked(const identity& who) noexcept {
  std::uint32_t id = reuse_locked(who);
  lock_entry* e = id != 0 ? locks.at(id) : locks.reserve();
  if (e == nullptr || (id == 0 && !objects.index.make_room(locks))) {
    if (e == nullptr && locks.count() >= most_locks) set_flag(table_full);
    return 0;
  }
  store(e->reserved, 0u);
  e->type = static_cast<std::uint8_t>(who.type);
  e->destroyed_ticks = 0;
  if (id == 0) {
    store(e->address, address_of(who.object));
    e->object = static_cast<std::uint8_t>(who.kind);
    e->create_stack = who.create;
    e->first_stack = who.first;
    e->created_ticks = machine::ticks();
  }
  const unsigned kept = id != 0 ? e->flags & in_part : 0u;
  store(e->flags, static_cast<std::uint16_t>(kept | (who.seen_created ? created : 0)));
  if (id != 0) return id;
  id = locks.append();
  objects.index.insert(id, locks);
  return id;
}

std::uint32_t register_object(const identity& who) noexcept {
  holding lock(objects.lock);
  if (!lock) {
    give_up();
    return 0;
  }
  if (who.slot == nullptr) return register_locked(who);
  if (const std::uint32_t id = load(*who.slot); id != 0 && stands_for(locks.at(id), who.object))
    return id;  // another thread was first
  const std::uint32_t id = register_locked(who);
  if (id != 0) store(*who.slot, id);
  return id;
}

// Id of an object without a slot that is known already, else 0.
std::uint32_t find_by_address(object_kind kind, const void* object) noexcept {
  holding lock(objects.lock);
  if (!lock) {
    give_up();
    return 0;
  }
  const std::uint32_t id = objects.index.find(address_of(object), kind, locks);
  return id != 0 && (locks.at(id)->flags & destroyed) == 0 ? id : 0;
}

// Whether no entry is to be had for an object from this creation stack. Asked without the lock,
// since a program that has more objects than the record holds comes here at each use of them.
bool is_full(std::uint32_t create) noexcept {
  const file_header* h = header.load(std::memory_order_relaxed);  // [H]
  constexpr std::uint32_t any = table_full | disk_full | descriptor_lost;
  return (load(h->flags) & any) != 0 && (create == 0 || load(objects.lists[create]) == 0);
}

[[gnu::noinline]] std::uint32_t identify_slow(object_kind kind, int type, const void* object,
                                              std::uint32_t* slot) noexcept {
  if (!enabled) return 0;
  entry inside;
  if (!inside) return 0;
  if (slot == nullptr)
    if (const std::uint32_t id = find_by_address(kind, object)) return id;
  const std::uint32_t tag = slot != nullptr ? load(*slot) : 0;
  identity who{kind, type, object, slot, is_creation_tag(tag), 0, 0};
  if (who.seen_created) who.create = tag & ((1u << generation_shift) - 1);
  if (is_full(who.create)) return 0;
  if (!who.seen_created)
    if (thread_state* t = this_thread())
      who.first = capture_stack(*t, capture_reason::creation, machine::ticks());
  return register_object(who);
}

// I4. Offsets below 256 only: an object's slot and count lie within the object.
void note_places(lock_entry& e, const void* object, const std::uint32_t* slot,
                 const std::uint32_t* count_at) noexcept {
  const std::uint64_t to_slot = address_of(slot) - address_of(object);
  const std::uint64_t to_count = address_of(count_at) - address_of(object);
  if (slot == nullptr || to_slot > 255 || to_count > 255) return;
  store(e.reserved, std::uint32_t{1} << 16 | static_cast<std::uint32_t>(to_slot << 8 | to_count));
}

// I4. What was added ahead is taken back.
constexpr unsigned ahead_at = 24;
void take_back(lock_entry& e) noexcept {
  const std::uint32_t places = load(e.reserved);
  if (places >> ahead_at == 0) return;
  store(e.reserved, places & ((1u << ahead_at) - 1));
  add(e.acquisitions, -std::uint64_t{places >> ahead_at});
}

void begin_hold(const void* object, std::uint32_t id, std::uint32_t weight) noexcept {
  entry inside;  // a signal handler's locks would find a hold half begun
  thread_state* const t = inside ? this_thread() : nullptr;
  if (t == nullptr) return;
  end_wait_if_left(*t);
  t->holds.begin(object, 0, id, weight, asking::always);
}

own_count& own_count_of(thread_state& t, const void* object) noexcept {
  return t.counts[address_of(object) * 0x9e3779b97f4a7c15u >> 61];
}

void note_life(object_kind kind) noexcept {
  if (kind == object_kind::rwlock) lives.fetch_add(1, std::memory_order_relaxed);  // [K]
}

void tell(own_count& c) noexcept {
  const std::uint32_t untold = load(c.untold);
  lock_entry* const e = untold != 0 ? lock_of(c.id) : nullptr;
  if (e == nullptr) return;
  add(e->acquisitions, untold);
  store(c.untold, 0u);
}

void count_own(own_count& c) noexcept {
  store(c.untold, c.untold + 1);
  if (c.untold < count_period) return;
  tell(c);
  if (enabled && !local.inside) begin_hold(c.object, c.id, count_period);
}

}  // namespace

std::uint32_t identify(object_kind kind, int type, const void* object,
                       std::uint32_t* slot) noexcept {
  if (slot != nullptr) {
    const std::uint32_t id = load(*slot);
    if (id != 0 && stands_for(locks.at(id), object)) return id;
  }
  return identify_slow(kind, type, object, slot);
}

std::uint32_t identify_told(object_kind kind, std::uint64_t address, std::uint32_t stack) noexcept {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a number that is no address
  const auto* const object = reinterpret_cast<const void*>(address);
  if (const std::uint32_t id = find_by_address(kind, object)) return id;
  return is_full(0) ? 0 : register_object({kind, 0, object, nullptr, false, 0, stack});
}

void counted(object_kind kind, int type, const void* object, std::uint32_t* slot,
             const std::uint32_t* count_at, std::uint32_t n) noexcept {
  if (!enabled || local.inside) return;
  const std::uint32_t id = identify(kind, type, object, slot);
  lock_entry* e = lock_of(id);
  if (e == nullptr) return;
  if (id != 0 && load(e->reserved) == 0) note_places(*e, object, slot, count_at);
  if (id != 0) take_back(*e);
  const std::uint32_t weight = stands_for(n != 0 ? n : load(*count_at));
  add(e->acquisitions, weight);
  if (kind == object_kind::rwlock && weight == count_period && id != 0)
    if (thread_state* const t = local.state) {
      own_count& c = own_count_of(*t, object);
      tell(c);
      c = {object, id, 0, lives.load(std::memory_order_relaxed)};  // [K]
    }
  begin_hold(object, id, weight);
}

bool counted_by_thread(const void* object) noexcept {
  thread_state* const t = local.state;
  if (t == nullptr) return false;
  own_count& c = own_count_of(*t, object);
  if (c.object != object || c.life != lives.load(std::memory_order_relaxed)) return false;  // [K]
  count_own(c);
  return true;
}

void taken(object_kind kind, int type, const void* object) noexcept {
  if (!enabled || local.inside) return;
  thread_state* const t = this_thread();
  if (t == nullptr) return;
  own_count& c = own_count_of(*t, object);
  if (c.object != object) {
    tell(c);
    c = {object, identify(kind, type, object, nullptr), 0,
         lives.load(std::memory_order_relaxed)};  // [K]
  }
  count_own(c);
}

void tell_counts(thread_state& t) noexcept {
  for (own_count& c : t.counts) tell(c);
}

void object_created(object_kind kind, int type, const void* object, std::uint32_t* slot,
                    const void* caller) noexcept {
  if (slot != nullptr) store(*slot, 0u);
  if (!enabled) return;
  note_life(kind);
  entry inside;
  if (!inside) return;
  std::uint32_t stack = 0;
  if (thread_state* t = this_thread())
    stack = capture_stack(*t, capture_reason::creation, machine::ticks());
  if (stack == 0 && caller != nullptr) {
    const std::uint64_t pc[1] = {address_of(caller)};
    stack = intern_stack(pc, 1);
  }
  if (slot != nullptr) {
    store(*slot, creation_tag(stack));
  } else {
    register_object({kind, type, object, nullptr, true, stack, 0});
  }
}

void object_destroyed(object_kind kind, const void* object, std::uint32_t* slot,
                      std::uint32_t acquisitions) noexcept {
  const std::uint32_t known = slot != nullptr ? load(*slot) : 0;
  if (slot != nullptr) store(*slot, 0u);
  if (!enabled || (slot != nullptr && !stands_for(locks.at(known), object))) return;
  note_life(kind);
  entry inside;
  if (!inside) return;
  note_end_of_object();
  holding lock(objects.lock);
  if (!lock) {
    give_up();
    return;
  }
  const std::uint32_t id =
      slot != nullptr ? known : objects.index.find(address_of(object), kind, locks);
  lock_entry* e = id != 0 ? locks.at(id) : nullptr;
  if (!stands_for(e, object)) return;
  if (acquisitions != 0) {
    take_back(*e);
    add(e->acquisitions, since_sampled(acquisitions));
  }
  retire_locked(id, *e);
}

lock_entry* lock_of(std::uint32_t id) noexcept {
  lock_entry* e = locks.at(id);
  return e != nullptr ? e : locks.at(0);
}

std::uint32_t known_object(object_kind kind, const void* object) noexcept {
  return find_by_address(kind, object);
}

std::uint32_t known_id(std::uint32_t id) noexcept { return id < locks.count() ? id : 0; }

bool is_of(std::uint32_t id, const void* object) noexcept {
  const lock_entry* const e = locks.at(id);
  return e != nullptr && load(e->address) == address_of(object);
}

void count_signal(std::uint32_t id) noexcept {
  lock_entry* const e = known_id(id) != 0 ? lock_of(id) : nullptr;
  if (e != nullptr) add(e->acquisitions, 1);
}

void add_hold(std::uint32_t id, std::uint64_t ticks, std::uint32_t weight) noexcept {
  // More, and a count of the histogram could overflow: hours of nothing but locking.
  constexpr std::uint64_t enough = UINT32_MAX / count_period;
  lock_entry* e = lock_of(id);
  if (e == nullptr) return;
  if (weight != 0 && load(e->hold_samples) < enough) {
    add(e->hold_samples, 1);
    add(e->hold_sum, ticks * weight);
    add(e->hold_histogram[bucket(ticks, 46)], weight);
  }
  std::uint64_t most = load(e->hold_max);
  while (ticks > most && !__atomic_compare_exchange_n(&e->hold_max, &most, ticks, true,
                                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {  // [K]
  }
}

// One live object whose count is to be read: the bytes of the object from its start to behind the
// farther one of slot and count.
struct remainder {
  std::uint32_t id;
  std::uint8_t to_slot, to_count;
  unsigned char bytes[260];
};

static void add_remainder(const remainder& r) noexcept {
  std::uint32_t slot, count;
  __builtin_memcpy(&slot, r.bytes + r.to_slot, 4);
  __builtin_memcpy(&count, r.bytes + r.to_count, 4);
  if (slot != r.id || count == 0) return;
  lock_entry& e = *locks.at(slot);
  take_back(e);
  add(e.acquisitions, since_sampled(count));
  store(e.reserved, load(e.reserved) | since_sampled(count) << ahead_at);
}

static void add_batch(remainder* batch, unsigned n) noexcept {
  iovec to[16], from[16];
  for (unsigned i = 0; i < n; ++i) {
    remainder& r = batch[i];
    const std::size_t length = (r.to_slot > r.to_count ? r.to_slot : r.to_count) + 4u;
    to[i] = {r.bytes, length};
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel and registers give numbers
    from[i] = {reinterpret_cast<void*>(load(locks.at(r.id)->address)), length};
  }
  // The kernel reads for us: an object's memory may be gone. It stops at the first one that is.
  for (unsigned first = 0; first < n;) {
    const long got = sys::call(SYS_process_vm_readv, sys::process_id(), to + first, n - first,
                               from + first, n - first, 0);
    std::size_t left = got > 0 ? static_cast<std::size_t>(got) : 0;
    for (; first < n && left >= to[first].iov_len; ++first) {
      left -= to[first].iov_len;
      add_remainder(batch[first]);
    }
    if (sys::is_refused(got) &&
        sys::copy_memory(from[first].iov_base, to[first].iov_base, to[first].iov_len))
      add_remainder(batch[first]);
    ++first;  // done, or unreadable (or one past the end)
  }
}

void add_remainders() noexcept {
  remainder batch[16];
  unsigned n = 0;
  const std::uint32_t count = locks.count();
  for (std::uint32_t id = 1; id < count; ++id) {
    const lock_entry& e = *locks.at(id);
    const std::uint32_t places = load(e.reserved);
    if ((load(e.flags) & destroyed) != 0 || !says_places(e.object, places)) continue;
    batch[n].id = id;
    batch[n].to_slot = static_cast<std::uint8_t>(places >> 8);
    batch[n].to_count = static_cast<std::uint8_t>(places);
    if (++n == 16) {
      add_batch(batch, n);
      n = 0;
    }
  }
  if (n != 0) add_batch(batch, n);
}

bool prepare_objects() noexcept {
  objects.lists = static_cast<std::uint32_t*>(sys::pages(lists_bytes));
  if (objects.lists == nullptr || locks.reserve() == nullptr) return false;
  locks.append();  // id 0: locks beyond the table
  return true;
}

void forget_objects() noexcept {
  sys::free_pages(objects.lists, lists_bytes);
  objects.lists = nullptr;
  objects.index.forget();
  objects.lock.reset();
  locks.reset();
  ++generation;
}

}  // namespace syncopate::record
