// lifetimes.h -- what is there, and for whom: variables of functions that have not returned, heap
// blocks from their allocation on, pthread's objects from their initialization to their end.
#pragma once

#include "ends.h"
#include "heap.h"
#include "meetings.h"
#include "model/explored/memory/memory.h"
#include "model/explored/memory/shadow.h"
#include "object_table.h"
#include "thread_table.h"

#include <cstddef>

namespace syncopate::explored {

class lifetimes {
 public:
  lifetimes(memory& m, shadow& s, thread_table& threads, meetings& where, ends& end)
      : memory_(m), shadow_(s), threads_(threads), meetings_(where), ends_(end) {}

  void forget();  // an execution begins

  // The running thread accesses these bytes, or is about to. Fails unless they are there for it.
  void check(address at, std::size_t bytes, const char* what, place from) {
    check_freed(at, bytes, what, from);
    check_allocated(at, what, from);
    note_stack(at, what, from);
  }
  void check_freed(address at, std::size_t bytes, const char* what, place from) {
    if (shadow_.freed_at(at, bytes) != nullptr) fail_freed(at, bytes, what, from);
  }

  // Fails if nobody has written what the running thread reads: an atomic variable, or a plain one
  // of another thread. (What is its own may be half of what it is about to write.)
  void check_written(address at, std::size_t bytes, bool is_atomic, place from);

  // The atomic variable there, as it is now or from now on.
  [[nodiscard]] location_id location_of(address, unsigned bytes, place);

  // The running thread's stack ends there now.
  void leave_frames(address up_to, place);

  // Heap blocks begin, and go. (Their bytes are to be overwritten in memory, too.)
  void begin_block(address, std::size_t bytes, place);
  void end_block(address, std::size_t bytes, place);
  void unmap(address, std::size_t bytes, place);
  void tell_names() const { heap_.tell_names(); }

  // pthread's objects. check_new() before the memory is written, which ends what was there.
  void check_new(address, const char* what, place);
  void begin_object(address at, std::size_t bytes, const char* what, place from) {
    objects_.begin({at, bytes, what, from, true, 0});
  }
  void hold_object(address at, std::size_t bytes, const char* what, int by, place from) {
    objects_.hold(at, bytes, what, by, from);
  }
  void begin_wait(address condition, address mutex, place);
  void end_wait(address condition);
  void note_object(address at) { objects_.note(at, 1); }
  void end_objects(address at, std::size_t bytes) {
    if (objects_.may_be_in(at, bytes)) end_these_objects(at, bytes);
  }

 private:
  [[nodiscard]] const clock& known() const { return memory_.of(threads_.current()).happened; }
  void note_stack(address, const char* what, place);
  [[nodiscard]] bool is_of_other(address);
  void check_alive(thread_index owner, address, const char* what, place);
  void check_locals(thread_index owner, address, const char* what, place);
  void check_allocated(address at, const char* what, place from) {
    if (const heap_block* const b = heap_.block_of(at)) check_order_behind(*b, at, what, from);
  }
  void check_order_behind(const heap_block&, address, const char* what, place);
  [[noreturn]] void fail_freed(address, std::size_t bytes, const char* what, place);
  void fail_unordered_release(const access_record*, place);
  void end_these_objects(address, std::size_t bytes);
  void end_objects_with_memory(address, std::size_t bytes, place);
  void end_objects_on_stack(address up_to);

  memory& memory_;
  shadow& shadow_;
  thread_table& threads_;
  meetings& meetings_;
  ends& ends_;
  heap heap_;
  object_table objects_;
};

}  // namespace syncopate::explored
