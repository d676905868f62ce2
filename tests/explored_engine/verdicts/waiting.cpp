// Threads that wait for each other: condition variables, semaphores, latches, barriers, pools. What
// each program is, table.txt says.
#include <algorithm>
#include <atomic>
#include <barrier>
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <latch>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <utility>

#include <semaphore.h>

#include "program.h"

namespace {

using namespace std::chrono_literals;
using enum std::memory_order;

// A flag under a mutex, and who waits for it.
enum class flag { right, if_only, no_predicate, set_without_mutex, not_notified, notified_before };
template <flag Form>
void wait_for_flag() {
  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<bool> ready{false};
  int data = 0;
  const auto set = [&] {
    data = 1;
    if (Form == flag::notified_before) changed.notify_one();
    if (Form == flag::set_without_mutex) {
      ready = true;
    } else {
      const std::scoped_lock lock(mutex);
      ready = true;
    }
    if (Form != flag::not_notified && Form != flag::notified_before) changed.notify_one();
  };
  const auto wait = [&] {
    std::unique_lock lock(mutex);
    if (Form == flag::no_predicate) changed.wait(lock);
    else if (Form == flag::if_only && !ready) changed.wait(lock);
    else changed.wait(lock, [&] { return ready.load(); });
    assert(ready);
    assert(data == 1);
  };
  both(set, wait);
}

// The flag's writer and reader hold no mutex, and the flag is no atomic variable.
void flag_without_mutex() {
  std::mutex mutex;
  std::condition_variable changed;
  bool ready = false;
  both([&] { ready = true, changed.notify_one(); },
       [&] {
         std::unique_lock lock(mutex);
         changed.wait(lock, [&] { return ready; });
       });
}

// A queue with room for one, one condition variable for "not full" and one for "not empty".
struct bounded_queue {
  std::mutex mutex;
  std::condition_variable not_full, not_empty;
  std::deque<int> items;
  void push(int item) {
    std::unique_lock lock(mutex);
    not_full.wait(lock, [&] { return items.empty(); });
    items.push_back(item);
    not_empty.notify_one();
  }
  int pop() {
    std::unique_lock lock(mutex);
    not_empty.wait(lock, [&] { return !items.empty(); });
    const int item = items.front();
    items.pop_front();
    not_full.notify_one();
    return item;
  }
};

void queue() {
  bounded_queue q;
  int sum = 0;
  both([&] { q.push(1), q.push(2); }, [&] { sum = q.pop(), sum = sum * 10 + q.pop(); });
  assert(sum == 12);
}

// One condition variable for both: who is notified may be of the wrong kind, and go on sleeping.
template <bool All>
void queue_with_one_condition() {
  std::mutex mutex;
  std::condition_variable changed;
  int items = 0;
  const auto say = [&] { All ? changed.notify_all() : changed.notify_one(); };
  const auto push = [&] {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return items == 0; });
    ++items;
    say();
  };
  const auto pop = [&] {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return items == 1; });
    --items;
    say();
  };
  std::thread a(push), b(push), c(pop);
  pop();
  a.join();
  b.join();
  c.join();
}

// Items are taken out without another look, after a wake-up without a cause.
void queue_if() {
  std::mutex mutex;
  std::condition_variable not_empty;
  std::deque<int> items;
  both(
      [&] {
        const std::scoped_lock lock(mutex);
        items.push_back(1);
        not_empty.notify_one();
      },
      [&] {
        std::unique_lock lock(mutex);
        if (items.empty()) not_empty.wait(lock);
        assert(!items.empty());
      });
}

// Waits with a limit.
enum class late { looks, believes, ignores };
template <late Form>
void timed_flag() {
  std::mutex mutex;
  std::condition_variable changed;
  bool ready = false;
  both(
      [&] {
        const std::scoped_lock lock(mutex);
        ready = true;
        changed.notify_one();
      },
      [&] {
        std::unique_lock lock(mutex);
        if (Form == late::looks) {
          const bool came = changed.wait_for(lock, 1ms, [&] { return ready; });
          assert(came == ready);
        } else if (Form == late::believes) {  // that who is not late has been notified
          while (!ready && changed.wait_for(lock, 1ms) == std::cv_status::no_timeout) assert(ready);
        } else {
          changed.wait_for(lock, 1ms, [&] { return ready; });
          assert(ready);
        }
      });
}

template <bool Looks>
void timed_mutex() {
  std::timed_mutex mutex;
  int count = 0;
  const auto add = [&] {
    if (!mutex.try_lock_for(1ms) && Looks) return;
    ++count;
    mutex.unlock();
  };
  both(add, add);
  assert(count >= 1);
}

