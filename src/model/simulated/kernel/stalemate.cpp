// stalemate.cpp -- see stalemate.h.
#include "stalemate.h"

#include "model/simulated/world.h"

#include <utility>

#include "model/front/compiler/critical_sections.h"

namespace syncopate::simulated {

namespace {

// Nobody but another thread can make it go on.
bool waits(const thread& t, const instrument::lock_call& call) {
  if (call.lock != nullptr) return !call.timed && t.state != phase::queued;
  return (t.state == phase::parked || t.state == phase::polling) && !t.timer_armed;
}

}  // namespace

bool stalemate::is_reached(world& w) {
  std::vector<unsigned> calls;
  bool all_wait = true;
  for (const thread& t : w.schedule.threads()) {
    instrument::lock_call call{};
    if (t.state != phase::ended) {
      if (t.begun) call = instrument::running_lock_call(t.body);
      all_wait &= waits(t, call);
    }
    calls.push_back(call.number);
  }
  // One look is not enough: whoever has the lock next may not know it yet.
  if (!all_wait) calls.clear();
  const std::vector<unsigned> before = std::exchange(before_, std::move(calls));
  return all_wait && before == before_;
}

}  // namespace syncopate::simulated
