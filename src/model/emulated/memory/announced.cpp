#include "announced.h"

#include <algorithm>

#include "model/emulated/threads/thread.h"

namespace syncopate::emulated {

namespace {

// Whether the handler's frame is one that the code which runs at `now` has returned from, or jumped
// out of. Handlers nest downward on a stack, and from the thread's stack to an alternate one.
bool is_gone(const thread& t, std::uintptr_t frame, std::uintptr_t now) noexcept {
  const bool on_alternate = !on_own_stack(t, frame);
  if (on_own_stack(t, now)) return on_alternate || frame <= now;
  return on_alternate && frame <= now;
}

void forget_gone(thread& t, std::uintptr_t now) noexcept {
  while (t.depth_of_handlers != 0 &&
         is_gone(t, t.interruptions[t.depth_of_handlers - 1].frame, now))
    --t.depth_of_handlers;
}

}  // namespace

void announced_accesses::copy(const announced_accesses& other) noexcept {
  for (std::size_t i = 0; i < std::size(ranges); ++i) {
    ranges[i].at.store(0, std::memory_order_relaxed);                         // [A]
    ranges[i].end.store(other.ranges[i].end.load(std::memory_order_relaxed),  // [A]
                        std::memory_order_release);                           // [A]
    ranges[i].at.store(other.ranges[i].at.load(std::memory_order_relaxed),    // [A]
                       std::memory_order_release);                            // [A]
  }
  last.store(other.last.load(std::memory_order_relaxed), std::memory_order_release);  // [A]
}

bool announced_accesses::touch(std::uintptr_t low, std::uintptr_t high) const noexcept {
  const std::uintptr_t single = last.load(std::memory_order_acquire);  // [L]
  if (single >= low && single < high) return true;
  return std::any_of(std::begin(ranges), std::end(ranges), [&](const range& each) {
    const std::uintptr_t at = each.at.load(std::memory_order_acquire);              // [L]
    return at != 0 && at < high && each.end.load(std::memory_order_acquire) > low;  // [L]
  });
}

bool announced_accesses::touch_last(std::uintptr_t low, std::uintptr_t high) const noexcept {
  const std::uintptr_t single = last.load(std::memory_order_acquire);  // [L]
  if (single == 0 || single >= high) return false;
  if (single >= low) return true;
  return std::any_of(std::begin(ranges), std::end(ranges), [&](const range& each) {
    return each.at.load(std::memory_order_acquire) == single &&  // [L]
           each.end.load(std::memory_order_acquire) > low;       // [L]
  });
}

void settle_more() noexcept {
  thread& t = *here.self;
  t.foreign_write.settle();
  forget_gone(t, reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)));
  t.interruptions_told.store(t.depth_of_handlers, std::memory_order_release);  // [T]
  here.has_more_to_settle = t.depth_of_handlers != 0;
}

handler_scope::handler_scope() noexcept {
  if (here.self == nullptr) return;  // nobody looks for what this thread announces
  thread& t = *here.self;
  const auto frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  forget_gone(t, frame);
  if (t.depth_of_handlers == most_handlers) return;
  level_ = t.depth_of_handlers++;
  interruption& kept = t.interruptions[level_];
  kept.accesses.copy(here.accesses);
  kept.foreign_write.copy(t.foreign_write);
  kept.frame = frame;
  t.interruptions_told.store(
      std::max(t.depth_of_handlers, t.interruptions_told.load(std::memory_order_relaxed)),  // [O]
      std::memory_order_release);                                                           // [T]
  here.has_more_to_settle = true;
}

// Told on: who has looked for the access where it stands now before it was put back finds it there.
handler_scope::~handler_scope() {
  if (level_ == none) return;
  thread& t = *here.self;
  here.accesses.copy(t.interruptions[level_].accesses);
  t.foreign_write.copy(t.interruptions[level_].foreign_write);
  t.depth_of_handlers = level_;
  here.has_more_to_settle = true;
}

}  // namespace syncopate::emulated
