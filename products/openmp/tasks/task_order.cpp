// task_order.cpp -- see task_order.h.
//
// Memory order (each tag stands at its site below)
//   [S]  successors: release RMW that adds one, acquire load that finds the list closed: what the
//        finished task did happens-before the later one.
//   [U]  relaxed: `unmet` is held above 0 by who makes the later task, who then decreases it with
//        acq_rel (tasks.cpp).
//   [R]  relaxed: the caller has a reference already.

#include "openmp/tasks/task_order.h"

#include <algorithm>
#include <new>

namespace syncopate::openmp {
namespace {

// As libgomp numbers what an omp_depend_t stands for.
constexpr std::uintptr_t depends_in = 1;

std::size_t number(void* const word) noexcept { return reinterpret_cast<std::size_t>(word); }

std::size_t hash(const void* address) noexcept {
  const auto bits = reinterpret_cast<std::uintptr_t>(address);
  return static_cast<std::size_t>((bits >> 3) * 0x9E3779B97F4A7C15u >> 20);
}

bool has_finished(const task& t) noexcept {
  return t.successors.load(std::memory_order_acquire) == &closed;  // [S]
}

// Lets `later` wait for `earlier`, unless that has finished.
void wait_for_task(task& earlier, task& later) noexcept {
  if (&earlier == &later || has_finished(earlier)) return;
  later.unmet.fetch_add(1, std::memory_order_relaxed);  // [U]
  auto* const link =
      new successor{&later, earlier.successors.load(std::memory_order_acquire)};  // [S]
  while (link->next != &closed)
    if (earlier.successors.compare_exchange_weak(link->next, link,
                                                 std::memory_order_release,   // [S]
                                                 std::memory_order_acquire))  // [S]
      return;
  later.unmet.fetch_sub(1, std::memory_order_relaxed);  // [U]
  delete link;
}

void add_reference(task& t) noexcept {
  t.counts.fetch_add(task::reference, std::memory_order_relaxed);  // [R]
}

template <class T>
void make_room(T*& list, std::size_t used, std::size_t& room) noexcept {
  if (used < room) return;
  room = std::max<std::size_t>(4, 2 * room);
  T* const larger = new T[room];
  std::copy_n(list, used, larger);
  delete[] list;
  list = larger;
}

}  // namespace

// The older form: how many, how many of these write, the addresses, those first. The newer: 0, how
// many, how many write, how many are mutexinoutset, how many read, addresses in this order, then
// omp_depend_t objects, each an address and its kind.
dependence_list::dependence_list(void** depend) noexcept
    : items_(depend + (number(depend[0]) != 0 ? 2 : 5)) {
  if (number(depend[0]) != 0) {
    count_ = plain_ = number(depend[0]);
    writers_ = number(depend[1]);
  } else {
    count_ = number(depend[1]);
    writers_ = number(depend[2]) + number(depend[3]);
    plain_ = writers_ + number(depend[4]);
  }
}

dependence_list::item dependence_list::operator[](std::size_t i) const noexcept {
  if (i < plain_) return {items_[i], i < writers_};
  void** const object = static_cast<void**>(items_[i]);
  return {object[0], number(object[1]) != depends_in};
}

bool dependence_list::has_all_memory() const noexcept {
  for (std::size_t i = 0; i < count_; ++i)
    if ((*this)[i].address == nullptr) return true;
  return false;
}

task_order::entry* task_order::find(void* address) const noexcept {
  if (buckets_ == 0) return nullptr;
  entry* e = table_[hash(address) & (buckets_ - 1)];
  while (e != nullptr && e->address != address) e = e->next;
  return e;
}

task_order::entry& task_order::find_or_add(void* address) noexcept {
  if (entry* const e = find(address)) return *e;
  if (entries_ == buckets_) grow();
  entry*& bucket = table_[hash(address) & (buckets_ - 1)];
  bucket = new entry{address, bucket};
  ++entries_;
  return *bucket;
}

void task_order::grow() noexcept {
  const std::size_t more = std::max<std::size_t>(16, 2 * buckets_);
  auto** const larger = new entry*[more]();
  for (std::size_t i = 0; i < buckets_; ++i)
    while (entry* const e = table_[i]) {
      table_[i] = e->next;
      entry*& bucket = larger[hash(e->address) & (more - 1)];
      e->next = bucket;
      bucket = e;
    }
  delete[] table_;
  table_ = larger;
  buckets_ = more;
}

void task_order::replaced(task* t) noexcept {
  if (t == nullptr) return;
  make_room(drops_, dropped_, room_for_drops_);
  drops_[dropped_++] = t;
}

void task_order::read(entry& e, task& t) noexcept {
  if (e.writer != nullptr) wait_for_task(*e.writer, t);
  if (e.readers == e.room) {  // many may have read since, and gone
    std::size_t left = 0;
    for (std::size_t i = 0; i < e.readers; ++i)
      if (has_finished(*e.reading[i])) replaced(e.reading[i]);
      else e.reading[left++] = e.reading[i];
    e.readers = left;
    if (2 * left > e.room || e.room == 0) make_room(e.reading, e.room, e.room);
  }
  add_reference(t);
  e.reading[e.readers++] = &t;
}

void task_order::write(entry& e, task& t) noexcept {
  if (e.writer != nullptr) wait_for_task(*e.writer, t);
  for (std::size_t i = 0; i < e.readers; ++i) {
    wait_for_task(*e.reading[i], t);
    replaced(e.reading[i]);
  }
  e.readers = 0;
  replaced(e.writer);
  add_reference(t);
  e.writer = &t;
}

void task_order::add(task& t, const dependence_list& wants) noexcept {
  for (std::size_t i = 0; i < wants.count(); ++i) {
    const auto [address, writes] = wants[i];
    entry& e = find_or_add(address);
    if (writes) write(e, t);
    else read(e, t);
  }
}

void task_order::wait_for(task& t, const dependence_list& wants) noexcept {
  for (std::size_t i = 0; i < wants.count(); ++i) {
    const auto [address, writes] = wants[i];
    const entry* const e = find(address);
    if (e == nullptr) continue;
    if (e->writer != nullptr) wait_for_task(*e->writer, t);
    if (!writes) continue;
    for (std::size_t r = 0; r < e->readers; ++r) wait_for_task(*e->reading[r], t);
  }
}

}  // namespace syncopate::openmp
