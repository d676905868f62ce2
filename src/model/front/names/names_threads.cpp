// names_threads.cpp -- which function of the program a thread runs.
#include "debug_info.h"
#include "names.h"
#include "names_blocks.h"

#include <dlfcn.h>

#include <cstring>
#include <string_view>
#include <vector>

namespace syncopate::instrument {

namespace {

struct thread_start {
  const void* routine = nullptr;
  // The last two words of std::thread's copy of what it was given, which may hold a function.
  const void* words[2] = {};
};

std::vector<thread_start>& starts() {
  static auto& all = *new std::vector<thread_start>;
  return all;
}

// libstdc++'s start routine, which calls the virtual function _M_run of its argument.
bool is_of_standard_library(const void* routine) {
  static const void* known = nullptr;
  if (routine == known) return true;
  Dl_info info{};
  if (dladdr(routine, &info) == 0 || std::strstr(info.dli_fname, "/libstdc++.so") == nullptr)
    return false;
  known = routine;
  return true;
}

thread_start start_of_state(const void* state) {
  constexpr std::size_t run_slot = 2;  // after the two destructors
  thread_start start;
  const void* const* table = nullptr;
  std::memcpy(&table, state, sizeof table);
  start.routine = table[run_slot];
  // A tuple's first element, the function, lies last.
  const std::size_t bytes = block_at(reinterpret_cast<std::uintptr_t>(state)).bytes;
  if (bytes >= sizeof table + sizeof start.words)
    std::memcpy(start.words, static_cast<const char*>(state) + bytes - sizeof start.words,
                sizeof start.words);
  else if (bytes == sizeof table + sizeof start.words[0])
    std::memcpy(&start.words[1], static_cast<const char*>(state) + sizeof table,
                sizeof start.words[1]);
  return start;
}

// "int, long>..." -> "int": up to the comma or bracket that ends a template's first argument.
std::string_view first_argument(std::string_view text) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (depth == 0 && (c == ',' || c == '>')) return text.substr(0, i);
    if (c == '<' || c == '(' || c == '{') ++depth;
    if (c == '>' || c == ')' || c == '}') --depth;
  }
  return text;
}

// The type of what std::thread, or std::async through it, calls; empty for other functions.
std::string callable_of(const void* routine, bool& direct) {
  const std::string symbol = function_symbol(reinterpret_cast<std::uintptr_t>(routine));
  constexpr std::string_view tuple = "std::tuple<";
  std::string_view text = symbol;
  if (!text.starts_with("std::thread::_State_impl<")) return {};
  direct = true;
  for (std::size_t at = text.find(tuple); at != std::string_view::npos; at = text.find(tuple)) {
    const bool inner = text.data() != symbol.data();
    direct = !inner;
    text = first_argument(text.substr(at + tuple.size()));
  }
  return std::string(text);
}

}  // namespace

void note_thread_routine(unsigned thread, const void* routine, const void* argument) {
  auto& all = starts();
  if (all.size() <= thread) all.resize(thread + 1);
  all[thread] = is_of_standard_library(routine) ? start_of_state(argument) : thread_start{routine};
}

const void* thread_routine(unsigned thread) {
  if (thread >= starts().size()) return nullptr;
  const thread_start& start = starts()[thread];
  bool direct = false;
  const std::string callable = callable_of(start.routine, direct);
  if (!direct) return start.routine;
  const bool is_member = callable.find("::*)(") != std::string::npos;
  if (!is_member && callable.find("(*)(") == std::string::npos) return start.routine;
  const void* function = start.words[is_member ? 0 : 1];
  const auto entry = reinterpret_cast<std::uintptr_t>(function);
  return function_symbol(entry).empty() ? start.routine : function;
}

std::string callable_name(const void* routine) {
  bool direct = false;
  return callable_of(routine, direct);
}

void forget_thread_routines() { starts().clear(); }

}  // namespace syncopate::instrument
