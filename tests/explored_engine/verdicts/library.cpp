// What the C++ library has for threads, in use. What each program is, table.txt says.
#include <atomic>
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <future>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <queue>
#include <semaphore>
#include <set>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "program.h"

namespace {

using namespace std::chrono_literals;
using enum std::memory_order;
template <bool Checks>
void try_acquire_for() {
  std::binary_semaphore s(0);
  int data = 0;
  both(
      [&] {
        data = 1;
        s.release();
      },
      [&] {
        if (s.try_acquire_for(10ms) || !Checks) assert(data == 1);
      });
}
template <bool Same>
void atomic_flag_waits() {
  std::atomic_flag go;
  int data = 0;
  both(
      [&] {
        data = 1;
        go.test_and_set(Same ? release : relaxed);
        go.notify_all();
      },
      [&] {
        go.wait(false, acquire);
        assert(data == 1);
      });
}
// Sleeping is no synchronization.
template <bool Joined>
void sleeps() {
  int data = 0;
  std::thread t([&] { data = 1; });
  if (Joined) t.join();
  else std::this_thread::sleep_for(1s);
  assert(data == 1);
  if (!Joined) t.join();
}
template <bool Locked>
void at_thread_exit() {
  std::mutex m;
  std::condition_variable c;
  bool done = false;
  std::thread t([&] {
    std::unique_lock l(m);
    done = true;
    if (Locked) std::notify_all_at_thread_exit(c, std::move(l));
  });
  {
    std::unique_lock l(m);
    c.wait(l, [&] { return done; });
  }
  t.join();
}
template <bool Copies>
void shared_futures() {
  std::promise<std::string> p;
  std::shared_future<std::string> f = p.get_future().share();
  std::string mine;
  all_three([&] { p.set_value("x"); },
            [&] {
              auto g = f;
              assert(g.get() == "x");
            },
            [&] {
              auto g = f;
              if (Copies) mine = g.get();
              else const_cast<std::string&>(g.get()) += "y";
            });
}
template <bool Locked>
void containers() {
  std::mutex m;
  std::map<int, std::string> all;
  std::unordered_map<int, int> more;
  std::list<int> l;
  std::deque<int> d;
  std::set<int> s;
  const auto add = [&](int i) {
    std::unique_lock lock(m, std::defer_lock);
    if (Locked) lock.lock();
    all[i] = "a string that is not short";
    more[i] = i;
    l.push_back(i);
    d.push_front(i);
    s.insert(i);
  };
  both([&] { add(1); }, [&] { add(2); });
  assert(all.size() == 2 && more.size() == 2 && l.size() == 2 && d.size() == 2 && s.size() == 2);
}
template <class C, bool Writes>
void readers_of() {
  C c;
  for (int i = 0; i < 3; ++i) c.insert(c.end(), {i, i});
  int a = 0, b = 0;
  both(
      [&] {
        for (auto& [k, v] : c) a += v;
        if (Writes) c.find(1)->second = 5;
      },
      [&] {
        auto at = c.find(1);
        if (at != c.end()) b = at->second;
      });
  assert(a == 3 && (b == 1 || Writes));
}
void bits(bool share) {
  std::vector<bool> v(2);
  std::vector<char> w(2);
  both(
      [&] {
        if (share) v[0] = true;
        else w[0] = 1;
      },
      [&] {
        if (share) v[1] = true;
        else w[1] = 1;
      });
}

// Recursion, times.
template <bool Both>
void recursive_timed() {
  std::recursive_timed_mutex m;
  int n = 0;
  const auto add = [&] {
    if (!m.try_lock_for(1s)) {
      if (Both) return;
      ++n;
      return;
    }
    std::lock_guard again(m);
    ++n;
    m.unlock();
  };
  both(add, add);
  assert(n >= 1);
}
template <bool Checked>
void shared_timed() {
  std::shared_timed_mutex m;
  int n = 0;
  both(
      [&] {
        std::unique_lock l(m);
        n = 1;
      },
      [&] {
        std::shared_lock l(m, 10ms);
        if (l || !Checked) assert(n == 0 || n == 1);
      });
}
// A read-mostly cache, filled on first use.
template <bool LooksAgain>
void cache() {
  std::shared_mutex m;
  std::map<int, int> c;
  int made = 0;
  const auto get = [&](int k) {
    {
      std::shared_lock l(m);
      if (auto at = c.find(k); at != c.end()) return at->second;
    }
    std::unique_lock l(m);
    if (LooksAgain)
      if (auto at = c.find(k); at != c.end()) return at->second;
    ++made;
    return c[k] = k * 2;
  };
  both([&] { assert(get(1) == 2); }, [&] { assert(get(1) == 2); });
  assert(made == 1);
}
// A queue that is closed.
template <bool All>
void closing() {
  std::mutex m;
  std::condition_variable c;
  std::queue<int> q;
  bool closed = false;
  int sum = 0;
  const auto consume = [&] {
    for (;;) {
      std::unique_lock l(m);
      c.wait(l, [&] { return closed || !q.empty(); });
      if (q.empty()) return;
      sum += q.front();
      q.pop();
    }
  };
  all_three(
      [&] {
        {
          std::lock_guard l(m);
          q.push(1);
        }
        c.notify_one();
        {
          std::lock_guard l(m);
          closed = true;
        }
        if (All) c.notify_all();
        else c.notify_one();
      },
      consume, consume);
  assert(sum == 1);
}
template <bool Atomic>
void timed_any() {
  std::shared_mutex m;
  std::condition_variable_any c;
  bool ready = false;
  both(
      [&] {
        std::unique_lock l(m, std::defer_lock);
        if (Atomic) l.lock();
        ready = true;
        c.notify_all();
      },
      [&] {
        std::shared_lock l(m);
        c.wait_for(l, 1s, [&] { return ready; });
      });
}
// Thread-local caches given back at the end.
struct cache_of_thread {
  std::vector<int> values;
  static inline std::mutex m;
  static inline std::vector<int> all;
  static inline bool locked;
  ~cache_of_thread() {
    if (values.empty()) return;
    std::unique_lock l(m, std::defer_lock);
    if (locked) l.lock();
    all.insert(all.end(), values.begin(), values.end());
  }
};
thread_local cache_of_thread mine;
template <bool Locked>
void local_caches() {
  cache_of_thread::locked = Locked;
  std::thread a([] { mine.values.push_back(1); }), b([] { mine.values.push_back(2); });
  a.join();
  b.join();
  assert(cache_of_thread::all.size() == 2);
}
template <bool Once>
void once_with_argument() {
  std::once_flag f;
  std::unique_ptr<int> p;
  int calls = 0;
  const auto get = [&] {
    if (Once)
      std::call_once(
          f,
          [&](int v) {
            p = std::make_unique<int>(v);
            ++calls;
          },
          3);
    else if (!p) p = std::make_unique<int>(3), ++calls;
    return *p;
  };
  both([&] { assert(get() == 3); }, [&] { assert(get() == 3); });
  assert(calls == 1);
}
struct counted_singleton {
  static counted_singleton& get() {
    static counted_singleton one;
    return one;
  }
  std::atomic<int> users{0};
  int plain = 0;
};
template <bool Atomic>
void singleton() {
  const auto use = [] {
    if (Atomic) ++counted_singleton::get().users;
    else ++counted_singleton::get().plain;
  };
  both(use, use);
  assert(counted_singleton::get().users + counted_singleton::get().plain == 2);
}
// Exceptions and unlocking in order.
template <bool Guard>
void throws() {
  std::mutex m;
  int n = 0;
  const auto add = [&] {
    try {
      if (Guard) {
        std::lock_guard l(m);
        ++n;
        throw std::runtime_error("x");
      }
      m.lock();
      ++n;
      throw std::runtime_error("x");
    } catch (const std::exception&) {
    }
  };
  both(add, add);
  assert(n == 2);
}
// copy on write.
template <bool Copies>
void copy_on_write() {
  std::mutex m;
  auto current = std::make_shared<std::vector<int>>(2, 1);
  const auto snapshot = [&] {
    std::lock_guard l(m);
    return current;
  };
  both(
      [&] {
        auto s = snapshot();
        assert(std::accumulate(s->begin(), s->end(), 0) == 2 || (*s)[0] == 2);
      },
      [&] {
        auto s = snapshot();
        auto n = Copies ? std::make_shared<std::vector<int>>(*s) : s;
        (*n)[0] = 2;
        (*n)[1] = 2;
        std::lock_guard l(m);
        current = n;
      });
}
// member order: the thread is destroyed after what it uses.
template <bool Last>
void member_order() {
  struct first {
    std::jthread t;
    std::vector<int> v;
    first() : v(1) {
      t = std::jthread([this] { v[0] = 1; });
    }
  };
  struct last {
    std::vector<int> v;
    std::jthread t;
    last() : v(1) {
      t = std::jthread([this] { v[0] = 1; });
    }
  };
  if (Last) last x;
  else first x;
}
template <bool Right>
void async_pipeline() {
  auto a = std::async(std::launch::async, [] { return 20; });
  auto b = std::async(std::launch::async, [&a] { return a.get() + 1; });
  if (!Right) {
    const int x = a.get();
    assert(x == 20);
  }
  assert(b.get() == 21);
}

using M = std::map<int, int>;
using U = std::unordered_map<int, int>;

const scenario_program::scenario all[] = {
    {"try_acquire_for", try_acquire_for<true>},
    {"try_acquire_for_ignored", try_acquire_for<false>},
    {"atomic_flag_waits", atomic_flag_waits<true>},
    {"atomic_flag_waits_relaxed", atomic_flag_waits<false>},
    {"sleep_joined", sleeps<true>},
    {"sleep_believed", sleeps<false>},
    {"containers", containers<true>},
    {"containers_unlocked", containers<false>},
    {"map_readers", readers_of<M, false>},
    {"map_writes", readers_of<M, true>},
    {"hash_readers", readers_of<U, false>},
    {"hash_writes", readers_of<U, true>},
    {"recursive_timed", recursive_timed<true>},
    {"recursive_timed_ignored", recursive_timed<false>},
    {"shared_timed", shared_timed<true>},
    {"shared_timed_ignored", shared_timed<false>},
    {"cache", cache<true>},
    {"cache_looks_once", cache<false>},
    {"closing", closing<true>},
    {"closing_tells_one", closing<false>},
    {"timed_any", timed_any<true>},
    {"timed_any_unlocked", timed_any<false>},
    {"local_caches", local_caches<true>},
    {"local_caches_unlocked", local_caches<false>},
    {"once_with_argument", once_with_argument<true>},
    {"once_by_hand", once_with_argument<false>},
    {"singleton", singleton<true>},
    {"singleton_plain", singleton<false>},
    {"throws", throws<true>},
    {"throws_locked", throws<false>},
    {"copy_on_write", copy_on_write<true>},
    {"copy_on_write_in_place", copy_on_write<false>},
    {"member_order", member_order<true>},
    {"member_order_first", member_order<false>},
    {"async_pipeline", async_pipeline<true>},
    {"async_pipeline_twice", async_pipeline<false>},
};

}  // namespace

int main(int argc, char** argv) { return scenario_program::main(argc, argv, all); }
