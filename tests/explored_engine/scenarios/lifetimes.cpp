// Variables, heap blocks and threads that are not there yet or not any more, and right programs
// beside them. The argument names the scenario.
// Scenario: detached_writes_dead_frame 1 data race: a write and the return from the variable's
// Scenario: detached_writes_covered_frame 1 data race: a write and the return from the variable's
// Scenario: detached_writes_mains_frame 1 data race: .*the return from the variable's function
// Scenario: writes_frame_that_it_waited_for 1 (use after free|data race): .*variable
// Scenario: writes_frame_of_joined_thread 1 (use after free|data race): .*variable
// Scenario: waits_for_detached 0 passed:
// Scenario: detached_with_its_own_block 0 passed:
// Scenario: block_is_published_relaxed 1 data race: .*the allocation of the memory by thread 1
// Scenario: block_is_published 0 passed:
// Scenario: block_of_relaxed_atomics 1 data race: an atomic access and the allocation
// Scenario: block_is_passed_on 0 passed:
// Scenario: block_grows 0 passed:
// Scenario: frees_a_variable 1 failed check: free of memory on a stack
// Scenario: frees_a_static_variable 1 failed check: free of a variable that is static
// Scenario: frees_the_middle 1 failed check: free of an address 16 bytes inside a block
// Scenario: frees_twice 1 double free
// Scenario: alignments 0 passed:
// Scenario: joins_twice 1 failed check: join of a thread that was joined or detached before
// Scenario: joins_detached 1 failed check: join of a thread that is detached
// Scenario: joins_from_two_threads 1 failed check: join of a thread that
// Scenario: detaches_twice 1 failed check: detaching a thread that
// Scenario: detaches_joined 1 failed check: detaching a thread that was joined
// Scenario: joins_itself 0 passed:
#include <cassert>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>

#include <pthread.h>

