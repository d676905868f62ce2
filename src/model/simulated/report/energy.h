// energy.h -- joules, from the time that cores spend in each state and the lines that move.
#pragma once

#include "statistics.h"

namespace syncopate::simulated {

// What a core draws power for.
enum class power : unsigned char { running, spinning, monitor_light, monitor_deep, idle, off };

// Adds up energy while the engine reports what each processor does. A core draws what the most
// expensive of its hardware threads asks for.
class energy_meter {
 public:
  // All processors are off at time 0. The description must outlive the object.
  explicit energy_meter(const description&);

  // `processor` is in the state from `now` on. A time before the core's last one counts as that.
  void enter(unsigned processor, power, cycles now);

  // What was used by time `end`, with the memory system's totals.
  energy_statistics until(cycles end, const access_totals&) const;

 private:
  struct core_state {
    cycles since = 0;
    double watts = 0;        // now
    double watt_cycles = 0;  // up to `since`
  };

  double watts_of(power) const;

  const description& machine_;
  std::vector<power> processors_;
  std::vector<core_state> cores_;
};

}  // namespace syncopate::simulated
