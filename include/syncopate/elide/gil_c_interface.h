// gil_c_interface.h -- L3: defines the functions of <syncopate/gil.h>. For one file of a runtime.
// A runtime with a lock of its own names the whole gil<...> as SYNCOPATE_GIL_TYPE, and how that
// works unless told otherwise as SYNCOPATE_GIL_UNLESS_SET, before it includes this.
//
// SYNCOPATE_GIL        how the lock works: gil_options.h; balance unless set
// SYNCOPATE_GIL_STATS  text, json, or the name of a file for JSON; nothing unless set
#pragma once

#include <syncopate/elide/gil.h>
#include <syncopate/elide/gil_report.h>
#include <syncopate/gil.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#ifndef SYNCOPATE_GIL_TYPE
#define SYNCOPATE_GIL_TYPE ::syncopate::elide::gil<>
#endif
#ifndef SYNCOPATE_GIL_UNLESS_SET
#define SYNCOPATE_GIL_UNLESS_SET "balance"
#endif

extern "C" {
__thread syncopate_gil_thread syncopate_gil_self = {};
alignas(256) uint32_t syncopate_gil_wanted = 0;
}

namespace syncopate::elide::c_interface {

inline gil_options options_from_environment() noexcept {
  const char* const text = std::getenv("SYNCOPATE_GIL");
  const gil_options unless_set = *parse_gil_options(SYNCOPATE_GIL_UNLESS_SET);
  if (text == nullptr || *text == '\0') return unless_set;
  if (const auto options = parse_gil_options(text)) return *options;
  std::fprintf(stderr,
               "syncopate: SYNCOPATE_GIL=%.40s: no such mode; gil, htm:N, paper[:PERCENT], "
               "balance and dynamic are\n",
               text);
  return unless_set;
}

// The runtime's one lock. Leaked, so that threads may use it while the process ends.
inline SYNCOPATE_GIL_TYPE& lock() noexcept {
  static auto& instance =
      *new SYNCOPATE_GIL_TYPE(options_from_environment(), &syncopate_gil_wanted);
  return instance;
}

}  // namespace syncopate::elide::c_interface

extern "C" {

int syncopate_gil_attach(void) {
  return syncopate::elide::c_interface::lock().attach(syncopate_gil_self);
}
int syncopate_gil_detach(void) {
  return syncopate::elide::c_interface::lock().detach(syncopate_gil_self);
}
int syncopate_gil_enter(const void* pc) {
  return syncopate::elide::c_interface::lock().enter(syncopate_gil_self, pc);
}
int syncopate_gil_leave(void) {
  return syncopate::elide::c_interface::lock().leave(syncopate_gil_self);
}
int syncopate_gil_yield_slow(const void* pc) {
  return syncopate::elide::c_interface::lock().yield_slow(syncopate_gil_self, pc);
}
int syncopate_gil_block_begin(void) { return syncopate_gil_leave(); }
int syncopate_gil_block_end(const void* pc) { return syncopate_gil_enter(pc); }
int syncopate_gil_needs_lock(void) {
  return syncopate::elide::c_interface::lock().needs_lock(syncopate_gil_self);
}

void syncopate_gil_report(void) {
  using namespace syncopate::elide;
  const char* const how = std::getenv("SYNCOPATE_GIL_STATS");
  if (how == nullptr || *how == '\0') return;
  if (std::strcmp(how, "text") == 0) return print_gil_text(c_interface::lock(), stderr);
  if (std::strcmp(how, "json") == 0) return print_gil_json(c_interface::lock(), stderr);
  std::FILE* const file = std::fopen(how, "w");
  if (file == nullptr) return std::perror(how);
  print_gil_json(c_interface::lock(), file);
  std::fclose(file);
}

}  // extern "C"
