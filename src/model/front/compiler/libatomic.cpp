// libatomic.cpp -- the functions of libatomic that clang calls where a type's own alignment is less
// than its size: for a std::atomic of a struct. Those of the machine's sizes are the machine's
// operations. The others stay libatomic's, which takes mutexes for them.
#include <atomic_seam.h>

#include <cstddef>
#include <cstdint>

#include "model/front/compiler/entered.h"
#include "model/front/program/options.h"
#include "model/front/pthread/real.h"

namespace instrument = syncopate::instrument;
using syncopate::engine::kind;
using syncopate::engine::operation;

namespace {

// Calls call.template operator()<T>() for a word T of that size. Returns whether there is one.
template <class Call>
bool with_word(std::size_t bytes, const volatile void* at, Call call) {
  if (bytes == 0 || reinterpret_cast<std::uintptr_t>(at) % bytes != 0) return false;
  switch (bytes) {
    case 1: call.template operator()<std::uint8_t>(); return true;
    case 2: call.template operator()<std::uint16_t>(); return true;
    case 4: call.template operator()<std::uint32_t>(); return true;
    case 8: call.template operator()<std::uint64_t>(); return true;
    case 16: call.template operator()<instrument::u128>(); return true;
    default: return false;
  }
}

// (What is given and taken need not be aligned as a word.)
template <class T>
T given(const void* from) {
  T value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}
template <class T>
void give(void* to, T value) {
  __builtin_memcpy(to, &value, sizeof value);
}

// libatomic's own. A program need not be linked with it, since we have its names.
template <class Function>
Function* real(const char* name) {
  const instrument::engine_scope inside;
  void* found = dlsym(RTLD_NEXT, name);
  if (found == nullptr)
    if (void* const library = dlopen("libatomic.so.1", RTLD_NOW)) found = dlsym(library, name);
  if (found == nullptr) instrument::fail("there is no libatomic.so.1 for %s()", name);
  return reinterpret_cast<Function*>(found);
}

}  // namespace

SYNCOPATE_NOTES_REGISTERS(void, __atomic_load)
(std::size_t bytes, const volatile void* at, void* into, int order) {
  const auto* const where = SYNCOPATE_CALLER;
  const bool done = with_word(bytes, at, [&]<class T>() {
    give(into, instrument::load(static_cast<const volatile T*>(at), order, where));
  });
  using function = void(std::size_t, const volatile void*, void*, int);
  if (!done) real<function>("__atomic_load")(bytes, at, into, order);
}

SYNCOPATE_NOTES_REGISTERS(void, __atomic_store)
(std::size_t bytes, volatile void* at, const void* value, int order) {
  const auto* const where = SYNCOPATE_CALLER;
  const bool done = with_word(bytes, at, [&]<class T>() {
    instrument::store(static_cast<volatile T*>(at), given<T>(value), order, where);
  });
  using function = void(std::size_t, volatile void*, const void*, int);
  if (!done) real<function>("__atomic_store")(bytes, at, value, order);
}

SYNCOPATE_NOTES_REGISTERS(void, __atomic_exchange)
(std::size_t bytes, volatile void* at, const void* value, void* into, int order) {
  const auto* const where = SYNCOPATE_CALLER;
  const bool done = with_word(bytes, at, [&]<class T>() {
    give(into, instrument::modify(static_cast<volatile T*>(at), operation::exchange,
                                  given<T>(value), order, where));
  });
  using function = void(std::size_t, volatile void*, const void*, void*, int);
  if (!done) real<function>("__atomic_exchange")(bytes, at, value, into, order);
}

// Nobody says whether it is a weak one.
SYNCOPATE_NOTES_REGISTERS(bool, __atomic_compare_exchange)
(std::size_t bytes, volatile void* at, void* expected, const void* desired, int order, int failed) {
  const auto* const where = SYNCOPATE_CALLER;
  bool exchanged = false;
  const bool done = with_word(bytes, at, [&]<class T>() {
    instrument::access_expected(expected, bytes, kind::read, where);
    const T found =
        instrument::compare_exchange(static_cast<volatile T*>(at), given<T>(expected),
                                     given<T>(desired), order, failed, false, exchanged, where);
    if (exchanged) return;
    instrument::access_expected(expected, bytes, kind::write, where);
    give(expected, found);
  });
  if (done) return exchanged;
  using function = bool(std::size_t, volatile void*, void*, const void*, int, int);
  return real<function>("__atomic_compare_exchange")(bytes, at, expected, desired, order, failed);
}
