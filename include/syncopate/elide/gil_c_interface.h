// gil_c_interface.h -- defines the functions of <syncopate/gil.h>. For one file of a runtime.
// A runtime with a lock of its own names the whole gil<...> as SYNCOPATE_GIL_TYPE, and how that
// works unless told otherwise as SYNCOPATE_GIL_UNLESS_SET, before it includes this.
//
// SYNCOPATE_GIL        how the lock works: gil_options.h; balance unless set
// SYNCOPATE_GIL_STATS  text, json, or the name of a file for JSON; nothing unless set
// SYNCOPATE_GIL_TRACE  the name of a file: what threads touch is recorded in it (gil_recording.h),
//                      where the runtime was built with SYNCOPATE_GIL_RECORDS for the emulated
//                      machine; the lock then works as that needs it
#pragma once

#include <syncopate/elide/gil.h>
#include <syncopate/elide/gil_report.h>
#include <syncopate/gil.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#ifdef SYNCOPATE_GIL_RECORDS
#include <syncopate/elide/gil_recording.h>
#define SYNCOPATE_GIL_TYPE ::syncopate::elide::recording_gil
#endif
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

#ifdef SYNCOPATE_GIL_RECORDS
using recorder = gil_recorder;
#else
struct recorder {
  static const char* file() noexcept {
    if (std::getenv("SYNCOPATE_GIL_TRACE") != nullptr)
      std::fputs("syncopate: SYNCOPATE_GIL_TRACE: this build records nothing\n", stderr);
    return nullptr;
  }
  static void attached() noexcept {}
  static void entered() noexcept {}
  static void detached() noexcept {}
  template <class Gil>
  static void report(const Gil&) noexcept {}
};
#endif

// One stretch a transaction; under the lock only what can be no transaction.
inline gil_options recording_options() noexcept {
  gil_options options = *parse_gil_options("htm:1");
  options.retries = {.transient = 255, .held = 255};
  options.wait_limit = UINT32_MAX;
  return options;
}

inline gil_options options_from_environment() noexcept {
  if (recorder::file() != nullptr) return recording_options();
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

// How statistics are to be told; nullptr: not.
inline const char* statistics() noexcept {
  const char* const how = std::getenv("SYNCOPATE_GIL_STATS");
  return how == nullptr || *how == '\0' ? nullptr : how;
}

// The runtime's one lock. Leaked, so that threads may use it while the process ends.
inline SYNCOPATE_GIL_TYPE& lock() noexcept {
  static auto& instance =
      *new SYNCOPATE_GIL_TYPE(options_from_environment(), &syncopate_gil_wanted);
  return instance;
}

inline void print_statistics(const char* how) {
  if (std::strcmp(how, "text") == 0) return print_gil_text(lock(), stderr);
  if (std::strcmp(how, "json") == 0) return print_gil_json(lock(), stderr);
  std::FILE* const file = std::fopen(how, "w");
  if (file == nullptr) return std::perror(how);
  print_gil_json(lock(), file);
  const bool failed = std::ferror(file) != 0;
  if (std::fclose(file) != 0 || failed) std::perror(how);
}

}  // namespace syncopate::elide::c_interface

extern "C" {

int syncopate_gil_attach(void) {
  using namespace syncopate::elide::c_interface;
  const int error = lock().attach(syncopate_gil_self);
  if (error == 0) recorder::attached();
  return error;
}
int syncopate_gil_detach(void) {
  using namespace syncopate::elide::c_interface;
  const int error = lock().detach(syncopate_gil_self);
  if (error == 0) recorder::detached();
  return error;
}
int syncopate_gil_enter(const void* pc) {
  syncopate::elide::c_interface::recorder::entered();
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

void syncopate_gil_name_points(void (*name)(const void* pc, char* to, size_t room, void* context),
                               void* context) {
  using namespace syncopate::elide;
  if (c_interface::statistics() == nullptr) return;
  c_interface::lock().name_points(
      [=](const void* pc, char* to, size_t room) { name(pc, to, room, context); });
}

void syncopate_gil_report(void) {
  using namespace syncopate::elide::c_interface;
  auto& all = lock();
  const bool detached = all.state_of(syncopate_gil_self) == syncopate::elide::gil_state::detached;
  if (detached) recorder::report(all);
  const char* const how = statistics();
  if (how == nullptr) return;
  if (!detached) all.hand_in(syncopate_gil_self);
  all.while_settled([how] { print_statistics(how); });
}

}  // extern "C"
