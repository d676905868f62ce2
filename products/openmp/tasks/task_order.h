// task_order.h -- which tasks have to wait for which (`depend`), among the children of one task.
//
// The table belongs to the task that makes them: its thread alone uses it. An entry keeps, of an
// address, the last task that writes there and those that have read since, with a reference on
// each. mutexinoutset, and what a later compiler may add, counts as inout: an order where none was
// needed, never none where one was.
#pragma once

#include <cstddef>
#include <cstdint>

#include "openmp/tasks/task.h"

namespace syncopate::openmp {

// What the compiler passes of a `depend` clause, in its two forms.
class dependence_list {
 public:
  explicit dependence_list(void** depend) noexcept;
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  struct item {
    void* address;
    bool writes;
  };
  [[nodiscard]] item operator[](std::size_t i) const noexcept;
  // Whether one of them stands for all memory (GCC 13's omp_all_memory).
  [[nodiscard]] bool has_all_memory() const noexcept;

 private:
  void** const items_;
  std::size_t count_, writers_, plain_;
};

class task_order {
 public:
  task_order() noexcept = default;
  task_order(const task_order&) = delete;
  task_order& operator=(const task_order&) = delete;

  // Lets `t` wait for all that it depends on, and those made later for it. Requires: t.unmet > 0
  // by who calls.
  void add(task& t, const dependence_list& wants) noexcept;
  // Only the first: later ones need not wait for `t`.
  void wait_for(task& t, const dependence_list& wants) noexcept;

  // All references that the table has. drop(task&) for each.
  template <class Drop>
  void clear(Drop drop) noexcept {
    for (std::size_t i = 0; i < buckets_; ++i)
      while (entry* const e = table_[i]) {
        table_[i] = e->next;
        if (e->writer != nullptr) drop(*e->writer);
        for (std::size_t r = 0; r < e->readers; ++r) drop(*e->reading[r]);
        delete[] e->reading;
        delete e;
      }
    for (std::size_t i = 0; i < dropped_; ++i) drop(*drops_[i]);
    delete[] table_;
    delete[] drops_;
    table_ = nullptr;
    drops_ = nullptr;
    buckets_ = entries_ = dropped_ = room_for_drops_ = 0;
  }
  // Those that the last call has replaced.
  template <class Drop>
  void drop_replaced(Drop drop) noexcept {
    for (std::size_t i = 0; i < dropped_; ++i) drop(*drops_[i]);
    dropped_ = 0;
  }

 private:
  struct entry {
    void* address;
    entry* next = nullptr;
    task* writer = nullptr;
    task** reading = nullptr;
    std::size_t readers = 0, room = 0;
  };

  entry* find(void* address) const noexcept;
  entry& find_or_add(void* address) noexcept;
  void grow() noexcept;
  void read(entry& e, task& t) noexcept;
  void write(entry& e, task& t) noexcept;
  void replaced(task* t) noexcept;

  entry** table_ = nullptr;
  std::size_t buckets_ = 0, entries_ = 0;
  task** drops_ = nullptr;
  std::size_t dropped_ = 0, room_for_drops_ = 0;
};

}  // namespace syncopate::openmp
