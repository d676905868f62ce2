// condition_locks.cpp -- WHAT: what programs make of condition variables.
//
//   semaphore, all, rwlock, fair   locks: one that is signaled, or broadcast; one for readers and
//                                  writers, of which most write; one that is taken in turn
//   queue, pool, stages, done      a bounded queue, a pool that one thread feeds, stages with a
//                                  queue each, and one thread that others tell of their end
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace {

using std::chrono::microseconds;
constexpr int threads = 4;

void work(int us) {
  const auto until = std::chrono::steady_clock::now() + microseconds(us);
  while (std::chrono::steady_clock::now() < until) {
  }
}

void by_threads(int count, void (*body)(int)) {
  std::vector<std::thread> all;
  for (int i = 0; i < count; ++i) all.emplace_back(body, i);
  for (std::thread& each : all) each.join();
}

std::mutex guard;
std::condition_variable tokens, table, line, filled, emptied, over;
int free_tokens = 1, readers = 0, next_ticket = 0, serving = 0, running = 0;
bool writing = false, for_all = false;

void take_token() {
  std::unique_lock<std::mutex> lock(guard);
  tokens.wait(lock, [] { return free_tokens > 0; });
  --free_tokens;
}
void give_token() {
  std::lock_guard<std::mutex> lock(guard);
  ++free_tokens;
  for_all ? tokens.notify_all() : tokens.notify_one();
}

void write_table() {
  {
    std::unique_lock<std::mutex> lock(guard);
    table.wait(lock, [] { return !writing && readers == 0; });
    writing = true;
  }
  work(1000);
  std::lock_guard<std::mutex> lock(guard);
  writing = false;
  table.notify_all();
}
void read_table() {
  {
    std::unique_lock<std::mutex> lock(guard);
    table.wait(lock, [] { return !writing; });
    ++readers;
  }
  work(300);
  std::lock_guard<std::mutex> lock(guard);
  if (--readers == 0) table.notify_all();
}

void in_turn() {
  {
    std::unique_lock<std::mutex> lock(guard);
    const int mine = next_ticket++;
    line.wait(lock, [&] { return serving == mine; });
  }
  work(1000);
  std::lock_guard<std::mutex> lock(guard);
  ++serving;
  line.notify_all();
}

void locks(const char* what) {
  for_all = std::strcmp(what, "all") == 0;
  if (std::strcmp(what, "rwlock") == 0)
    by_threads(threads, [](int) {
      for (int i = 0; i < 80; ++i) i % 4 != 0 ? write_table() : read_table();
    });
  else if (std::strcmp(what, "fair") == 0)
    by_threads(threads, [](int) {
      for (int i = 0; i < 80; ++i) in_turn();
    });
  else
    by_threads(threads, [](int) {
      for (int i = 0; i < 80; ++i) {
        take_token();
        work(1000);
        give_token();
      }
    });
}

std::deque<int> items;
bool closed = false;

void put(int item, std::size_t most) {
  std::unique_lock<std::mutex> lock(guard);
  emptied.wait(lock, [most] { return items.size() < most; });
  items.push_back(item);
  filled.notify_one();
}
bool get(int& item) {
  std::unique_lock<std::mutex> lock(guard);
  filled.wait(lock, [] { return !items.empty() || closed; });
  if (items.empty()) return false;
  item = items.front();
  items.pop_front();
  emptied.notify_one();
  return true;
}
void close() {
  std::lock_guard<std::mutex> lock(guard);
  closed = true;
  filled.notify_all();
}

// Whoever makes items is slower than those that use them.
void feed(int makers, std::size_t most) {
  static std::size_t room;
  room = most;
  std::vector<std::thread> users;
  for (int i = 0; i < 2; ++i)
    users.emplace_back([] {
      for (int item = 0; get(item);) work(200);
    });
  by_threads(makers, [](int) {
    for (int i = 0; i < 150; ++i) {
      work(1500);
      put(i, room);
    }
  });
  close();
  for (std::thread& each : users) each.join();
}

struct stage {
  std::mutex guard;
  std::condition_variable filled;
  std::deque<int> items;
};
stage all_stages[3];

void send(stage& to, int item) {
  std::lock_guard<std::mutex> lock(to.guard);
  to.items.push_back(item);
  to.filled.notify_one();
}
int receive(stage& from) {
  std::unique_lock<std::mutex> lock(from.guard);
  from.filled.wait(lock, [&] { return !from.items.empty(); });
  const int item = from.items.front();
  from.items.pop_front();
  return item;
}
void stages() {
  by_threads(3, [](int number) {
    for (int i = 0; i < 150; ++i) {
      if (number > 0) receive(all_stages[number]);
      work(number == 0 ? 1500 : 100);
      if (number < 2) send(all_stages[number + 1], i);
    }
  });
}

void done() {
  running = threads;
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i)
    all.emplace_back([] {
      work(50000);
      std::lock_guard<std::mutex> lock(guard);
      if (--running == 0) over.notify_one();
    });
  {
    std::unique_lock<std::mutex> lock(guard);
    over.wait(lock, [] { return running == 0; });
  }
  for (std::thread& each : all) each.join();
}

}  // namespace

int main(int count, char** words) {
  const char* const what = count > 1 ? words[1] : "";
  if (std::strcmp(what, "queue") == 0) feed(2, 4);
  else if (std::strcmp(what, "pool") == 0) feed(1, 1000);
  else if (std::strcmp(what, "stages") == 0) stages();
  else if (std::strcmp(what, "done") == 0) done();
  else locks(what);
  return 0;
}
