// fiber_state.h -- what a fiber is made of, for the parts of the front end that keep something
// for each thread of the program.
#pragma once

#include <csignal>
#include <vector>

#include "model/front/libc/heap.h"
#include "model/front/threads/fiber.h"

namespace syncopate::instrument {

// A thread_local object's destructor that is still to run.
struct exit_duty {
  void (*function)(void*);
  void* object;
};

// What malloc and free did inside the hardware transaction that runs (transaction_memory.h).
struct transaction_memory {
  unsigned depth = 0;
  std::vector<void*> allocated;
  std::vector<void*> freed;
};

class fiber {
 public:
  void* context = nullptr;  // where it goes on (switch_stack in arch.h)
  std::uintptr_t pointer = 0;
  void (*entry)(void*) = nullptr;
  void* argument = nullptr;
  stack_bounds stack{0, 0};
  std::uintptr_t mapped_low = 0;
  unsigned slot = 0;
  bool used_before = false;

  heap_cache heap;
  std::vector<exit_duty> duties;
  std::vector<exit_duty> last_duties;  // behind all of those
  transaction_memory transaction;
  stack_t signal_stack{nullptr, SS_DISABLE, 0};  // signal_stacks.h
};

// Read at every malloc and every switch; written by fiber.cpp alone.
inline constinit fiber* running = nullptr;

// The program's static constructors run on the first OS thread's stack, but with the thread pointer
// and as the fiber of slot 0, so that what they do to thread_local variables is there in main.
void enter_constructors();
void leave_constructors();

// Calls function(fiber&) for each slot that was ever used, from the lowest.
void for_each_slot(void (*function)(fiber&));

// For machines that run the program several times: keeps and puts back what constructors left in
// slot 0's thread_local variables and duties (program_image.h).
void keep_main_locals();
void restore_main_locals();

}  // namespace syncopate::instrument
