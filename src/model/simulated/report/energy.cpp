#include "energy.h"

#include <algorithm>

namespace syncopate::simulated {

energy_meter::energy_meter(const description& machine)
    : machine_(machine),
      processors_(machine.processors(), power::off),
      cores_(machine.topology.cores) {
  for (core_state& core : cores_) core.watts = machine.energy.off;
}

double energy_meter::watts_of(power state) const {
  const energy_description& watts = machine_.energy;
  switch (state) {
    case power::running: return watts.running;
    case power::spinning: return watts.spinning;
    case power::monitor_light: return watts.monitor_light;
    case power::monitor_deep: return watts.monitor_deep;
    case power::idle: return watts.idle;
    case power::off: break;
  }
  return watts.off;
}

void energy_meter::enter(unsigned processor, power state, cycles now) {
  processors_[processor] = state;
  const unsigned number = machine_.core_of(processor);
  core_state& core = cores_[number];
  if (now > core.since) {
    core.watt_cycles += core.watts * static_cast<double>(now - core.since);
    core.since = now;
  }
  core.watts = 0;
  for (unsigned sibling = 0; sibling < machine_.topology.smt; ++sibling)
    core.watts =
        std::max(core.watts, watts_of(processors_[number + sibling * machine_.topology.cores]));
}

energy_statistics energy_meter::until(cycles end, const access_totals& moved) const {
  double watt_cycles = 0;
  for (const core_state& core : cores_) {
    watt_cycles += core.watt_cycles;
    if (end > core.since) watt_cycles += core.watts * static_cast<double>(end - core.since);
  }
  std::uint64_t near = moved.llc_hits;
  for (const distance far : {distance::cluster, distance::node, distance::socket})
    near += moved.transfers[static_cast<unsigned>(far)];
  const std::uint64_t remote = moved.transfers[static_cast<unsigned>(distance::remote)];
  const std::uint64_t from_dram = moved.dram_local + moved.dram_remote;

  const energy_description& costs = machine_.energy;
  energy_statistics used;
  used.processors = watt_cycles / static_cast<double>(machine_.topology.frequency_hz);
  used.transfers = static_cast<double>(near) * costs.transfer_joules +
                   static_cast<double>(remote) * costs.remote_transfer_joules +
                   static_cast<double>(from_dram) * costs.dram_joules;
  used.base = costs.base * machine_.seconds(end);
  used.joules = used.processors + used.transfers + used.base;
  return used;
}

}  // namespace syncopate::simulated
