// Threads, what they own, and what they hand to each other. What each program is, table.txt says.
#include <atomic>
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "program.h"

namespace {

using namespace std::chrono_literals;
using enum std::memory_order;

// Threads that are asked to stop.
template <bool ByToken>
void stop_token() {
  int turns = 0;
  bool stops = false;
  {
    std::jthread worker([&](const std::stop_token& asked) {
      while (ByToken ? !asked.stop_requested() : !stops) {
        ++turns;
        std::this_thread::yield();
      }
    });
    stops = true;
  }
  assert(turns >= 0);
}

// Sleeps until it is asked to stop: the wait has to know of the token.
template <bool Knows>
void stop_sleeper() {
  std::mutex mutex;
  std::condition_variable_any changed;
  bool ready = false;
  std::jthread worker([&](std::stop_token asked) {
    std::unique_lock lock(mutex);
    if (Knows) changed.wait(lock, std::move(asked), [&] { return ready; });
    else changed.wait(lock, [&] { return ready || asked.stop_requested(); });
  });
}

template <bool Atomic>
void stop_callback() {
  std::atomic<int> calls{0};
  int plain = 0;
  std::jthread worker([&](const std::stop_token& asked) {
    const std::stop_callback callback(asked, [&] { Atomic ? ++calls : ++plain; });
    if (!Atomic) ++plain;
  });
  worker.request_stop();
  worker.join();
  assert(calls <= 1);  // none, if it has ended before
}

// Futures.
enum class future { right, reads_beside, broken, twice, exception };
template <future Form>
void promise() {
  std::promise<int> given;
  int beside = 0;
  std::future<int> got = given.get_future();
  both(
      [&] {
        if (Form == future::broken) {
          const std::promise<int> gone = std::move(given);
          return;
        }
        beside = 1;
        if (Form == future::exception) {
          given.set_exception(std::make_exception_ptr(std::runtime_error("no")));
          return;
        }
        given.set_value(1);
        if (Form == future::twice) given.set_value(2);
      },
      [&] {
        if (Form == future::reads_beside) {
          assert(beside == 1);
        } else if (Form == future::exception) {
          bool caught = false;
          try {
            got.get();
          } catch (const std::runtime_error&) {
            caught = true;
          }
          assert(caught);
        } else {
          assert(got.get() == 1 && beside == 1);
        }
      });
}

template <std::launch How, bool Gets>
void async() {
  int count = 0;
  auto job = std::async(How, [&] { return ++count; });
  const int got = Gets ? job.get() : count;
  assert(got == 1);
}

template <bool Waits>
void packaged_task() {
  int count = 0;
  std::packaged_task<int()> task([&] { return ++count; });
  std::future<int> result = task.get_future();
  std::thread worker(std::move(task));
  if (Waits) result.wait();
  assert(count == 1);
  worker.join();
}

template <bool Owned>
void detached_writes() {
  std::atomic<bool>* done = nullptr;
  std::shared_ptr<std::atomic<bool>> owned;
  std::atomic<bool> local{false};
  if (Owned) owned = std::make_shared<std::atomic<bool>>(false);
  done = &local;
  std::thread([owned, done] { (Owned ? *owned : *done) = true; }).detach();
}

// The function returns while the thread still works with its variables.
[[gnu::noinline]] void start_with_local(std::thread& thread, bool joins) {
  int local = 0;
  thread = std::thread([&local] { ++local; });
  if (joins) thread.join();
}
template <bool Joins>
void thread_with_local() {
  std::thread thread;
  start_with_local(thread, Joins);
  if (!Joins) thread.join();
}

void not_joined() {
  std::thread thread([] {});
}

// Variables of each thread, and what their destructors do.
struct adds_at_exit {
  std::atomic<int>* atomic = nullptr;
  int* plain = nullptr;
  ~adds_at_exit() {
    if (atomic != nullptr) ++*atomic;
    if (plain != nullptr) ++*plain;
  }
};
thread_local adds_at_exit own;

template <bool Atomic>
void thread_local_destructors() {
  std::atomic<int> atomic{0};
  int plain = 0;
  const auto use = [&] {
    if (Atomic) own.atomic = &atomic;
    else own.plain = &plain;
  };
  std::thread one(use), two(use);
  one.join();
  two.join();
  assert(atomic + plain == 2);
}

// A pointer to another thread's variable, which goes with the thread.
template <bool Waits>
void thread_local_of_other() {
  static thread_local int mine;
  mine = 1;
  std::atomic<int*> place{nullptr};
  std::atomic<bool> read{false};
  std::thread other([&] {
    mine = 2;
    place = &mine;
    while (Waits && !read) std::this_thread::yield();
    mine = 3;
  });
  int* seen;
  while ((seen = place) == nullptr) std::this_thread::yield();
  assert(*seen == 2);
  read = true;
  other.join();
  assert(mine == 1);
}

// Shared ownership.
enum class owned { right, one_object, use_after, weak, weak_plain };
template <owned Form>
void shared_pointer() {
  struct object {
    int value = 1;
  };
  std::shared_ptr<object> shared(new object);
  const std::weak_ptr<object> weak = shared;
  object* const plain = shared.get();
  if (Form == owned::right) {
    both([copy = shared] { assert(copy->value == 1); },
         [copy = shared] { assert(copy->value == 1); });
  } else if (Form == owned::one_object) {  // one copies from what the other one empties
    both([&] { shared.reset(); },
         [&] {
           if (auto copy = shared) assert(copy->value == 1);
         });
  } else if (Form == owned::use_after) {
    both([&] { shared.reset(); }, [&] { assert(plain->value == 1); });
  } else if (Form == owned::weak) {
    both([&] { shared.reset(); },
         [&] {
           if (const auto copy = weak.lock()) assert(copy->value == 1);
         });
  } else {
    both([&] { shared.reset(); },
         [&] {
           if (!weak.expired()) assert(plain->value == 1);
         });
  }
}

// The last owner destroys what both have written.
void last_owner_destroys() {
  struct object {
    int left = 0, right = 0;
    ~object() { assert(left == 1 && right == 1); }
  };
  auto first = std::make_shared<object>();
  auto second = first;
  both([&] { first->left = 1, first.reset(); }, [&] { second->right = 1, second.reset(); });
}

// (Not std::atomic<std::shared_ptr>: that of GCC 12 gives its lock back relaxed after a load, which
// is a race with the next store.)
void shared_pointer_swapped() {
  auto shared = std::make_shared<int>(1);
  both([&] { shared = std::make_shared<int>(2); },
       [&] {
         const std::shared_ptr<int> seen = shared;
         assert(*seen == 1 || *seen == 2);
       });
}

// A compiler may read a plain flag once, and then go round for good, or do without the loop.
template <bool Reads>
void plain_flag() {
  static bool ready, started;
  both(
      [] {
        while (Reads && !ready) {
        }
        started = true;
      },
      [] { ready = true; });
  assert(started);
}

// Once.
template <bool Once>
void call_once() {
  std::once_flag flag;
  std::atomic<bool> done{false};
  int value = 0;
  const auto use = [&] {
    if (Once) std::call_once(flag, [&] { ++value; });
    else if (!done.exchange(true)) ++value;  // who is second does not wait for the first
    assert(value == 1);
  };
  both(use, use);
}

// A call that throws was none; the next one makes another.
void call_once_that_throws() {
  std::once_flag flag;
  int calls = 0;
  const auto use = [&] {
    try {
      std::call_once(flag, [&] {
        if (++calls == 1) throw std::runtime_error("first");
      });
    } catch (const std::runtime_error&) {
      return;
    }
    assert(calls == 2);
  };
  both(use, use);
}

int made = 0;
int make() { return ++made; }

void local_static() {
  const auto use = [] {
    static const int value = make();
    assert(value == 1);
  };
  both(use, use);
  assert(made == 1);
}

// What is right for readers of a container is none for one who makes it grow.
template <bool Locks>
void growing_vector() {
  std::mutex mutex;
  std::vector<int> all{1};
  both(
      [&] {
        std::unique_lock lock(mutex, std::defer_lock);
        if (Locks) lock.lock();
        all.push_back(2);
      },
      [&] {
        std::unique_lock lock(mutex, std::defer_lock);
        if (Locks) lock.lock();
        assert(all.front() == 1);
      });
}

// A reference to an element, kept behind the lock's end.
template <bool Copies>
void reference_behind_the_lock() {
  std::mutex mutex;
  std::vector<std::string> names{"one"};
  both(
      [&] {
        const std::scoped_lock lock(mutex);
        names.emplace_back("two");
      },
      [&] {
        std::unique_lock lock(mutex);
        const std::string& first = names.front();
        const std::string copy = first;
        lock.unlock();
        assert((Copies ? copy : first).size() == 3);
      });
}

// An exception on the way has to unlock.
template <bool Guards>
void exception_in_section() {
  std::mutex mutex;
  const auto fail = [&] {
    if (Guards) {
      const std::scoped_lock lock(mutex);
      throw std::runtime_error("in the section");
    }
    mutex.lock();
    throw std::runtime_error("in the section");
  };
  both(
      [&] {
        try {
          fail();
        } catch (const std::runtime_error&) {
        }
      },
      [&] { const std::scoped_lock lock(mutex); });
}

// A thread that begins behind another's end, though in no order with it, and is joined.
void thread_behind_another() {
  std::atomic<bool> ended{false};
  const auto makes_and_joins = [] {
    int written = 0;
    std::thread([&] { written = 1; }).join();
    assert(written == 1);
  };
  both(
      [&] {
        while (!ended.load(relaxed)) std::this_thread::yield();
        makes_and_joins();
      },
      [&] {
        makes_and_joins();
        ended.store(true, relaxed);
      });
}

void exception_leaves_thread() {
  std::thread thread([] { throw std::runtime_error("nobody catches it"); });
  thread.join();
}

const scenario_program::scenario all[] = {
    {"stop_token", stop_token<true>},
    {"stop_plain_bool", stop_token<false>},
    {"stop_sleeper", stop_sleeper<true>},
    {"stop_sleeper_unaware", stop_sleeper<false>},
    {"stop_callback", stop_callback<true>},
    {"stop_callback_races", stop_callback<false>},
    {"promise", promise<future::right>},
    {"promise_not_waited_for", promise<future::reads_beside>},
    {"promise_broken", promise<future::broken>},
    {"promise_twice", promise<future::twice>},
    {"promise_exception", promise<future::exception>},
    {"async", async<std::launch::async, true>},
    {"async_not_waited_for", async<std::launch::async, false>},
    {"deferred", async<std::launch::deferred, true>},
    {"deferred_not_asked", async<std::launch::deferred, false>},
    {"packaged_task", packaged_task<true>},
    {"packaged_task_not_waited_for", packaged_task<false>},
    {"detached_owns", detached_writes<true>},
    {"detached_writes_local", detached_writes<false>},
    {"thread_with_local", thread_with_local<true>},
    {"thread_outlives_local", thread_with_local<false>},
    {"not_joined", not_joined},
    {"thread_local_destructors", thread_local_destructors<true>},
    {"thread_local_destructors_race", thread_local_destructors<false>},
    {"thread_local_of_other", thread_local_of_other<true>},
    {"thread_local_of_other_gone", thread_local_of_other<false>},
    {"shared_pointer", shared_pointer<owned::right>},
    {"shared_pointer_one_object", shared_pointer<owned::one_object>},
    {"shared_pointer_plain", shared_pointer<owned::use_after>},
    {"weak_pointer", shared_pointer<owned::weak>},
    {"weak_pointer_expired", shared_pointer<owned::weak_plain>},
    {"last_owner_destroys", last_owner_destroys},
    {"shared_pointer_swapped", shared_pointer_swapped},
    {"plain_flag", plain_flag<true>},
    {"plain_flag_not_read", plain_flag<false>},
    {"call_once", call_once<true>},
    {"call_once_own", call_once<false>},
    {"call_once_throws", call_once_that_throws},
    {"local_static", local_static},
    {"vector", growing_vector<true>},
    {"vector_without_lock", growing_vector<false>},
    {"copy_behind_lock", reference_behind_the_lock<true>},
    {"reference_behind_lock", reference_behind_the_lock<false>},
    {"exception_unlocks", exception_in_section<true>},
    {"exception_leaves_locked", exception_in_section<false>},
    {"exception_leaves_thread", exception_leaves_thread},
    {"thread_behind_another", thread_behind_another},
};

}  // namespace

int main(int argc, char** argv) { return scenario_program::main(argc, argv, all); }
