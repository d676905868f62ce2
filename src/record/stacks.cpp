// stacks.cpp -- the index from a stack's hash to its id, and the capture within a budget.
//
// Invariants
//   I1  A non-zero index slot holds the upper 32 bits of a hash and the id of a complete entry.
//   I2  Slots never go back to zero: a search that meets zero has seen every equal stack there was.
//   I3  A stack whose first probes are free is in the first slots: few pages are ever touched for
//       the hundred stacks of most programs.
//
// Memory order (each tag stands at its site below)
//   [H]  relaxed: the thread has loaded the header with acquire when it entered (recorder.cpp).
//   [S]  acquire load of a slot -- synchronizes with [P]: the entry is complete (I1).
//   [P]  release store of a slot, under the lock of insertions.
#include "record/stacks.h"

#include <utility>

#include "record/maps.h"
#include "record/threads.h"
#include "record/told.h"
#include "record/unwind.h"

namespace syncopate::record {

namespace {

constexpr std::uint32_t first_slots = 4096, first_probes = 8, other_slots = 2 * most_stacks;
constexpr std::size_t index_bytes = (first_slots + other_slots) * sizeof(std::uint64_t);

table<stack_entry, chunk_kind::stacks, 256, most_stacks> constinit stacks;
constinit tiny_lock insertion;
constinit std::uint64_t* index = nullptr;

std::uint64_t hash_of(const std::uint64_t* pc, unsigned depth) noexcept {
  std::uint64_t h = 0x9e3779b97f4a7c15u ^ depth;
  for (unsigned i = 0; i < depth; ++i) {
    h = (h ^ pc[i]) * 0xbf58476d1ce4e5b9u;
    h ^= h >> 29;
  }
  return h != 0 ? h : 1;
}

struct found {
  std::uint32_t id;    // 0: not there
  std::uint32_t slot;  // where it is or would go
};

// I3
std::uint32_t slot_of(std::uint64_t hash, std::uint32_t probe) noexcept {
  const std::uint32_t at = static_cast<std::uint32_t>(hash) + probe;
  return probe < first_probes ? at & (first_slots - 1) : first_slots + (at & (other_slots - 1));
}

// Word by word, without the C library: a sanitizer in the program that sees its calls knows nothing
// of I1, and would call them a race.
bool are_same(const std::uint64_t* a, const std::uint64_t* b, unsigned depth) noexcept {
  for (unsigned i = 0; i < depth; ++i) {
    asm("" ::: "memory");
    if (a[i] != b[i]) return false;
  }
  return true;
}

void copy(const std::uint64_t* from, std::uint64_t* to, unsigned depth) noexcept {
  for (unsigned i = 0; i < depth; ++i) {
    asm("" ::: "memory");
    to[i] = from[i];
  }
}

found find(std::uint64_t hash, const std::uint64_t* pc, unsigned depth) noexcept {
  for (std::uint32_t probe = 0;; ++probe) {
    const std::uint32_t slot = slot_of(hash, probe);
    const std::uint64_t word = __atomic_load_n(&index[slot], __ATOMIC_ACQUIRE);  // [S]
    if (word == 0) return {0, slot};
    if ((word ^ hash) >> 32 != 0) continue;
    const stack_entry* e = stacks.at(static_cast<std::uint32_t>(word));
    if (e != nullptr && e->hash == hash && e->depth == depth && are_same(e->pc, pc, depth))
      return {static_cast<std::uint32_t>(word), slot};
  }
}

}  // namespace

std::uint32_t intern_numbers(const std::uint64_t* pc, unsigned depth) noexcept {
  if (depth == 0 || index == nullptr) return 0;
  const std::uint64_t hash = hash_of(pc, depth);
  if (const found known = find(hash, pc, depth); known.id != 0) return known.id;
  std::uint32_t id;
  {
    holding lock(insertion);
    if (!lock) {
      give_up();
      return 0;
    }
    const found again = find(hash, pc, depth);
    if (again.id != 0) return again.id;
    stack_entry* e = stacks.reserve();
    if (e == nullptr) return 0;
    e->hash = hash;
    e->depth = depth;
    copy(pc, e->pc, depth);
    id = stacks.append();
    __atomic_store_n(&index[again.slot], (hash & ~std::uint64_t{0xffffffff}) | id,
                     __ATOMIC_RELEASE);  // [P] I1
  }
  return id;
}

std::uint32_t intern_stack(const std::uint64_t* pc, unsigned depth) noexcept {
  const std::uint32_t before = stacks.count(), id = intern_numbers(pc, depth);
  if (id >= before) note_code(pc, depth);
  return id;
}

constinit const interpreter* asked_interpreter = nullptr;

interpreter_calls::interpreter_calls(bool it_does) noexcept {
  local.interpreter_calls = it_does && asked_interpreter != nullptr;
}
interpreter_calls::~interpreter_calls() { local.interpreter_calls = false; }

// A stack with the interpreter's functions in place of its own code, which lies further out.
static std::uint32_t with_frames(const thread_state& t, std::uint32_t id) noexcept {
  const stack_entry* const machines = id != 0 ? stacks.at(id) : nullptr;
  if (machines == nullptr) return id;
  const unsigned calls = asked_interpreter->calls(machines->pc, machines->depth);
  if (calls == 0) return id;
  std::uint64_t pc[stack_depth], fresh[stack_depth];
  unsigned count = asked_interpreter->frames(fresh);
  const std::uint64_t* const found = count != 0 ? fresh : t.kept_frames;
  if (count == 0) count = t.frames_kept;
  if (count == 0) return id;
  unsigned depth = 0;
  for (; depth < calls && depth < stack_depth / 2; ++depth) pc[depth] = machines->pc[depth];
  for (unsigned i = 0; i < count && depth < stack_depth; ++i) pc[depth++] = found[i];
  const std::uint32_t with = intern_numbers(pc, depth);
  return with != 0 ? with : id;
}

void keep_frames() noexcept {
  if (!local.interpreter_calls || !enabled) return;
  entry inside;
  thread_state* const t = inside ? this_thread() : nullptr;
  if (t == nullptr) return;
  t->frames_kept = 0;
  capture_budget& budget = t->captures[static_cast<int>(capture_reason::wait)];
  const std::uint64_t now = machine::ticks();
  if (!budget.allows(now)) return;
  t->frames_kept = asked_interpreter->frames(t->kept_frames);
  budget.spend(machine::ticks() - now);
}

void forget_frames() noexcept {
  if (thread_state* const t = local.state) t->frames_kept = 0;
}

std::uint32_t capture_stack(thread_state& t, capture_reason why, std::uint64_t now) noexcept {
  capture_budget& budget = t.captures[static_cast<int>(why)];
  if (!budget.allows(now)) return 0;
  const auto frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  std::uint32_t id =
      t.seen_stacks.find(frame, [](std::uint32_t known) { return stacks.at(known)->pc; });
  if (id == 0) {
    std::uint64_t pc[stack_depth];
    const unsigned depth = walk_stack(t.stack, pc, &t.seen_stacks.begin(), frame);
    id = intern_stack(pc, depth);
    t.seen_stacks.keep(frame, id);
  }
  if (local.interpreter_calls) id = with_frames(t, id);
  const std::uint64_t cost = machine::ticks() - now;
  budget.spend(cost);
  t.capture_ticks += cost;
  if (t.capture_ticks > ticks_per_second / 10'000) tell_capture_ticks(t);
  note_moment(now);
  return id;
}

void tell_capture_ticks(thread_state& t) noexcept {
  if (file_header* h = header.load(std::memory_order_relaxed))  // [H]
    add(h->capture_ticks, std::exchange(t.capture_ticks, 0));
}

bool prepare_stacks() noexcept {
  index = static_cast<std::uint64_t*>(sys::pages(index_bytes));
  if (index == nullptr || stacks.reserve() == nullptr) return false;
  stacks.append();  // id 0: no stack
  return true;
}

void forget_stacks() noexcept {
  sys::free_pages(index, index_bytes);
  index = nullptr;
  insertion.reset();
  stacks.reset();
}

}  // namespace syncopate::record
