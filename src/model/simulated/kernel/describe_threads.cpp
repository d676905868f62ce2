#include "describe_threads.h"

#include "model/simulated/world.h"

#include <cstddef>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <unwind.h>

#include "model/front/compiler/critical_sections.h"
#include "model/front/names/names.h"
#include "model/front/program/identity.h"
#include "model/front/program/options.h"
#include "model/front/pthread/threads.h"

namespace syncopate::simulated {

namespace {

using instrument::code_name;
using instrument::data_name;
using instrument::source_position;

// What a thread can say of itself.
struct account {
  const void* machine = nullptr;          // where its library is loaded
  std::vector<engine::place> of_program;  // and of libraries, innermost first
  instrument::lock_call call{};
};

const void* module_of(const void* place) {
  Dl_info found{};
  return dladdr(place, &found) != 0 ? found.dli_fbase : nullptr;
}

_Unwind_Reason_Code look_at(_Unwind_Context* context, void* result) {
  constexpr std::size_t most = 64;
  auto& told = *static_cast<account*>(result);
  int interrupted = 0;
  auto at = _Unwind_GetIPInfo(context, &interrupted);
  if (interrupted != 0) {  // by a signal, whose handler asks; a place is one behind
    told.of_program.clear();
    ++at;
  }
  const auto place = reinterpret_cast<engine::place>(at);
  const void* module = module_of(place);
  if (module == nullptr || told.of_program.size() == most) return _URC_END_OF_STACK;
  if (module != told.machine) told.of_program.push_back(place);
  return _URC_NO_REASON;
}

// Called on the thread's fiber.
void tell(void* result) {
  auto& told = *static_cast<account*>(result);
  _Unwind_Backtrace(look_at, &told);
}

account ask(world& w, thread& t) {
  account told;
  told.machine = module_of(reinterpret_cast<const void*>(&tell));
  w.schedule.ask(t, tell, &told);
  told.call = instrument::running_lock_call(t.body);
  return told;
}

// "take at ledger.cpp:12": where in the program the thread is; empty where nobody knows.
std::string place_of(const account& told) {
  constexpr std::size_t enough = 16;
  for (const source_position& frame :
       instrument::known_frames(told.of_program.data(), told.of_program.size(), enough)) {
    if (!frame.function.starts_with("syncopate::")) return frame.text();
  }
  return {};
}

int holder_of(world& w, const account& told) {
  if (told.call.owner == nullptr || *told.call.owner == 0) return -1;
  const int index = *told.call.owner - instrument::thread_id(0);
  const bool is_ours = index >= 0 && static_cast<unsigned>(index) < w.schedule.threads().size();
  return is_ours ? index : -1;  // else of another process
}

std::string waiting(const thread& t, engine::address& at) {
  std::string what;
  if (t.state == phase::parked) {
    // pthread_join parks on a word of the thread's record.
    const auto* record =
        instrument::find_record(t.park.at - offsetof(instrument::thread_record, ended));
    if (record != nullptr)
      return "waits for thread " + std::to_string(record->index) + " to end (join)";
    at = t.park.at;
    what = "is parked on " + data_name(at) + " (futex)";
  } else if (at = t.poll.at; t.poll.holds == nullptr) {
    what = "polls " + data_name(at) + " in a loop";
  } else {
    what = (t.poll.depth < 0 ? "spins on " : "watches ") + data_name(at);
    what += t.poll.depth < 0 ? " (wait_until)" : " (monitor_wait)";
  }
  if (t.timer_armed) what += ", with a time-out,";
  return what + " in " + code_name(t.waits_at);
}

std::string described(world& w, thread& t) {
  if (!t.begun) return "has not run yet";
  const account told = ask(w, t);
  engine::address at = 0;
  std::string what;
  switch (t.state) {
    case phase::running: what = "runs"; break;
    case phase::sleeping: what = "sleeps"; break;
    case phase::queued: what = "waits for a processor"; break;
    default: what = waiting(t, at); break;
  }
  if (told.call.lock != nullptr) {
    const std::string lock = data_name(reinterpret_cast<engine::address>(told.call.lock));
    if (at == 0 || lock != data_name(at)) what += (at == 0 ? ", taking " : ", for ") + lock;
  }
  const std::string place = place_of(told);
  if (!place.empty() && (at == 0 || place != code_name(t.waits_at)))
    what += (at == 0 ? " in " : ", called in ") + place;
  const int holder = holder_of(w, told), writer = at != 0 ? w.gather.last_writer(at) : -1;
  if (holder >= 0) what += "; held by thread " + std::to_string(holder);
  else if (writer >= 0) what += "; last written by thread " + std::to_string(writer);
  return what;
}

}  // namespace

void describe_threads(world& w) {
  for (thread& t : w.schedule.threads()) {
    if (t.state == phase::ended) continue;
    instrument::complain("  thread %u %s", t.index, described(w, t).c_str());
  }
}

}  // namespace syncopate::simulated