// Two semaphores and a mutex: the room of the buffer, its items. The mutex may not be held while
// one waits for the others.
template <bool MutexLast>
void semaphores() {
  std::counting_semaphore<> room{1}, items{0};
  std::mutex mutex;
  int buffer = 0, got = 0;
  const auto produce = [&] {
    room.acquire();
    const std::scoped_lock lock(mutex);
    buffer = 1;
    items.release();
  };
  const auto consume = [&] {
    if (MutexLast) items.acquire();
    {
      const std::scoped_lock lock(mutex);
      if (!MutexLast) items.acquire();
      got = buffer;
    }
    room.release();
  };
  both(produce, consume);
  assert(got == 1);
}

// (sem_t: the std::counting_semaphore of GCC 12 may sleep for good, PR 104928.)
template <int Permits>
void semaphore_as_lock() {
  sem_t one;
  sem_init(&one, 0, Permits);
  int count = 0;
  const auto add = [&] {
    sem_wait(&one);
    ++count;
    sem_post(&one);
  };
  both(add, add);
  sem_destroy(&one);
}

template <int Count, bool Arrives>
void latch() {
  std::latch done{Count};
  int left = 0, right = 0;
  all_three(
      [&] {
        done.wait();
        assert(left == 1 && right == 1);
      },
      [&] { left = 1, done.count_down(); },
      [&] {
        right = 1;
        if (Arrives) done.count_down();
      });
}

// Each writes its own cell and then reads the other one's; to write it again, all must have read.
template <bool Again>
void barrier_phases() {
  std::barrier<> meet{2};
  int cells[2]{};
  const auto work = [&](int me) {
    cells[me] = 1;
    meet.arrive_and_wait();
    assert(cells[1 - me] == 1);
    if (Again) cells[me] = 2;
  };
  both([&] { work(0); }, [&] { work(1); });
}

template <bool Drops>
void one_leaves_the_barrier() {
  std::barrier<> meet{2};
  both([&] { meet.arrive_and_wait(); },
       [&] {
         if (Drops) meet.arrive_and_drop();
       });
}

// The barrier's completion runs once for each phase, between those who arrive and those who go on.
template <bool InCompletion>
void completion() {
  int sum = 0, cells[2]{};
  const auto add = [&]() noexcept { sum += cells[0] + cells[1]; };
  std::barrier meet{2, add};
  const auto work = [&](int me) {
    cells[me] = 1;
    if (!InCompletion) ++sum;
    meet.arrive_and_wait();
    assert(sum >= 2);
  };
  both([&] { work(0); }, [&] { work(1); });
}

// A counter that goes back to 0, and a phase that all wait for. Without the phase, who is slow may
// find that the next round has begun.
template <bool Phases>
void own_barrier() {
  std::atomic<int> arrived{0}, phase{0};
  const auto meet = [&] {
    const int now = phase;
    if (arrived.fetch_add(1) == 1) {
      arrived = 0;
      ++phase;
    } else if (Phases) {
      while (phase == now) std::this_thread::yield();
    } else {
      while (arrived != 0) std::this_thread::yield();
    }
  };
  both([&] { meet(), meet(); }, [&] { meet(), meet(); });
}

// std::atomic's own waiting.
template <bool Notifies>
void atomic_wait() {
  std::atomic<int> word{0};
  int data = 0;
  both(
      [&] {
        data = 1;
        word.store(1, release);
        if (Notifies) word.notify_one();
      },
      [&] {
        word.wait(0, acquire);
        assert(data == 1);
      });
}

// Workers that take tasks until they are told to stop.
enum class pool { right, stops_without_mutex, notifies_one, runs_locked };
template <pool Form>
void thread_pool() {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> tasks;
  std::atomic<bool> stops{false};
  std::atomic<int> done{0};
  const auto work = [&] {
    for (;;) {
      std::function<void()> task;
      {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return stops || !tasks.empty(); });
        if (tasks.empty()) return;
        task = std::move(tasks.front());
        tasks.pop_front();
        if (Form == pool::runs_locked) task();
      }
      if (Form != pool::runs_locked) task();
    }
  };
  std::thread worker(work), other;
  if (Form == pool::notifies_one) other = std::thread(work);
  {
    const std::scoped_lock lock(mutex);
    tasks.emplace_back([&] {
      ++done;
      if (Form != pool::runs_locked) return;
      const std::scoped_lock again(mutex);
    });
    changed.notify_one();
  }
  if (Form == pool::stops_without_mutex) {
    stops = true;
  } else {
    const std::scoped_lock lock(mutex);
    stops = true;
  }
  if (Form == pool::notifies_one) changed.notify_one();
  else changed.notify_all();
  worker.join();
  if (other.joinable()) other.join();
  assert(done == 1);
}

template <bool Ordered>
void philosophers() {
  std::mutex forks[3];
  int meals = 0;
  std::mutex counts;
  const auto eat = [&](int me) {
    int first = me, second = (me + 1) % 3;
    if (Ordered && first > second) std::swap(first, second);
    const std::scoped_lock left(forks[first]);
    const std::scoped_lock right(forks[second]);
    const std::scoped_lock count(counts);
    ++meals;
  };
  all_three([&] { eat(0); }, [&] { eat(1); }, [&] { eat(2); });
  assert(meals == 3);
}

