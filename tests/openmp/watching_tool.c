// A tool by OpenMP's interface for these: counts what the runtime tells it, and prints that at the
// end; and how often it is told of a caller in a library that is preloaded.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <omp-tools.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static atomic_int waits, taken, by_us;

static void look_at(const void* caller) {
  Dl_info module;
  if (dladdr(caller, &module) != 0 && strstr(module.dli_fname, "syncopate") != NULL) by_us++;
}

static void on_wait(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t* region,
                    ompt_data_t* task, const void* caller) {
  (void)kind, (void)region, (void)task;
  if (endpoint == ompt_scope_begin) waits++;
  look_at(caller);
}

static void on_taken(ompt_mutex_t kind, ompt_wait_id_t lock, const void* caller) {
  (void)kind, (void)lock;
  taken++;
  look_at(caller);
}

static void on_release(ompt_mutex_t kind, ompt_wait_id_t lock, const void* caller) {
  (void)kind, (void)lock;
  look_at(caller);
}

static void on_region(ompt_data_t* task, const ompt_frame_t* frame, ompt_data_t* region,
                      unsigned threads, int flags, const void* caller) {
  (void)task, (void)frame, (void)region, (void)threads, (void)flags;
  look_at(caller);
}

static void on_task(ompt_data_t* maker, const ompt_frame_t* frame, ompt_data_t* task, int flags,
                    int ordered, const void* caller) {
  (void)maker, (void)frame, (void)task, (void)flags, (void)ordered;
  look_at(caller);
}

static int begin(ompt_function_lookup_t find, int device, ompt_data_t* data) {
  (void)device, (void)data;
  const ompt_set_callback_t set = (ompt_set_callback_t)find("ompt_set_callback");
  set(ompt_callback_sync_region, (ompt_callback_t)on_wait);
  set(ompt_callback_mutex_acquired, (ompt_callback_t)on_taken);
  set(ompt_callback_mutex_released, (ompt_callback_t)on_release);
  set(ompt_callback_parallel_begin, (ompt_callback_t)on_region);
  set(ompt_callback_task_create, (ompt_callback_t)on_task);
  return 1;
}

static void end(ompt_data_t* data) {
  (void)data;
  printf("told of %d waits, %d locks, %d callers of ours\n", waits, taken, by_us);
}

ompt_start_tool_result_t* ompt_start_tool(unsigned version, const char* runtime) {
  (void)version, (void)runtime;
  static ompt_start_tool_result_t tool = {begin, end, {0}};
  return &tool;
}
