// operations.h -- what an algorithm is to those who use it: one table of functions.
//
// The thread's transaction points to the table of the algorithm that it runs under; an access is
// one indirect jump. make_operations() fills a table from an algorithm's static functions, so that
// an algorithm is written as templates and nothing in it is virtual.
#pragma once

#include "tm/logs/memory.h"

#include <type_traits>

namespace syncopate::tm {

struct transaction;

// Accesses of one width. Requires for the specialized ones, which the compiler knows to hold:
//   load_again      this transaction has read the same bytes before
//   load_own        this transaction has written them before
//   load_for_write  it is going to write them
//   store_again     it has written them before
template <class T>
struct accesses {
  T (*load)(const T*, transaction*);
  T (*load_again)(const T*, transaction*);
  T (*load_own)(const T*, transaction*);
  T (*load_for_write)(const T*, transaction*);
  void (*store)(T*, T, transaction*);
  void (*store_again)(T*, T, transaction*);
};

struct operations {
  accesses<u8> b1;
  accesses<u16> b2;
  accesses<u32> b4;
  accesses<u64> b8;
  // Copies from the program's memory to memory that no transaction needs to know of, and back.
  void (*load_block)(void* to, const void* from, std::size_t size, transaction*);
  void (*store_block)(void* to, const void* from, std::size_t size, transaction*);

  // Prepares an outermost transaction. Returns action_bits (transaction.h).
  u32 (*begin)(transaction*);
  // Makes its writes visible to all at once. Returns whether it did; otherwise nothing is changed,
  // and roll_back() is next.
  bool (*commit)(transaction*);
  // Takes everything back that the transaction wrote, and gives up what it holds.
  void (*roll_back)(transaction*);
  // For a transaction that was rolled back to wait: whether something may have changed that it
  // read. True where the algorithm has no log of that.
  bool (*has_changed)(const transaction*);
  const char* name;
  // One transaction at a time, by the mutex; and whether it may then do without a log (regime.h).
  bool is_in_turn = false;
  bool may_be_solo = true;
};

template <class A, class T>
constexpr accesses<T> make_accesses() {
  return {A::template load<T>,           A::template load_again<T>, A::template load_own<T>,
          A::template load_for_write<T>, A::template store<T>,      A::template store_again<T>};
}

template <class A>
constexpr operations make_operations(const char* name) {
  return {make_accesses<A, u8>(),
          make_accesses<A, u16>(),
          make_accesses<A, u32>(),
          make_accesses<A, u64>(),
          A::load_block,
          A::store_block,
          A::begin,
          A::commit,
          A::roll_back,
          A::has_changed,
          name,
          A::is_in_turn,
          A::may_be_solo};
}

// What most algorithms have in common: the special accesses are the general ones, and blocks are
// read and written piece by piece.
template <class A>
struct algorithm {
  static constexpr bool is_in_turn = false, may_be_solo = true;
  static bool has_changed(const transaction*) { return true; }

  template <class T>
  static T load_again(const T* at, transaction* tx) {
    return A::load(at, tx);
  }
  template <class T>
  static T load_own(const T* at, transaction* tx) {
    return A::load(at, tx);
  }
  template <class T>
  static T load_for_write(const T* at, transaction* tx) {
    return A::load(at, tx);
  }
  template <class T>
  static void store_again(T* at, T value, transaction* tx) {
    A::store(at, value, tx);
  }

  static void load_block(void* to, const void* from, std::size_t size, transaction* tx) {
    for_each_piece(from, size, [&](auto* piece, std::size_t offset) {
      const auto value =
          A::load(const_cast<const std::remove_pointer_t<decltype(piece)>*>(piece), tx);
      std::memcpy(static_cast<char*>(to) + offset, &value, sizeof value);
    });
  }
  // A value that is not aligned. By way of bytes: GCC takes the pieces of a T for larger than it.
  template <class T>
  [[gnu::noinline]] static T load_pieces(const T* at, transaction* tx) {
    unsigned char bytes[word_size];
    A::load_block(bytes, at, sizeof(T), tx);
    T value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
  }
  template <class T>
  [[gnu::noinline]] static void store_pieces(T* at, T value, transaction* tx) {
    unsigned char bytes[word_size];
    std::memcpy(bytes, &value, sizeof value);
    A::store_block(at, bytes, sizeof(T), tx);
  }
  static void store_block(void* to, const void* from, std::size_t size, transaction* tx) {
    for_each_piece(to, size, [&](auto* piece, std::size_t offset) {
      std::remove_pointer_t<decltype(piece)> value;
      std::memcpy(&value, static_cast<const char*>(from) + offset, sizeof value);
      A::store(piece, value, tx);
    });
  }
};

}  // namespace syncopate::tm
