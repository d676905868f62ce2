// What a machine shares with the program's C++ library: exceptions through its calls, streams, a
// locale, a memory resource, threads that wait.
#include <condition_variable>
#include <iostream>
#include <locale>
#include <memory_resource>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {
std::mutex lock;
std::condition_variable changed;
int total, ready;

void add(int number) {
  const std::lock_guard held(lock);
  if (number == 2) throw std::runtime_error("two");
  total += number;
  ++ready;
  changed.notify_one();
}
}  // namespace

int main() {
  std::pmr::monotonic_buffer_resource memory;
  std::pmr::set_default_resource(&memory);
  std::locale::global(std::locale::classic());
  std::pmr::vector<std::thread> threads;
  std::string caught;
  for (int i = 1; i <= 2; ++i)
    threads.emplace_back([i, &caught] {
      try {
        add(i);
      } catch (const std::runtime_error& error) {
        caught = error.what();
      }
    });
  {
    std::unique_lock held(lock);
    changed.wait(held, [] { return ready == 1; });
  }
  for (auto& each : threads) each.join();
  std::cout << "total " << total << ", caught " << caught << std::endl;
  std::pmr::set_default_resource(nullptr);
}
