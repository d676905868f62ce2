// library_transaction.h -- the library form of transaction.h: for compilers, and machines, without
// -fgnu-tm. A transaction is a call of libitm's interface; each access to a shared<T> in it is one,
// too.
//
// Differences from the compiled form: a local variable that a block writes keeps what an attempt
// that failed has written (the block must set it before it uses it), and so do accesses to what is
// not shared<T>; memory is the transaction's through operator new and delete, which
// library_transaction.cpp replaces.
#pragma once

#include <syncopate/tm/atomically.h>

#include <cstdint>
#include <type_traits>

namespace workloads::stamp {

// Of the thread. Attempts: how often one of its transactions has begun, or begun again.
struct transaction_state {
  bool running = false;
  std::uint64_t attempts = 0, commits = 0;
};
extern thread_local constinit transaction_state transactions_here;

// The block's life. Its argument is _ITM_beginTransaction's call, which returns once more when the
// transaction begins again.
class library_transaction {
 public:
  explicit library_transaction(std::uint32_t) {
    transactions_here.running = true;
    ++transactions_here.attempts;
  }
  ~library_transaction() {
    _ITM_commitTransaction();
    transactions_here.running = false;
    ++transactions_here.commits;
  }
  library_transaction(const library_transaction&) = delete;
  library_transaction& operator=(const library_transaction&) = delete;
};

// While one exists, the thread's accesses are no calls (transaction.h).
class untracked {
 public:
  untracked() : was_running_(transactions_here.running) { transactions_here.running = false; }
  ~untracked() { transactions_here.running = was_running_; }
  untracked(const untracked&) = delete;
  untracked& operator=(const untracked&) = delete;

 private:
  const bool was_running_;
};

// A value whose accesses in transactions are calls.
template <class T>
class tracked {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  tracked() = default;
  tracked(T value) : value_(value) {}  // NOLINT: as T itself; the object is new, nobody else's
  tracked(const tracked& other) : value_(other.get()) {}
  tracked& operator=(const tracked& other) { return *this = other.get(); }

  operator T() const { return get(); }  // NOLINT: as T itself
  T operator->() const requires std::is_pointer_v<T> { return get(); }
  tracked& operator=(T value) {
    if (!transactions_here.running) value_ = value;
    else if constexpr (sizeof(T) == 1) store<std::uint8_t>(_ITM_WU1, value);
    else if constexpr (sizeof(T) == 2) store<std::uint16_t>(_ITM_WU2, value);
    else if constexpr (sizeof(T) == 4) store<std::uint32_t>(_ITM_WU4, value);
    else if constexpr (sizeof(T) == 8) store<std::uint64_t>(_ITM_WU8, value);
    else _ITM_memcpyRnWt(&value_, &value, sizeof value);
    return *this;
  }

 private:
  [[nodiscard]] T get() const {
    if (!transactions_here.running) return value_;
    if constexpr (sizeof(T) == 1) return load<std::uint8_t>(_ITM_RU1);
    else if constexpr (sizeof(T) == 2) return load<std::uint16_t>(_ITM_RU2);
    else if constexpr (sizeof(T) == 4) return load<std::uint32_t>(_ITM_RU4);
    else if constexpr (sizeof(T) == 8) return load<std::uint64_t>(_ITM_RU8);
    else {
      T value;
      _ITM_memcpyRtWn(&value, &value_, sizeof value);
      return value;
    }
  }
  template <class U>
  T load(U (*access)(const U*)) const {
    const U bits = access(reinterpret_cast<const U*>(&value_));
    T value;
    __builtin_memcpy(&value, &bits, sizeof bits);
    return value;
  }
  template <class U>
  void store(void (*access)(U*, U), const T& value) {
    U bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    access(reinterpret_cast<U*>(&value_), bits);
  }

  T value_;
};

// As that of transaction.h.
template <class T>
void delete_array(T* array);
template <class T>
void delete_array(const tracked<T*>& array) {
  delete_array(static_cast<T*>(array));
}

}  // namespace workloads::stamp
