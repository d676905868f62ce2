// test_dlopen.cpp -- libraries opened at run time share locks with the program; static TLS space
// is left.
//
// Opens: liblib_plugin.so and liblib_big_tls.so in the folder of the program.
#include <dlfcn.h>

#include <string>

#include "thread.h"

namespace {

std::string beside_program(const char* name) {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length < 0) return name;
  const std::string self(path, static_cast<size_t>(length));
  return self.substr(0, self.rfind('/') + 1) + name;
}

void* open_library(const char* name) {
  void* library = dlopen(beside_program(name).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) check_fail(__FILE__, __LINE__, name, "opens", dlerror());
  MUST(library != nullptr);
  return library;
}

template <typename Function>
Function function(void* library, const char* name) {
  void* const symbol = dlsym(library, name);
  MUST(symbol != nullptr);
  return reinterpret_cast<Function>(symbol);
}

void program_and_plugin_share_locks() {
  void* library = open_library("liblib_plugin.so");
  const auto round = function<int (*)(volatile long*)>(library, "plugin_round");
  pthread_mutex_t* mutex = function<pthread_mutex_t* (*)()>(library, "plugin_mutex")();
  pthread_cond_t* cond = function<pthread_cond_t* (*)()>(library, "plugin_cond")();
  volatile long counter = 0;
  bool open = false;
  Thread waiter([&] {
    CHECK_OK(pthread_mutex_lock(mutex));
    while (!open) CHECK_OK(pthread_cond_wait(cond, mutex));
    CHECK_OK(pthread_mutex_unlock(mutex));
  });
  run_threads(4, [&](int self) {
    int bad = 0;
    for (int i = 0; i < 2000; ++i) {
      if (self % 2 == 0) {
        bad |= round(&counter);
      } else {
        bad |= pthread_mutex_lock(mutex);
        counter = counter + 1;
        bad |= pthread_mutex_unlock(mutex);
      }
    }
    CHECK_EQ(bad, 0);
  });
  CHECK_EQ(counter, 8000);
  CHECK_OK(pthread_mutex_lock(mutex));
  open = true;
  CHECK_OK(pthread_mutex_unlock(mutex));
  CHECK_OK(round(&counter));  // the plugin's signal wakes the program's waiter
  waiter.join();
  CHECK_EQ(dlclose(library), 0);
}

void opened_again_and_again() {
  for (int i = 0; i < 20; ++i) {
    void* library = open_library("liblib_plugin.so");
    volatile long counter = 0;
    CHECK_OK(function<int (*)(volatile long*)>(library, "plugin_round")(&counter));
    CHECK_EQ(dlclose(library), 0);
  }
}

void big_thread_locals() {
  void* library = open_library("liblib_big_tls.so");
  const auto touch = function<int (*)(int)>(library, "big_tls_touch");
  run_threads(3, [&](int self) { CHECK_EQ(touch(self + 1), self + 1); });
  CHECK_EQ(touch(9), 9);
  CHECK_EQ(dlclose(library), 0);
}

// Opening from several threads at once: the loader's own lock meets constructors that lock.
void opened_by_threads() {
  run_threads(4, [&](int) {
    for (int i = 0; i < 10; ++i) {
      void* library = open_library("liblib_plugin.so");
      volatile long counter = 0;
      CHECK_OK(function<int (*)(volatile long*)>(library, "plugin_round")(&counter));
      CHECK_EQ(dlclose(library), 0);
    }
  });
}

}  // namespace

int main() {
  check_begin();
  program_and_plugin_share_locks();
  opened_again_and_again();
  big_thread_locals();
  opened_by_threads();
  return check_end();
}
