// Locks of other kinds and places, for test_advise.py: on the heap, of readers and writers, nested,
// with condition variables, of one thread alone, of what is the thread's own, and with more data
// than a transaction holds.
#include <condition_variable>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <utility>
#include <vector>

namespace {

constexpr int sections = 10;

struct bucket {
  std::mutex lock;
  alignas(64) long count = 0;
};
std::unique_ptr<bucket> make_bucket() { return std::make_unique<bucket>(); }
std::vector<std::unique_ptr<bucket>> buckets;  // both threads count in both

alignas(64) std::shared_mutex read_lock;
alignas(64) long looked_at = 1;

alignas(64) std::mutex outer_lock;
alignas(64) std::mutex inner_lock;
alignas(64) long inner_count;

alignas(64) std::mutex queue_lock;
alignas(64) std::condition_variable queue_filled;
struct node {
  node* next;
};
alignas(64) node* queue_first;

alignas(64) std::mutex large_lock;
alignas(64) long large[2][32 * 1024];  // 256 KiB for each thread

alignas(64) std::mutex own_lock;
thread_local long own_count;

alignas(64) std::mutex lonely_lock;

void use_buckets() {
  for (int i = 0; i < sections; ++i) {
    for (const auto& each : buckets) {
      const std::scoped_lock hold(each->lock);
      ++each->count;
    }
  }
}

long read_together() {
  long sum = 0;
  for (int i = 0; i < sections; ++i) {
    const std::shared_lock hold(read_lock);
    sum += looked_at;
  }
  return sum;
}

void nest() {
  for (int i = 0; i < sections; ++i) {
    const std::scoped_lock hold(outer_lock);
    const std::scoped_lock hold_too(inner_lock);
    ++inner_count;
  }
}

void produce() {
  for (int i = 0; i < sections; ++i) {
    const std::scoped_lock hold(queue_lock);
    queue_first = new node{queue_first};
    queue_filled.notify_one();
  }
}

void consume() {
  for (int i = 0; i < sections; ++i) {
    std::unique_lock hold(queue_lock);
    while (queue_first == nullptr) queue_filled.wait(hold);
    delete std::exchange(queue_first, queue_first->next);
  }
}

void fill(int me) {
  for (int i = 0; i < 2; ++i) {
    const std::scoped_lock hold(large_lock);
    for (long& each : large[me]) each = i;
  }
}

void count_own() {
  for (int i = 0; i < sections; ++i) {
    const std::scoped_lock hold(own_lock);
    ++own_count;
  }
}

void run(int me) {
  use_buckets();
  looked_at = read_together() > 0 ? 1 : 0;
  nest();
  me == 0 ? produce() : consume();
  fill(me);
  count_own();
}

}  // namespace

int main() {
  for (int i = 0; i < 2; ++i) buckets.push_back(make_bucket());
  std::thread other(run, 1);
  run(0);
  other.join();
  const std::scoped_lock hold(lonely_lock);
}
