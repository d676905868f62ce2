// stack_copy.cpp -- save() and restore() of fiber.h.
#include <cstdint>
#include <cstring>

#include "model/front/program/options.h"
#include "model/front/scope.h"
#include "model/front/threads/arch.h"
#include "model/front/threads/fiber.h"

namespace syncopate::instrument {

struct stack_copy {
  registers saved;  // the first member: save() is assembly (arch_*.cpp)
  int depth = 0;
  std::uint32_t code = 0;
  unsigned char* bytes = nullptr;
  std::size_t size = 0;
  std::size_t capacity = 0;
  // restore() runs here while it overwrites the stack it was called on.
  alignas(16) unsigned char own_stack[16 << 10];
};

stack_copy* new_stack_copy() { return new stack_copy; }

void delete_stack_copy(stack_copy* copy) {
  delete[] copy->bytes;
  delete copy;
}

namespace {

void put_back(void* argument) {
  const auto& copy = *static_cast<const stack_copy*>(argument);
  std::memcpy(reinterpret_cast<void*>(copy.saved.stack_pointer), copy.bytes, copy.size);
  machine_depth = copy.depth;
  resume(copy.saved, copy.code);
}

}  // namespace

void restore(stack_copy* copy, std::uint32_t code) noexcept {
  copy->code = code;
  call_on_stack(copy->own_stack + sizeof copy->own_stack, put_back, copy);
}

}  // namespace syncopate::instrument

// Called by save() with the registers filled in.
extern "C" [[gnu::visibility("hidden")]] void syncopate_copy_stack(
    syncopate::instrument::stack_copy* copy) noexcept {
  using namespace syncopate::instrument;
  const std::uintptr_t low = copy->saved.stack_pointer;
  const stack_bounds bounds = stack_of(running_fiber());
  if (low < bounds.low || low >= bounds.high) fail("internal error: a stack copy off its stack");
  copy->size = bounds.high - low;
  if (copy->size > copy->capacity) {
    delete[] copy->bytes;
    copy->capacity = copy->size * 2;
    // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): without memory the program ends here
    copy->bytes = new unsigned char[copy->capacity];
  }
  std::memcpy(copy->bytes, reinterpret_cast<const void*>(low), copy->size);
  copy->depth = machine_depth;
}
