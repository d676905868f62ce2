#include "world.h"

#include "model/front/libc/native_time.h"
#include "model/simulated/kernel/describe_threads.h"

#include <algorithm>
#include <exception>

#include "model/front/program/options.h"

namespace syncopate::simulated {

namespace {

constexpr const char* default_machine = "sapphire-rapids-2s";

description read_chosen() {
  const char* chosen = instrument::option("MACHINE");
  try {
    return read_description(find_machine(chosen != nullptr ? chosen : default_machine));
  } catch (const std::exception& error) {
    instrument::fail("%s", error.what());
  }
}

}  // namespace

world* the_world = nullptr;

const description& the_machine() {
  static const description& chosen = *new description(read_chosen());
  return chosen;
}

world::world(description d)
    : machine(std::move(d)),
      gather(*this),
      htm(*this),
      memory(machine, htm),
      watching(*this),
      kernel(*this),
      polled_loops(*this),
      schedule(*this) {}

void stop_run(world& w, int status) {
  w.exit_status = status;
  for (const thread& t : w.schedule.threads()) w.ended_at = std::max(w.ended_at, t.clock);
  w.schedule.leave_machine();
}

void report_deadlock(world& w, const char* why) {
  instrument::complain("deadlock: %s", why);
  describe_threads(w);
  stop_run(w, 1);
}

void charge_native(world& w, thread& me) {
  const std::uint64_t ns = instrument::native_charge;
  instrument::native_charge = 0;
  const auto spent = static_cast<cycles>(static_cast<double>(ns) * 1e-9 *
                                         static_cast<double>(w.machine.topology.frequency_hz));
  me.clock += spent;
  w.native_charged += spent;
}

}  // namespace syncopate::simulated
