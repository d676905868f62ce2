#include "tm/logs/exceptions.h"

// The C++ library is there only in C++ programs.
extern "C" {
[[gnu::weak]] void __cxa_tm_cleanup(void* unthrown, void* in_cleanup, unsigned int caught) noexcept;
[[gnu::weak]] void _Unwind_DeleteException(void*);
}

namespace syncopate::tm {

namespace {

// What the C++ library has of each exception (Itanium C++ ABI, section 2.2.1).
struct caught_exception {
  void *type, *destroy, *unexpected, *terminate, *next;
  int handlers;  // negative: thrown on
  int of_handler;
  void *actions, *language, *landing, *adjusted;
  alignas(16) u64 in_flight[1];
};

// The handler's exception, if that handler has thrown it on, as `exception`. It is older than the
// transaction: handlers inside have ended.
caught_exception* thrown_on(const void* exception) noexcept {
  auto* const top = __cxa_get_globals != nullptr
                        ? static_cast<caught_exception*>(__cxa_get_globals()->caught)
                        : nullptr;
  return top != nullptr && top->in_flight == exception && top->handlers < 0 ? top : nullptr;
}

constexpr u64 cxx_classes = 0x474e5543432b2b00;  // "GNUCC++" and a byte for the kind

// The destructor does not run: what the exception has allocated goes with the transaction's blocks.
void free_in_flight(void* exception) noexcept {
  const bool is_cxx = (*static_cast<const u64*>(exception) & ~u64{0xff}) == cxx_classes;
  if (is_cxx && __cxa_tm_cleanup != nullptr) return __cxa_tm_cleanup(nullptr, exception, 0);
  if (_Unwind_DeleteException != nullptr) _Unwind_DeleteException(exception);
}

}  // namespace

u32 uncaught_exceptions() noexcept {
  return __cxa_get_globals != nullptr ? __cxa_get_globals()->uncaught : 0;
}

void note_exceptions(exceptions& now) noexcept {
  if (now.any) return;
  now.any = true;
  now.uncaught_before = uncaught_exceptions();
}

void revert_exceptions(exceptions& now, const exceptions& before) noexcept {
  if (!now.any && now.in_flight == nullptr) return;
  if (now.in_flight != nullptr) {
    if (caught_exception* const older = thrown_on(now.in_flight)) {
      older->handlers = -older->handlers;
      if (!now.any) --__cxa_get_globals()->uncaught;
    } else {
      free_in_flight(now.in_flight);
    }
    now.in_flight = nullptr;
  }
  if (__cxa_tm_cleanup != nullptr &&
      (now.unthrown != before.unthrown || now.caught > before.caught))
    __cxa_tm_cleanup(now.unthrown != before.unthrown ? now.unthrown : nullptr, nullptr,
                     now.caught > before.caught ? now.caught - before.caught : 0);
  if (now.any && __cxa_get_globals != nullptr) __cxa_get_globals()->uncaught = now.uncaught_before;
  now = before;
}

}  // namespace syncopate::tm