namespace {

using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;

void* write_one(void* p) {
  *static_cast<int*>(p) = 1;
  return nullptr;
}

[[gnu::noinline]] void start_detached() {
  int variable;
  pthread_t t;
  pthread_create(&t, nullptr, write_one, &variable);
  pthread_detach(t);
}

void detached_writes_dead_frame() { start_detached(); }

std::mutex mutex;

[[gnu::noinline]] int use_much_stack() {
  volatile char space[300] = {};
  const std::lock_guard hold(mutex);
  return space[30];
}

void detached_writes_covered_frame() {
  start_detached();
  use_much_stack();
}

std::atomic<int*> published{nullptr};
std::atomic<int> stage{0};

// The variable of which it has been told is gone when it writes, and it knows.
void writes_frame_that_it_waited_for() {
  std::thread writer([] {
    while (stage.load(memory_order_acquire) == 0)
      ;
    *published.load(memory_order_relaxed) = 1;
  });
  const auto publish = [] [[gnu::noinline]] {
    int variable;
    published.store(&variable, memory_order_relaxed);
  };
  publish();
  stage.store(1, memory_order_release);
  writer.join();
}

void writes_frame_of_joined_thread() {
  std::thread([] {
    int variable;
    published.store(&variable, memory_order_relaxed);
  }).join();
  *published.load(memory_order_relaxed) = 1;
}

[[gnu::noinline]] int wait_for_detached() {
  int variable = 0;
  std::atomic<bool> done{false};
  std::thread([&] {
    variable = 1;
    done.store(true, memory_order_release);
  }).detach();
  while (!done.load(memory_order_acquire))
    ;
  return variable;
}

void waits_for_detached() { assert(wait_for_detached() + wait_for_detached() == 2); }

void detached_with_its_own_block() {
  static int global = 0;
  std::thread([p = std::make_unique<int>(0)] { *p = 1; }).detach();
  std::thread([] { global = 1; }).detach();
}

// A block of which another thread gets to know without order.
void publish_block(std::memory_order order) {
  std::thread maker(
      [order] { published.store(static_cast<int*>(std::malloc(sizeof(int))), order); });
  int* const p =
      published.load(order == memory_order_relaxed ? memory_order_relaxed : memory_order_acquire);
  if (p != nullptr) *p = 1;
  maker.join();
  std::free(published.load(memory_order_relaxed));
}

void block_is_published_relaxed() { publish_block(memory_order_relaxed); }
void block_is_published() { publish_block(memory_order_release); }

struct node {
  std::atomic<int> value;
};
std::atomic<node*> nodes{nullptr};

void block_of_relaxed_atomics() {
  std::thread maker([] { nodes.store(new node, memory_order_relaxed); });
  if (node* const n = nodes.load(memory_order_relaxed); n != nullptr)
    n->value.load(memory_order_relaxed);
  maker.join();
  delete nodes.load(memory_order_relaxed);
}

// Through a third thread, and freed there.
void block_is_passed_on() {
  std::atomic<int*> first{nullptr}, second{nullptr};
  std::thread middle([&] {
    int* p = nullptr;
    while ((p = first.load(memory_order_acquire)) == nullptr)
      ;
    second.store(p, memory_order_release);
  });
  std::thread last([&] {
    int* p = nullptr;
    while ((p = second.load(memory_order_acquire)) == nullptr)
      ;
    ++*p;
    delete p;
  });
  first.store(new int(0), memory_order_release);
  middle.join();
  last.join();
}

void block_grows() {
  auto* p = static_cast<char*>(std::malloc(10));
  p[9] = 1;
  p = static_cast<char*>(std::realloc(p, 1000));
  p[999] = 1;
  std::thread([p] { assert(p[9] == 1 && p[999] == 1); }).join();
  p = static_cast<char*>(std::realloc(p, 600));
  std::thread([p] { p[599] = 2; }).join();
  std::free(p);
}

void frees_a_variable() {
  int variable = 0;
  void* volatile p = &variable;
  std::free(p);
}

void frees_a_static_variable() {
  static long variable[4];
  void* volatile p = variable;
  std::free(p);
}

void frees_the_middle() {
  char* volatile p = static_cast<char*>(std::malloc(40));
  p = p + 16;
  std::free(p);
}

void frees_twice() {
  void* volatile p = std::malloc(40);
  std::free(p);
  std::free(p);
}

void alignments() {
  void* p = nullptr;
  assert(::posix_memalign(&p, 24, 8) == EINVAL);
  assert(::posix_memalign(&p, 4, 8) == EINVAL);
  assert(::posix_memalign(&p, 0, 8) == EINVAL);
  assert(p == nullptr);
  assert(::posix_memalign(&p, 64, 8) == 0 && reinterpret_cast<std::size_t>(p) % 64 == 0);
  std::free(p);
}

void* do_nothing(void*) { return nullptr; }

pthread_t start() {
  pthread_t t;
  pthread_create(&t, nullptr, do_nothing, nullptr);
  return t;
}

void joins_twice() {
  const pthread_t t = start();
  pthread_join(t, nullptr);
  pthread_join(t, nullptr);
}

void joins_detached() {
  const pthread_t t = start();
  pthread_detach(t);
  pthread_join(t, nullptr);
}

void joins_from_two_threads() {
  const pthread_t t = start();
  std::thread other([t] { pthread_join(t, nullptr); });
  pthread_join(t, nullptr);
  other.join();
}

void detaches_twice() {
  const pthread_t t = start();
  pthread_detach(t);
  pthread_detach(t);
}

void detaches_joined() {
  const pthread_t t = start();
  pthread_join(t, nullptr);
  pthread_detach(t);
}

void joins_itself() { assert(pthread_join(pthread_self(), nullptr) == EDEADLK); }

}  // namespace

#define RUN(scenario) \
  if (std::strcmp(name, #scenario) == 0) return scenario(), 0

int main(int, char** given) {
  const char* const name = given[1];
  int variable = 0;
  if (std::strcmp(name, "detached_writes_mains_frame") == 0) {
    std::thread([&] { variable = 1; }).detach();
    return 0;
  }
  RUN(detached_writes_dead_frame);
  RUN(detached_writes_covered_frame);
  RUN(writes_frame_that_it_waited_for);
  RUN(writes_frame_of_joined_thread);
  RUN(waits_for_detached);
  RUN(detached_with_its_own_block);
  RUN(block_is_published_relaxed);
  RUN(block_is_published);
  RUN(block_of_relaxed_atomics);
  RUN(block_is_passed_on);
  RUN(block_grows);
  RUN(frees_a_variable);
  RUN(frees_a_static_variable);
  RUN(frees_the_middle);
  RUN(frees_twice);
  RUN(alignments);
  RUN(joins_twice);
  RUN(joins_detached);
  RUN(joins_from_two_threads);
  RUN(detaches_twice);
  RUN(detaches_joined);
  RUN(joins_itself);
  return 2;
}
