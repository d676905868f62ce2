// tries.cpp -- failed trylocks, which are a wait where one follows the other.
#include <utility>

#include "record/objects.h"
#include "record/rows.h"
#include "record/stacks.h"
#include "record/waits.h"

namespace syncopate::record {

// After so long without a try the thread has given up.
static std::uint64_t longest_pause() noexcept { return milliseconds(100); }

// Who does nothing but try comes back within that.
static std::uint64_t time_between_tries() noexcept { return milliseconds(1) / 50; }

// The first attempts tell nothing: a thread that does other work between two is not waiting. One
// that comes back within microseconds does nothing but try; then a longer pause between two is its
// processor's loss, or a yield, and ends the wait only where it is very long.
void tried_in_vain(std::uint32_t id, const void* object, std::uint32_t holder,
                   const void* caller) noexcept {
  constexpr std::uint32_t enough = 4;
  if (!enabled) return;
  entry inside;
  thread_state* const t = inside ? this_thread() : nullptr;
  if (t == nullptr || t->told.start != 0) return;
  vain_tries& tries = t->tries;
  const std::uint64_t now = machine::ticks();
  const std::uint64_t pause = tries.spins ? longest_pause() : time_between_tries();
  if (trying_for != object || now - tries.last > pause) {
    end_tries(*t);
    trying_for = object;
    tries = {.first = now, .last = now, .count = 0, .spins = false, .of = {}};
  }
  tries.last = now;
  if (tries.spins) return publish(t->entry->open.end, now);
  if (++tries.count < enough) return;
  flush(*t);
  end_wait_if_left(*t);
  tries.spins = true;
  tries.of.id = known_id(id);
  tries.of.holder = holder;
  tries.of.kind = wait_kind::trylock;
  tries.of.start = tries.first;
  if (t->wait_events.allows_beginning(now)) {
    tries.of.weight = 1;
    tries.of.stack = capture_stack(*t, capture_reason::wait, now);
  }
  tell_open(*t, tries.of, {.caller = caller, .timed = false, .has_owner = holder != 0}, 0);
  publish(t->entry->open.end, now);
}

void end_tries(thread_state& t) noexcept {
  trying_for = nullptr;
  if (!std::exchange(t.tries.spins, false)) return;
  t.tries.of.end = t.tries.last;
  note_waited(t, t.tries.of);
  write_wait(t, t.tries.of);
  count_in_vain(t, t.tries.of.id);
  tell_closed(t);
}

std::uint64_t tries_lead_to(thread_state& t, std::uint32_t id) noexcept {
  const bool goes_on = t.tries.spins && t.tries.of.id == id &&
                       machine::ticks() - t.tries.last <= time_between_tries();
  if (!goes_on) {
    end_tries(t);
    return 0;
  }
  trying_for = nullptr;
  t.tries.spins = false;
  tell_closed(t);
  return t.tries.of.start;
}

void got_at_last(const void* object) noexcept {
  if (trying_for != object) return;
  thread_state* const t = local.state;
  if (t != nullptr && t->tries.spins && machine::ticks() - t->tries.last > longest_pause()) {
    entry inside;
    if (inside) return end_tries(*t);
  }
  trying_for = nullptr;
  if (t == nullptr || !std::exchange(t->tries.spins, false)) return;
  wait_end(t->tries.of, object);
}

}  // namespace syncopate::record
