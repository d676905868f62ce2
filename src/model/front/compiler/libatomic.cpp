// libatomic.cpp -- the functions of libatomic that clang calls where a type's own alignment is less
// than its size, and both where there is no word of that size: for a std::atomic of a struct. Those
// of the machine's sizes are the machine's operations. For the others libatomic takes mutexes, or
// the processor's operations on words around them, which no machine would see. So a word that
// counts changes stands for them: an operation on it, and what is to be done is done before anybody
// else runs, threads being fibers. They are ordered as they ask for, and read the newest value.
#include <atomic_seam.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "model/front/compiler/entered.h"
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

using counted = std::uint64_t;
constexpr std::size_t words = 1024;
constinit counted changes[words] = {};

counted* changes_of(const volatile void* at) {
  return &changes[reinterpret_cast<std::uintptr_t>(at) / 4 % words];
}
// Nobody else runs in between, and nobody is told of these accesses.
void copy(volatile void* to, const volatile void* from, std::size_t bytes) {
  const instrument::engine_scope inside;
  std::memcpy(const_cast<void*>(to), const_cast<const void*>(from), bytes);
}
bool same(const volatile void* one, const void* other, std::size_t bytes) {
  const instrument::engine_scope inside;
  return std::memcmp(const_cast<const void*>(one), other, bytes) == 0;
}

}  // namespace

SYNCOPATE_NOTES_REGISTERS(void, __atomic_load)
(std::size_t bytes, const volatile void* at, void* into, int order) {
  const auto* const where = SYNCOPATE_CALLER;
  const bool done = with_word(bytes, at, [&]<class T>() {
    give(into, instrument::load(static_cast<const volatile T*>(at), order, where));
  });
  if (done) return;
  instrument::modify(changes_of(at), operation::add, counted{0}, order, where);
  copy(into, at, bytes);
}

SYNCOPATE_NOTES_REGISTERS(void, __atomic_store)
(std::size_t bytes, volatile void* at, const void* value, int order) {
  const auto* const where = SYNCOPATE_CALLER;
  const bool done = with_word(bytes, at, [&]<class T>() {
    instrument::store(static_cast<volatile T*>(at), given<T>(value), order, where);
  });
  if (done) return;
  instrument::modify(changes_of(at), operation::add, counted{1}, order, where);
  copy(at, value, bytes);
}

SYNCOPATE_NOTES_REGISTERS(void, __atomic_exchange)
(std::size_t bytes, volatile void* at, const void* value, void* into, int order) {
  const auto* const where = SYNCOPATE_CALLER;
  const bool done = with_word(bytes, at, [&]<class T>() {
    give(into, instrument::modify(static_cast<volatile T*>(at), operation::exchange,
                                  given<T>(value), order, where));
  });
  if (done) return;
  instrument::modify(changes_of(at), operation::add, counted{1}, order, where);
  // (What is given may be where the old value is to be.)
  auto* const old_bytes = static_cast<unsigned char*>(into);
  const auto* const new_bytes = static_cast<const unsigned char*>(value);
  auto* const bytes_there = static_cast<volatile unsigned char*>(at);
  for (std::size_t i = 0; i < bytes; ++i) {
    const unsigned char next = new_bytes[i];
    old_bytes[i] = bytes_there[i];
    bytes_there[i] = next;
  }
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
  // Nobody has changed it in between if nobody has counted.
  instrument::access_expected(expected, bytes, kind::read, where);
  counted* const count = changes_of(at);
  for (;;) {
    const counted seen = instrument::modify(count, operation::add, counted{0}, failed, where);
    if (!same(at, expected, bytes)) break;
    instrument::compare_exchange(count, seen, seen + 1, order, failed, false, exchanged, where);
    if (!exchanged) continue;
    copy(at, desired, bytes);
    return true;
  }
  instrument::access_expected(expected, bytes, kind::write, where);
  copy(expected, at, bytes);
  return false;
}
