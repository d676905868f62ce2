#include "world.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <string>

#include "instrument/names.h"
#include "instrument/options.h"
#include "instrument/pthread/threads.h"

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

std::string described(world& w, thread& t) {
  using instrument::code_name;
  using instrument::data_name;
  if (t.state == phase::parked) {
    // pthread_join parks on a word of the thread's record.
    const auto* record =
        instrument::find_record(t.park.at - offsetof(instrument::thread_record, ended));
    if (record != nullptr)
      return "waits for thread " + std::to_string(record->index) + " to end (join)";
  }
  std::string what;
  engine::address at = 0;
  if (t.state == phase::parked) {
    at = t.park.at;
    what = "is parked on " + data_name(at) + " (futex)";
  } else if (t.poll.holds == nullptr) {
    at = t.poll.at;
    what = "polls " + data_name(at) + " in a loop";
  } else {
    at = t.poll.at;
    what = (t.poll.depth < 0 ? "spins on " : "watches ") + data_name(at);
    what += t.poll.depth < 0 ? " (wait_until)" : " (monitor_wait)";
  }
  what += " in " + code_name(t.waits_at);
  const int writer = w.gather.last_writer(at);
  if (writer >= 0) what += "; last written by thread " + std::to_string(writer);
  return what;
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

void report_deadlock(world& w) {
  instrument::complain("deadlock: no thread of the simulated program can run");
  for (thread& t : w.schedule.threads()) {
    if (t.state == phase::ended) continue;
    instrument::complain("  thread %u %s", t.index, described(w, t).c_str());
  }
  stop_run(w, 1);
}

}  // namespace syncopate::simulated
