#include "report_names.h"

#include "model/front/names/names.h"

#include <string_view>

namespace syncopate::simulated {

namespace {

// The records of threads: `table` of src/model/front/pthread/threads.cpp, by the thread.
constexpr std::string_view records = "syncopate::instrument::table[";

}  // namespace

std::string line_name(std::uintptr_t address, std::uint64_t line_bytes) {
  // Programs' addresses end there; futexes.cpp puts the kernel's own lines behind.
  if (address >> 47 != 0) return "the kernel's queue for a futex";
  std::string name = instrument::range_name(address, line_bytes);
  if (!name.starts_with(records)) return name;
  return "record of thread " + name.substr(records.size(), name.find(']') - records.size());
}

std::string wait_name(std::uintptr_t address) {
  std::string name = instrument::data_name(address);
  // pthread_join() parks on the thread's entry (src/model/front/pthread/threads.cpp).
  constexpr std::string_view ended = "].ended";
  if (name.starts_with(records) && name.ends_with(ended)) {
    name.erase(name.size() - ended.size());
    return "end of thread " + name.substr(records.size());
  }
  return name;
}

std::string thread_name(const thread_statistics& thread) {
  if (thread.index == 0) return "main";
  if (thread.entry != nullptr) {
    std::string function = instrument::function_name(thread.entry);
    if (!function.starts_with("syncopate::instrument::")) return function;
  }
  // pthread_create's caller; std::thread calls it from the compiled part of libstdc++.
  if (thread.made_at != nullptr) {
    const instrument::source_position made = instrument::position_of(thread.made_at);
    if (!made.file.empty()) return "thread made in " + made.text();
  }
  return "thread";
}

}  // namespace syncopate::simulated
