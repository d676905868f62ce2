// signal_stacks.cpp -- see signal_stacks.h.
#include "model/front/threads/signal_stacks.h"

#include "model/front/pthread/real.h"

namespace syncopate::instrument {

namespace {

constexpr stack_t none{nullptr, SS_DISABLE, 0};
constinit stack_t of_machine = none;

bool is_one(const stack_t& stack) { return (stack.ss_flags & SS_DISABLE) == 0; }

}  // namespace

void tell_signal_stack(const fiber& of) {
  SYNCOPATE_REAL(sigaltstack)(is_one(of.signal_stack) ? &of.signal_stack : &of_machine, nullptr);
}

int change_signal_stack(const stack_t* to, stack_t* was) {
  fiber& me = *running;
  stack_t before{};
  if (SYNCOPATE_REAL(sigaltstack)(to, &before) != 0) return -1;
  if (!any_has_signal_stack) of_machine = before;
  if (was != nullptr) *was = is_one(me.signal_stack) ? before : none;
  if (to == nullptr) return 0;
  me.signal_stack = is_one(*to) ? *to : none;
  any_has_signal_stack = true;
  tell_signal_stack(me);
  return 0;
}

}  // namespace syncopate::instrument
