// A program whose report is looked at (report_of_program.sh): threads made in every way, a lock
// that they wait for, memory that it maps itself, and a library that takes its time.
#include <pthread.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

namespace {

std::mutex the_mutex;
long the_counter;
long* mapped;

void use_lock(int times) {
  for (int i = 0; i < times; ++i) {
    const std::lock_guard<std::mutex> held(the_mutex);
    ++the_counter;
    mapped[the_counter % 4096]++;
  }
}

struct user {
  void use(int times) { use_lock(times); }
  void operator()() const { use_lock(600); }
};

void* raw_thread(void*) {
  use_lock(500);
  return nullptr;
}

// In the C library, which nobody instrumented: some 100 ms.
void format_numbers(int many) {
  char text[64];
  for (int i = 0; i < many; ++i) std::snprintf(text, sizeof text, "%.15f", i / 7.0);
}

}  // namespace

int main(int count, char** arguments) {
  mapped = static_cast<long*>(::mmap(nullptr, 4096 * sizeof(long), PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (mapped == MAP_FAILED) return 1;
  user someone;
  std::vector<std::thread> threads;
  threads.emplace_back(use_lock, 500);
  threads.emplace_back([] { use_lock(500); });
  threads.emplace_back(&user::use, &someone, 500);
  threads.emplace_back(someone);
  std::future<void> later = std::async(std::launch::async, [] { use_lock(500); });
  pthread_t raw;
  pthread_create(&raw, nullptr, raw_thread, nullptr);
  for (std::thread& t : threads) t.join();
  later.get();
  pthread_join(raw, nullptr);
  if (count > 1) format_numbers(std::atoi(arguments[1]));
  return the_counter == 3100 ? 0 : 1;
}
