// A plugin with transactional functions, opened, called through pointers in transactions, closed,
// and opened again, while another thread runs transactions.
#include "check.h"

#include <atomic>
#include <thread>

#include <dlfcn.h>

namespace {

typedef void (*bump_function)(long*) __attribute__((transaction_safe));
long x, y;
std::atomic<bool> stop{false};

void in_background() {
  while (!stop) {
    __transaction_atomic { ++y; }
  }
}

}  // namespace

int main() {
  std::thread background(in_background);
  for (int i = 0; i < 100; ++i) {
    void* const plugin = dlopen(TM_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    CHECK(plugin != nullptr);
    auto* const bump = reinterpret_cast<bump_function>(dlsym(plugin, "plugin_bump"));
    auto* const count = reinterpret_cast<long (*)()>(dlsym(plugin, "plugin_count"));
    CHECK(bump != nullptr && count != nullptr);
    for (int k = 0; k < 10; ++k) {
      __transaction_atomic { bump(&x); }
    }
    CHECK(count() == 1 && count() == 2);
    CHECK(dlclose(plugin) == 0);
  }
  stop = true;
  background.join();
  CHECK(x == 1000);
}
