// task_waits.h -- while recording: waits for tasks. Who waits for some to be done (`taskwait`,
// `taskgroup`, what a task depends on, barriers and ends of regions that have tasks) runs others
// meanwhile: a wait is each stretch of that time in which the thread runs none.
//
// Where tasks are the runtime's, its call is such a wait, but for the bodies of the tasks that it
// runs: their functions are handed to it in a shell of ours (recorded_tasks.h). Where they are
// ours, who finds none to run says so (task_run.h).
#pragma once

#include <cstdint>

#include "openmp/runtime/runtime.h"
#include "openmp/teams/places.h"
#include "record/recorder.h"

namespace syncopate::openmp {

struct frame;

// Around a call by which the thread waits.
class task_wait {
 public:
  // Of a call that is passed on to a runtime, or that waits for tasks of ours. `caller`: the return
  // address of the program's call.
  task_wait(const binding& meant, const void* caller, place_type type = tasks_in_program) noexcept {
    begin(meant, caller, type);
  }
  // Of the end of a phase with tasks, behind the barrier that was called there; null: of a region.
  task_wait(const frame& f, const void* caller) noexcept { begin(f, caller); }
  // Of a runtime's barrier at the end of a region: what that is recorded by.
  explicit task_wait(std::uint32_t place) noexcept { begin_at(place, nullptr, false); }
  ~task_wait() {
    if (__builtin_expect(place_ != 0, 0)) end();
  }
  task_wait(const task_wait&) = delete;
  task_wait& operator=(const task_wait&) = delete;

 private:
  friend class task_body;
  friend class idle_time;
  // These, and those of the classes below, do nothing where nothing is recorded.
  void begin(const binding& meant, const void* caller, place_type type) noexcept;
  void begin(const frame& f, const void* caller) noexcept;
  void begin_barrier(const runtime& of, const void* place, const void* caller) noexcept;
  void begin_at(std::uint32_t place, const void* caller, bool by_us) noexcept;
  void end() noexcept;
  void go_on() noexcept;  // waiting
  void stop() noexcept;
  [[nodiscard]] bool is_untold() const noexcept;

  std::uint32_t place_ = 0;  // 0: it is not recorded
  bool by_us_ = false;       // tasks are ours: idle_time tells when the thread waits
  bool waits_ = false;
  record::wait_kind kind_ = record::wait_kind::barrier;  // of what it waits next
  frame* at_barrier_ = nullptr;                          // where arrivals are counted (arrivals.h)
  const void* caller_ = nullptr;
  task_wait* outer_ = nullptr;
  record::wait wait_;
};

// Around a task's body: its thread does not wait.
class task_body {
 public:
  explicit task_body(void (*function)()) noexcept { begin(function); }
  ~task_body() {
    if (__builtin_expect(is_told_, 0)) end();
  }
  task_body(const task_body&) = delete;
  task_body& operator=(const task_body&) = delete;

 private:
  void begin(void (*function)()) noexcept;
  void end() noexcept;

  bool is_told_ = false;
  task_wait* within_ = nullptr;
  void (*outer_)() = nullptr;
};

// Around the time in which a thread has no task of ours to run.
class idle_time {
 public:
  idle_time() noexcept { begin(); }
  ~idle_time() {
    if (__builtin_expect(of_ != nullptr, 0)) of_->stop();
  }
  idle_time(const idle_time&) = delete;
  idle_time& operator=(const idle_time&) = delete;

 private:
  void begin() noexcept;

  task_wait* of_ = nullptr;
};

// What the waits of the end of the caller's region for tasks, if it has some, are recorded by.
std::uint32_t tasks_of_region(const frame& f) noexcept;
// What others than who starts the region wait at its end is recorded by. `place`: the region's.
std::uint32_t end_of_region(const void* place) noexcept;

// Not all functions of tasks have a shell: what the runtime runs meanwhile is not known.
void cannot_tell_task_waits() noexcept;

}  // namespace syncopate::openmp
