#include "report_names.h"

#include "model/front/names/names.h"
#include "model/front/pthread/threads.h"

#include <optional>
#include <string>

namespace syncopate::simulated {

std::string line_name(std::uintptr_t address, std::uint64_t line_bytes) {
  // Programs' addresses end there; futexes.cpp puts the kernel's own lines behind.
  if (address >> 47 != 0) return "the kernel's queue for a futex";
  const std::optional<std::size_t> record = instrument::record_with(address);
  if (record) return "record " + std::to_string(*record) + " of threads";
  return instrument::range_name(address, line_bytes);
}

std::string wait_name(std::uintptr_t address) {
  if (!instrument::is_end_of_thread(address)) return instrument::data_name(address);
  const std::size_t record = instrument::record_with(address).value_or(0);
  return "end of a thread, record " + std::to_string(record);
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
