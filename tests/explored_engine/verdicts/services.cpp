// Programs with the C++ library's threads, locks and results. What each program is, table.txt
// says.
#include <atomic>
#include <barrier>
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <latch>
#include <locale>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <semaphore>
#include <shared_mutex>
#include <sstream>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "program.h"

namespace {

using namespace std::chrono_literals;
using enum std::memory_order;

// A thread's last words are those of its thread_local objects. Who waits for its end must wait for
// these, too.
int last_words = 0;
struct speaks_last {
  ~speaks_last() { last_words = 1; }
};

template <bool AtExit>
void notified_at_exit() {
  std::mutex mutex;
  std::condition_variable ended;
  bool ends = false;
  std::thread thread([&] {
    thread_local const speaks_last speaker;
    (void)&speaker;
    std::unique_lock lock(mutex);
    ends = true;
    if (AtExit) std::notify_all_at_thread_exit(ended, std::move(lock));
    else ended.notify_all();
  });
  {
    std::unique_lock lock(mutex);
    ended.wait(lock, [&] { return ends; });
    assert(last_words == 1);
  }
  thread.join();
}

template <bool AtExit>
void ready_at_exit() {
  std::promise<int> promise;
  auto result = promise.get_future();
  std::thread thread(
      [](std::promise<int> own) {
        thread_local const speaks_last speaker;
        (void)&speaker;
        if (AtExit) own.set_value_at_thread_exit(7);
        else own.set_value(7);
      },
      std::move(promise));
  assert(result.get() == 7);
  assert(last_words == 1);
  thread.join();
}

template <bool AtExit>
void task_ready_at_exit() {
  std::packaged_task<int()> task([] {
    thread_local const speaks_last speaker;
    (void)&speaker;
    return 7;
  });
  auto result = task.get_future();
  std::thread thread([&] {
    if (AtExit) task.make_ready_at_thread_exit();
    else task();
  });
  assert(result.get() == 7);
  assert(last_words == 1);
  thread.join();
}

// A barrier in two steps: between them there is time for what the others do not need.
template <bool Waits>
void barrier_token() {
  std::barrier phase(2);
  int part[2] = {}, sum[2] = {};
  const auto run = [&](int me) {
    part[me] = 1;
    auto token = phase.arrive();
    sum[me] = 10;
    if (Waits) phase.wait(std::move(token));
    sum[me] += part[1 - me];
  };
  both([&] { run(0); }, [&] { run(1); });
  assert(sum[0] == 11 && sum[1] == 11);
}

// Again in the next phase: who has not waited for the first one may not write again.
template <bool Waits>
void barrier_two_phases() {
  std::barrier phase(2);
  int value = 0;
  both(
      [&] {
        value = 1;
        phase.wait(phase.arrive());
        if (Waits) phase.arrive_and_wait();
        value = 2;
      },
      [&] {
        phase.arrive_and_wait();
        assert(value == 1);
        if (Waits) phase.arrive_and_wait();
        else (void)phase.arrive();
      });
}

enum class two_locks { std_lock, scoped, one_by_one, tried_believed, tried };

template <two_locks How>
void lock_pairs() {
  std::mutex a, b;
  int sum = 0;
  const auto run = [&](std::mutex& first, std::mutex& second) {
    std::unique_lock one(first, std::defer_lock), two(second, std::defer_lock);
    if (How == two_locks::one_by_one) {
      one.lock();
      two.lock();
      ++sum;
    } else if (How == two_locks::scoped) {
      const std::scoped_lock all(first, second);
      ++sum;
    } else if (How == two_locks::std_lock) {
      std::lock(one, two);
      ++sum;
    } else if (How == two_locks::tried_believed) {
      (void)std::try_lock(one, two);
      ++sum;
    } else if (std::try_lock(one, two) == -1) {
      ++sum;
    }
  };
  both([&] { run(a, b); }, [&] { run(b, a); });
  assert(How == two_locks::tried || sum == 2);
}

template <bool Named>
void unnamed_guard() {
  std::mutex mutex;
  int sum = 0;
  const auto run = [&] {
    if (Named) {
      const std::lock_guard<std::mutex> guard(mutex);
      ++sum;
    } else {
      (void)std::lock_guard<std::mutex>(mutex);
      ++sum;
    }
  };
  both(run, run);
}

// The future that nobody keeps waits in its destructor.
template <bool Kept>
void async_temporary() {
  int sum = 0;
  std::future<void> kept;
  const auto add = [&] { ++sum; };
  if (Kept) kept = std::async(std::launch::async, add);
  else (void)std::async(std::launch::async, add);
  ++sum;
}

template <bool Waits>
void start_gate() {
  std::promise<void> start;
  const std::shared_future<void> started = start.get_future().share();
  int prepared = 0, seen = 0;
  std::thread one([&, started] {
    if (Waits) started.wait();
    seen = prepared;
  });
  prepared = 1;
  start.set_value();
  one.join();
  assert(seen == 1);
}

// Who waits for an event throws it away; who tells of it may still be at it.
struct event {
  std::mutex mutex;
  std::condition_variable set;
  bool is_set = false;
};
template <bool InSection>
void event_of_waiter() {
  auto* const e = new event;
  std::thread teller([e] {
    std::unique_lock lock(e->mutex);
    e->is_set = true;
    if (!InSection) lock.unlock();
    e->set.notify_one();
  });
  {
    std::unique_lock lock(e->mutex);
    e->set.wait(lock, [e] { return e->is_set; });
  }
  delete e;
  teller.join();
}

template <bool Unlocks>
void join_in_section() {
  std::mutex mutex;
  int value = 0;
  std::unique_lock lock(mutex);
  std::thread thread([&] {
    const std::scoped_lock own(mutex);
    value = 1;
  });
  if (Unlocks) lock.unlock();
  thread.join();
  assert(value == 1);
}

// A callback comes back to the object that calls it.
template <class Mutex, bool CopiesFirst>
void callback_comes_back() {
  struct subject {
    Mutex mutex;
    std::vector<std::function<void()>> watchers;
    int value = 0;
    int get() {
      const std::scoped_lock lock(mutex);
      return value;
    }
    void set(int to) {
      std::unique_lock lock(mutex);
      value = to;
      const auto all = watchers;
      if (CopiesFirst) lock.unlock();
      for (const auto& call : all) call();
    }
  } of;
  std::atomic<int> seen{0};
  of.watchers.emplace_back([&] { seen = of.get(); });
  both([&] { of.set(1); }, [&] { (void)of.get(); });
  assert(seen == 1);
}

template <bool Drains>
void logger() {
  std::mutex mutex;
  std::condition_variable more;
  std::vector<std::string> waiting;
  int written = 0;
  bool stops = false;
  std::thread writer([&] {
    std::unique_lock lock(mutex);
    for (;;) {
      more.wait(lock, [&] { return stops || !waiting.empty(); });
      if (stops && (!Drains || waiting.empty())) return;
      std::vector<std::string> now;
      now.swap(waiting);
      lock.unlock();
      written += static_cast<int>(now.size());
      lock.lock();
    }
  });
  {
    const std::scoped_lock lock(mutex);
    waiting.emplace_back("line");
  }
  more.notify_one();
  {
    const std::scoped_lock lock(mutex);
    stops = true;
  }
  more.notify_one();
  writer.join();
  assert(written == 1);
}

// As many permits as things; who has one still has to look for its thing alone.
template <bool Locks>
void pool_of_two() {
  std::counting_semaphore<2> permits(2);
  std::mutex mutex;
  std::vector<int> things{0, 1};
  std::atomic<int> in_use[2] = {};
  const auto run = [&] {
    permits.acquire();
    std::unique_lock lock(mutex, std::defer_lock);
    if (Locks) lock.lock();
    const int mine = things.back();
    things.pop_back();
    if (Locks) lock.unlock();
    assert(in_use[mine].exchange(1) == 0);
    in_use[mine] = 0;
    if (Locks) lock.lock();
    things.push_back(mine);
    if (Locks) lock.unlock();
    permits.release();
  };
  both(run, run);
}

template <bool Asks>
void latch_polled() {
  std::latch done(1);
  int value = 0;
  both(
      [&] {
        value = 1;
        done.count_down();
      },
      [&] {
        if (Asks)
          while (!done.try_wait()) std::this_thread::yield();
        else (void)done.try_wait();
        assert(value == 1);
      });
}

// The library's global locale: every execution finds the one that the program began with.
struct grouping : std::numpunct<char> {
  [[nodiscard]] char do_thousands_sep() const override { return ','; }
  [[nodiscard]] std::string do_grouping() const override { return "\3"; }
};
void global_locale() {
  std::atomic<int> turns{0};
  assert(std::locale().name() == "C");
  both([&] { turns.fetch_add(1, relaxed); }, [&] { turns.store(2, relaxed); });
  std::locale::global(std::locale(std::locale(), new grouping));
  std::ostringstream text;
  text << 1000 + turns;
  assert(text.str().size() == 5);
}

// A string stream is an object as others.
template <bool Locks>
void string_stream() {
  std::mutex mutex;
  std::ostringstream text;
  const auto say = [&](const char* what) {
    std::unique_lock lock(mutex, std::defer_lock);
    if (Locks) lock.lock();
    text << what;
  };
  both([&] { say("a"); }, [&] { say("b"); });
  assert(text.str() == "ab" || text.str() == "ba");
}

template <bool Shared>
void number_to_string() {
  std::mutex mutex;
  std::string text = "0";
  both(
      [&] {
        const std::scoped_lock lock(mutex);
        text = std::to_string(12);
      },
      [&] {
        std::unique_lock lock(mutex, std::defer_lock);
        if (!Shared) lock.lock();
        assert(std::stoi(text) >= 0);
      });
}

// A task that waits for another one of the same single thread waits for good.
template <bool Two>
void executor_waits_for_itself() {
  std::mutex mutex;
  std::condition_variable more;
  std::vector<std::function<void()>> tasks;
  int left = 2;
  const auto work = [&] {
    for (;;) {
      std::function<void()> task;
      {
        std::unique_lock lock(mutex);
        more.wait(lock, [&] { return !tasks.empty() || left == 0; });
        if (tasks.empty()) return;
        task = std::move(tasks.back());
        tasks.pop_back();
      }
      task();
      const std::scoped_lock lock(mutex);
      if (--left == 0) more.notify_all();
    }
  };
  std::promise<void> inner;
  const auto submit = [&](std::function<void()> task) {
    const std::scoped_lock lock(mutex);
    tasks.push_back(std::move(task));
    more.notify_one();
  };
  submit([&] {
    submit([&] { inner.set_value(); });
    inner.get_future().wait();
  });
  std::thread first(work);
  if (Two) work();
  first.join();
}

template <bool Rechecks>
void lazy_under_shared_lock() {
  std::shared_mutex mutex;
  std::optional<int> value;
  std::atomic<int> made{0};
  const auto get = [&] {
    {
      const std::shared_lock lock(mutex);
      if (value) return *value;
    }
    const std::scoped_lock lock(mutex);
    if (!Rechecks || !value) {
      ++made;
      value = 7;
    }
    return *value;
  };
  both([&] { assert(get() == 7); }, [&] { assert(get() == 7); });
  assert(made == 1);
}

template <bool Locks>
void map_of_slots() {
  std::mutex mutex;
  std::map<int, std::unique_ptr<int>> slots;
  const auto put = [&](int key) {
    std::unique_lock lock(mutex, std::defer_lock);
    if (Locks) lock.lock();
    slots[key] = std::make_unique<int>(key);
  };
  both([&] { put(1); }, [&] { put(2); });
  assert(slots.size() == 2);
}

// The wait's own result says whether the predicate held.
template <bool Believes>
void wait_for_result() {
  std::mutex mutex;
  std::condition_variable set;
  int value = 0;
  both(
      [&] {
        {
          const std::scoped_lock lock(mutex);
          value = 1;
        }
        set.notify_one();
      },
      [&] {
        std::unique_lock lock(mutex);
        const bool is_set = set.wait_for(lock, 1ms, [&] { return value != 0; });
        if (is_set || Believes) assert(value == 1);
      });
}

// jthread asks and joins at its end, in the reverse order of the members.
template <bool MutexFirst>
void worker_members() {
  struct first_mutex {
    std::mutex mutex;
    int turns = 0;
    std::jthread worker{[this](const std::stop_token& asked) {
      while (!asked.stop_requested()) std::this_thread::yield();
      const std::scoped_lock lock(mutex);
      ++turns;
    }};
  };
  struct first_worker {
    std::jthread worker;
    std::unique_ptr<int> turns = std::make_unique<int>(0);
    first_worker() {
      worker = std::jthread([this](const std::stop_token& asked) {
        while (!asked.stop_requested()) std::this_thread::yield();
        ++*turns;
      });
    }
  };
  if (MutexFirst) const first_mutex object;
  else const first_worker object;
}

const scenario_program::scenario all[] = {
    {"notified_at_exit", notified_at_exit<true>},
    {"notified_before_exit", notified_at_exit<false>},
    {"ready_at_exit", ready_at_exit<true>},
    {"ready_before_exit", ready_at_exit<false>},
    {"task_ready_at_exit", task_ready_at_exit<true>},
    {"task_ready_before_exit", task_ready_at_exit<false>},
    {"barrier_token", barrier_token<true>},
    {"barrier_token_dropped", barrier_token<false>},
    {"barrier_one_phase", barrier_two_phases<false>},
    {"lock_one_by_one", lock_pairs<two_locks::one_by_one>},
    {"try_lock_both", lock_pairs<two_locks::tried>},
    {"try_lock_believed", lock_pairs<two_locks::tried_believed>},
    {"named_guard", unnamed_guard<true>},
    {"unnamed_guard", unnamed_guard<false>},
    {"async_temporary", async_temporary<false>},
    {"async_kept", async_temporary<true>},
    {"start_gate", start_gate<true>},
    {"start_gate_open", start_gate<false>},
    {"event_of_waiter", event_of_waiter<true>},
    {"event_of_waiter_late", event_of_waiter<false>},
    {"join_outside", join_in_section<true>},
    {"join_in_section", join_in_section<false>},
    {"callback_recursive", callback_comes_back<std::recursive_mutex, false>},
    {"callback_unlocked", callback_comes_back<std::mutex, true>},
    {"callback_locked", callback_comes_back<std::mutex, false>},
    {"logger", logger<true>},
    {"logger_loses", logger<false>},
    {"pool_of_two", pool_of_two<true>},
    {"pool_of_two_unlocked", pool_of_two<false>},
    {"latch_polled", latch_polled<true>},
    {"latch_asked_once", latch_polled<false>},
    {"global_locale", global_locale},
    {"string_stream", string_stream<true>},
    {"string_stream_unlocked", string_stream<false>},
    {"number_to_string", number_to_string<false>},
    {"number_to_string_unlocked", number_to_string<true>},
    {"executor_of_two", executor_waits_for_itself<true>},
    {"executor_waits_for_itself", executor_waits_for_itself<false>},
    {"lazy_under_shared_lock", lazy_under_shared_lock<true>},
    {"lazy_made_twice", lazy_under_shared_lock<false>},
    {"map_of_slots", map_of_slots<true>},
    {"map_of_slots_unlocked", map_of_slots<false>},
    {"wait_for_result", wait_for_result<false>},
    {"wait_for_believed", wait_for_result<true>},
    {"worker_members", worker_members<true>},
    {"worker_members_first", worker_members<false>},
};

}  // namespace

int main(int argc, char** argv) { return scenario_program::main(argc, argv, all); }
