// atomically.h -- transactions as a library, for compilers without -fgnu-tm. Link with -litm.
//
//     namespace stm = syncopate::tm;                // <ctime> has a struct tm
//     stm::var<long> from, to;
//     stm::atomically([&](stm::tx& t) {
//       if (from.get(t) < 10) t.retry();            // sleeps until something read changes
//       from.set(t, from.get(t) - 10);
//       to.set(t, to.get(t) + 10);
//     });
//
// The algorithms are those of libitm.so.1 (docs/tm.md), reached through the compilers' interface,
// so that transactions of this form and compiled ones work on the same data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#ifdef __cpp_exceptions
#include <cxxabi.h>
#include <exception>
#endif

extern "C" {
[[gnu::returns_twice]] std::uint32_t _ITM_beginTransaction(std::uint32_t, ...);
void _ITM_commitTransaction();
[[noreturn]] void _ITM_abortTransaction(int);
void _ITM_addUserCommitAction(void (*)(void*), std::uint64_t, void*);
void _ITM_addUserUndoAction(void (*)(void*), void*);
std::uint8_t _ITM_RU1(const std::uint8_t*);
std::uint16_t _ITM_RU2(const std::uint16_t*);
std::uint32_t _ITM_RU4(const std::uint32_t*);
std::uint64_t _ITM_RU8(const std::uint64_t*);
void _ITM_WU1(std::uint8_t*, std::uint8_t);
void _ITM_WU2(std::uint16_t*, std::uint16_t);
void _ITM_WU4(std::uint32_t*, std::uint32_t);
void _ITM_WU8(std::uint64_t*, std::uint64_t);
void _ITM_memcpyRtWn(void*, const void*, std::size_t);
void _ITM_memcpyRnWt(void*, const void*, std::size_t);
}

namespace syncopate::tm {

#ifdef __cpp_exceptions
namespace detail {

// The handlers of exceptions that the calling thread is in when a transaction begins.
class handlers {
 public:
  handlers() noexcept : of_thread_(*reinterpret_cast<state*>(abi::__cxa_get_globals())) {}
  // Leaves those that an attempt was in when it rolled back: their exceptions end.
  void leave_others() const noexcept {
    while (of_thread_.caught != before_.caught && of_thread_.caught != nullptr)
      abi::__cxa_end_catch();
    of_thread_.uncaught = before_.uncaught;
  }

 private:
  struct state {  // __cxa_eh_globals (Itanium C++ ABI, section 2.2.2)
    void* caught;
    unsigned uncaught;
  };
  state& of_thread_;
  const state before_ = of_thread_;
};

}  // namespace detail
#endif

// The running transaction. Made by atomically() only.
class tx {
 public:
  tx(const tx&) = delete;
  tx& operator=(const tx&) = delete;

  // Takes everything back; atomically() returns false.
  [[noreturn]] void cancel() { _ITM_abortTransaction(1); }
  // Takes everything back and begins again when something that it has read may have changed.
  [[noreturn]] void retry() { _ITM_abortTransaction(2); }
  // Calls function(argument) after the commit, or each time that the transaction rolls back.
  void on_commit(void (*function)(void*), void* argument) {
    _ITM_addUserCommitAction(function, 1, argument);
  }
  void on_abort(void (*function)(void*), void* argument) {
    _ITM_addUserUndoAction(function, argument);
  }

 private:
  tx() = default;
  template <class Body>
  friend bool atomically(Body&& body);
};

// A value that transactions share. Outside of transactions: unsafe_get() and unsafe_set(), where no
// transaction can be using it.
template <class T>
class var {
  static_assert(std::is_trivially_copyable_v<T>, "transactions copy values byte by byte");

 public:
  var() = default;
  explicit var(const T& value) : value_(value) {}
  var(const var&) = delete;
  var& operator=(const var&) = delete;

  [[nodiscard]] T get(tx&) const {
    T value;
    if constexpr (sizeof(T) == 1) load<std::uint8_t>(_ITM_RU1, value);
    else if constexpr (sizeof(T) == 2) load<std::uint16_t>(_ITM_RU2, value);
    else if constexpr (sizeof(T) == 4) load<std::uint32_t>(_ITM_RU4, value);
    else if constexpr (sizeof(T) == 8) load<std::uint64_t>(_ITM_RU8, value);
    else _ITM_memcpyRtWn(&value, &value_, sizeof value);
    return value;
  }
  void set(tx&, const T& value) {
    if constexpr (sizeof(T) == 1) store<std::uint8_t>(_ITM_WU1, value);
    else if constexpr (sizeof(T) == 2) store<std::uint16_t>(_ITM_WU2, value);
    else if constexpr (sizeof(T) == 4) store<std::uint32_t>(_ITM_WU4, value);
    else if constexpr (sizeof(T) == 8) store<std::uint64_t>(_ITM_WU8, value);
    else _ITM_memcpyRnWt(&value_, &value, sizeof value);
  }
  [[nodiscard]] const T& unsafe_get() const { return value_; }
  void unsafe_set(const T& value) { value_ = value; }

 private:
  template <class U>
  void load(U (*access)(const U*), T& value) const {
    const U bits = access(reinterpret_cast<const U*>(&value_));
    __builtin_memcpy(&value, &bits, sizeof bits);
  }
  template <class U>
  void store(void (*access)(U*, U), const T& value) {
    U bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    access(reinterpret_cast<U*>(&value_), bits);
  }

  T value_{};
};

// Runs body(tx&) as one transaction, again from its start where another one was in the way. An
// exception that leaves the body commits and passes on. Returns false if the body canceled.
// Requires: what the body shares with other threads are var<T>s; it makes no object with a
// destructor that must run while it calls get(), set() or anything of tx (starting again skips
// destructors; it may do so in a handler of an exception, which then ends). Blocking; where it runs
// inside of another transaction, the outer one decides.
template <class Body>
[[gnu::noinline]] bool atomically(Body&& body) {
  constexpr std::uint32_t instrumented_code = 1, aborted = 16;
#ifdef __cpp_exceptions
  const detail::handlers outside;
  std::exception_ptr failure;
  const std::uint32_t begun = _ITM_beginTransaction(instrumented_code);
  outside.leave_others();
  failure = nullptr;  // of an attempt that did not commit
  if (begun & aborted) return false;
  tx t;
  try {
    body(t);
  } catch (...) {
    failure = std::current_exception();
  }
  _ITM_commitTransaction();
  if (failure) std::rethrow_exception(failure);
#else
  if (_ITM_beginTransaction(instrumented_code) & aborted) return false;
  tx t;
  body(t);
  _ITM_commitTransaction();
#endif
  return true;
}

}  // namespace syncopate::tm
