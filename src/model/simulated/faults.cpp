#include "faults.h"

#include <csignal>
#include <cstdint>
#include <iterator>

#include "model/front/scope.h"
#include "model/front/threads/arch.h"
#include "world.h"

namespace syncopate::simulated {

namespace {

constexpr int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
struct sigaction before[std::size(faults)];

void pass_on(int signal) {
  for (std::size_t i = 0; i < std::size(faults); ++i)
    if (faults[i] == signal) sigaction(signal, &before[i], nullptr);
  // The instruction faults once more when the handler has returned.
}

// On the stack of the thread that faulted, which the roll-back leaves as any abort's does: it does
// not return to here. So nothing is blocked while it runs, and no other stack is in use.
void on_fault(int signal, siginfo_t* info, void* context) {
  if (info->si_code <= 0 || the_world == nullptr || !the_world->schedule.has_running())
    return pass_on(signal);
  thread& me = the_world->schedule.running();
  const bool is_programs = instrument::in_program() || me.htm.touches;
  if (!is_programs || !me.in_transaction) return pass_on(signal);
  instrument::machine_depth = 1;  // as in any call of the engine
  the_world->schedule.settle(me);
  // A place is what a call returns to: one behind the instruction.
  const auto at = instrument::interrupted_pc(context) + 1;
  the_world->htm.abort(me, {abort_cause::unfriendly, 0, reinterpret_cast<engine::place>(at)});
}

}  // namespace

void abort_where_transactions_fault() {
  struct sigaction action {};
  action.sa_sigaction = &on_fault;
  action.sa_flags = static_cast<int>(SA_SIGINFO | SA_NODEFER);
  for (std::size_t i = 0; i < std::size(faults); ++i) sigaction(faults[i], &action, &before[i]);
}

}  // namespace syncopate::simulated
