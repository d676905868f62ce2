// producer_consumer.cpp -- a bounded queue: two producers, two consumers, condition variables.

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "check.h"

namespace {

constexpr int per_producer = 40, capacity = 4, end_mark = -1;

class bounded_queue {
 public:
  void put(int value) {
    std::unique_lock lock(mutex_);
    not_full_.wait(lock, [this] { return items_.size() < capacity; });
    items_.push_back(value);
    not_empty_.notify_one();
  }
  int take() {
    std::unique_lock lock(mutex_);
    not_empty_.wait(lock, [this] { return !items_.empty(); });
    const int value = items_.front();
    items_.pop_front();
    not_full_.notify_one();
    return value;
  }

 private:
  std::mutex mutex_;
  std::condition_variable not_full_, not_empty_;
  std::deque<int> items_;
};

}  // namespace

int main() {
  bounded_queue queue;
  std::vector<std::thread> producers, consumers;
  int sums[2] = {}, counts[2] = {};
  for (int p = 0; p < 2; ++p)
    producers.emplace_back([&, p] {
      for (int i = 0; i < per_producer; ++i) queue.put(p * per_producer + i);
    });
  for (int c = 0; c < 2; ++c)
    consumers.emplace_back([&, c] {
      for (int value; (value = queue.take()) != end_mark;) {
        sums[c] += value;
        ++counts[c];
      }
    });
  for (std::thread& t : producers) t.join();
  queue.put(end_mark);
  queue.put(end_mark);
  for (std::thread& t : consumers) t.join();
  CHECK(counts[0] + counts[1] == 2 * per_producer);
  CHECK(sums[0] + sums[1] == 2 * per_producer * (2 * per_producer - 1) / 2);
}
