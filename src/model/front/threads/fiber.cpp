#include "model/front/threads/fiber.h"

#include <bit>
#include <cerrno>

#include <malloc.h>

#include "model/front/program/layout.h"
#include "model/front/program/options.h"
#include "model/front/scope.h"
#include "model/front/threads/arch.h"
#include "model/front/threads/fiber_state.h"
#include "model/front/threads/signal_stacks.h"
#include "model/front/threads/stack_slots.h"
#include "model/front/threads/thread_exit.h"
#include "model/front/threads/thread_locals.h"

namespace syncopate::instrument {

namespace {

// The first OS thread's own context. `running` is null until somebody asks.
fiber& own_context() {
  static fiber& own = *[] {
    auto* made = new fiber;
    made->pointer = thread_pointer();
    return made;
  }();
  return own;
}
fiber* current_fiber() {
  if (running == nullptr) running = &own_context();
  return running;
}

constinit fiber* slots[layout::stack_slots] = {};
constinit std::uint64_t taken[layout::stack_slots / 64] = {};

fiber& take_lowest_slot() {
  for (unsigned i = 0; i < std::size(taken); ++i) {
    if (taken[i] == ~std::uint64_t{0}) continue;
    const unsigned slot = i * 64 + static_cast<unsigned>(std::countr_one(taken[i]));
    taken[i] |= std::uint64_t{1} << slot % 64;
    if (slots[slot] == nullptr) {
      slots[slot] = new fiber;
      slots[slot]->slot = slot;
    }
    return *slots[slot];
  }
  fail("more than %u threads", layout::stack_slots);
}
void release_slot(unsigned slot) { taken[slot / 64] &= ~(std::uint64_t{1} << slot % 64); }

struct kept_locals {
  std::vector<unsigned char> bytes;
  std::vector<exit_duty> duties;
};
constinit kept_locals* main_locals = nullptr;

void make_new_again(fiber& f) {
  reset_locals(f.pointer);
  f.duties.clear();
  f.last_duties.clear();
  f.transaction = {};
  f.signal_stack = {nullptr, SS_DISABLE, 0};
}

void start() {
  machine_depth = 1;
  fiber& me = *running;
  use_signal_stack(me);
  if (me.used_before) {
    forget_thread_keys();
    reset_late_locals();
  }
  me.used_before = true;
  errno = 0;
  me.entry(me.argument);
  fail("internal error: a thread's function returned to its stack's end");
}

}  // namespace

fiber* create_fiber(void (*entry)(void*), void* argument, std::size_t stack_bytes) {
  current_fiber();
  fiber& f = take_lowest_slot();
  prepare_slot(f, stack_bytes);
  if (f.used_before) make_new_again(f);
  if (f.slot == 0 && main_locals != nullptr && f.used_before) restore_main_locals();
  f.entry = entry;
  f.argument = argument;
  f.context = new_stack(f.stack.high, &start);
  return &f;
}

void destroy_fiber(fiber* f) {
  if (f == running) fail("internal error: a thread destroys its own stack");
  release_slot(f->slot);
}

void switch_to(fiber* to) {
  fiber* from = current_fiber();
  if (to == from) return;
  const int depth = machine_depth;
  running = to;
  set_thread_pointer(to->pointer);
  switch_stack(from->context, to->context);
  use_signal_stack(*from);
  machine_depth = depth;
}

fiber* running_fiber() { return current_fiber(); }

stack_bounds stack_of(const fiber* f) { return f->stack; }

stack_bounds tls_of(const fiber* f) { return {f->pointer - locals_reach(), f->pointer}; }

void enter_constructors() {
  // The machine's own blocks for all fibers from one pool: pools are chosen by OS thread.
  mallopt(M_ARENA_MAX, 1);
  fiber& own = *current_fiber();
  fiber& main = take_lowest_slot();
  prepare_slot(main, 0);
  copy_locals(main.pointer, own.pointer);
  main.duties = own.duties;
  own.duties.clear();
  running = &main;
  set_thread_pointer(main.pointer);
}

void leave_constructors() {
  release_slot(running->slot);
  running = &own_context();
  set_thread_pointer(running->pointer);
}

void for_each_slot(void (*function)(fiber&)) {
  for (fiber* f : slots) {
    if (f == nullptr) return;  // slots are taken from the lowest on
    function(*f);
  }
}

void keep_main_locals() {
  if (main_locals == nullptr) main_locals = new kept_locals;
  *main_locals = {save_locals(slots[0]->pointer), slots[0]->duties};
}

void restore_main_locals() {
  put_back_locals(slots[0]->pointer, main_locals->bytes);
  slots[0]->duties = main_locals->duties;
  slots[0]->last_duties.clear();
}

}  // namespace syncopate::instrument
