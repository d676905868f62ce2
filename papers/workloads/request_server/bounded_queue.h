// bounded_queue.h -- a queue between threads, which makes those wait that are too fast.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

template <class T>
class bounded_queue {
 public:
  explicit bounded_queue(std::size_t capacity) : capacity_(capacity) {}

  // Blocks while the queue is full.
  void push(T item) {
    std::unique_lock hold(mutex_);
    not_full_.wait(hold, [this] { return items_.size() < capacity_; });
    items_.push_back(std::move(item));
    not_empty_.notify_one();
  }

  // Blocks while the queue is empty. Returns nothing once it is closed, too.
  std::optional<T> pop() {
    std::unique_lock hold(mutex_);
    not_empty_.wait(hold, [this] { return !items_.empty() || closed_; });
    if (items_.empty()) return std::nullopt;
    T item = std::move(items_.front());
    items_.pop_front();
    not_full_.notify_one();
    return item;
  }

  // Nothing will be pushed any more.
  void close() {
    const std::lock_guard hold(mutex_);
    closed_ = true;
    not_empty_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable not_full_, not_empty_;
  std::deque<T> items_;
  const std::size_t capacity_;
  bool closed_ = false;
};