template <bool Ordered>
void transfers() {
  struct account {
    std::mutex mutex;
    int money = 10;
  } all[2];
  const auto move = [&](int from, int to) {
    const std::scoped_lock first(all[Ordered ? std::min(from, to) : from].mutex);
    const std::scoped_lock second(all[Ordered ? std::max(from, to) : to].mutex);
    all[from].money -= 1;
    all[to].money += 1;
  };
  both([&] { move(0, 1); }, [&] { move(1, 0); });
  assert(all[0].money == 10 && all[1].money == 10);
}

template <class Mutex>
void calls_itself() {
  Mutex mutex;
  const std::scoped_lock lock(mutex);
  const std::scoped_lock again(mutex);
}

enum class shared { right, writes_shared, upgrades, stale };
template <shared Form>
void shared_mutex() {
  std::shared_mutex mutex;
  int value = 0;
  const auto make = [&] {
    {
      std::shared_lock lock(mutex);
      if (value != 0) return;
      if (Form == shared::writes_shared) ++value;
      if (Form == shared::upgrades) {
        mutex.lock();
        ++value;
        mutex.unlock();
      }
    }
    if (Form == shared::writes_shared || Form == shared::upgrades) return;
    const std::unique_lock lock(mutex);
    if (Form == shared::right && value != 0) return;  // somebody else has been here since
    ++value;
  };
  both(make, make);
  assert(value == 1);
}

// One who notifies, and two who wait.
template <bool All>
void two_waiters() {
  std::mutex mutex;
  std::condition_variable changed;
  bool ready = false;
  const auto wait = [&] {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return ready; });
  };
  const auto set = [&] {
    {
      const std::scoped_lock lock(mutex);
      ready = true;
    }
    All ? changed.notify_all() : changed.notify_one();
  };
  all_three(set, wait, wait);
}

const scenario_program::scenario all[] = {
    {"flag", wait_for_flag<flag::right>},
    {"flag_if", wait_for_flag<flag::if_only>},
    {"flag_no_predicate", wait_for_flag<flag::no_predicate>},
    {"flag_set_without_mutex", wait_for_flag<flag::set_without_mutex>},
    {"flag_not_notified", wait_for_flag<flag::not_notified>},
    {"flag_notified_before", wait_for_flag<flag::notified_before>},
    {"flag_without_mutex", flag_without_mutex},
    {"queue", queue},
    {"queue_one_condition_all", queue_with_one_condition<true>},
    {"queue_one_condition_one", queue_with_one_condition<false>},
    {"queue_if", queue_if},
    {"timed_flag", timed_flag<late::looks>},
    {"timed_flag_believes", timed_flag<late::believes>},
    {"timed_flag_ignores", timed_flag<late::ignores>},
    {"timed_mutex", timed_mutex<true>},
    {"timed_mutex_ignores", timed_mutex<false>},
    {"semaphores", semaphores<true>},
    {"semaphores_mutex_first", semaphores<false>},
    {"one_permit", semaphore_as_lock<1>},
    {"two_permits", semaphore_as_lock<2>},
    {"no_permit", semaphore_as_lock<0>},
    {"latch", latch<2, true>},
    {"latch_of_three", latch<3, true>},
    {"latch_of_one", latch<1, false>},
    {"barrier", barrier_phases<false>},
    {"barrier_writes_again", barrier_phases<true>},
    {"leaves_barrier", one_leaves_the_barrier<true>},
    {"leaves_barrier_silently", one_leaves_the_barrier<false>},
    {"completion", completion<true>},
    {"completion_and_threads", completion<false>},
    {"own_barrier", own_barrier<true>},
    {"own_barrier_without_phase", own_barrier<false>},
    {"atomic_wait", atomic_wait<true>},
    {"atomic_wait_not_notified", atomic_wait<false>},
    {"pool", thread_pool<pool::right>},
    {"pool_stops_without_mutex", thread_pool<pool::stops_without_mutex>},
    {"pool_notifies_one", thread_pool<pool::notifies_one>},
    {"pool_runs_locked", thread_pool<pool::runs_locked>},
    {"philosophers", philosophers<true>},
    {"philosophers_left_first", philosophers<false>},
    {"transfers", transfers<true>},
    {"transfers_from_to", transfers<false>},
    {"recursive_mutex", calls_itself<std::recursive_mutex>},
    {"mutex_twice", calls_itself<std::mutex>},
    {"shared_mutex", shared_mutex<shared::right>},
    {"shared_mutex_writes_shared", shared_mutex<shared::writes_shared>},
    {"shared_mutex_upgrades", shared_mutex<shared::upgrades>},
    {"shared_mutex_stale", shared_mutex<shared::stale>},
    {"two_waiters", two_waiters<true>},
    {"two_waiters_one_told", two_waiters<false>},
};

}  // namespace

int main(int argc, char** argv) { return scenario_program::main(argc, argv, all); }
