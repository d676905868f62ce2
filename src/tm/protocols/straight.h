// straight.h -- accesses straight to memory, for transactions beside which none writes.
#pragma once

#include "tm/core/transaction.h"

#include <cstring>

namespace syncopate::tm {

template <class A>
struct straight : algorithm<A> {
  template <class T>
  static T load(const T* at, transaction*) {
    return peek(at);
  }
  template <class T>
  static void store(T* at, T value, transaction*) {
    poke(at, value);
  }
  static void load_block(void* to, const void* from, std::size_t size, transaction*) {
    std::memcpy(to, from, size);
  }
  static void store_block(void* to, const void* from, std::size_t size, transaction*) {
    std::memcpy(to, from, size);
  }
  static u32 begin(transaction*) { return started; }
  static bool commit(transaction*) { return true; }
  static void roll_back(transaction*) {}
};

}  // namespace syncopate::tm
