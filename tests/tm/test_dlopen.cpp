// A program that knows nothing of transactions opens a library that was linked with libitm, before
// and after it has threads.
// Options: -fno-gnu-tm
#include "check.h"

#include <thread>

#include <dlfcn.h>

int main() {
  void* const plugin = dlopen(TM_PLUGIN, RTLD_NOW);
  if (plugin == nullptr) std::fprintf(stderr, "%s\n", dlerror());
  CHECK(plugin != nullptr);
  auto* const count = reinterpret_cast<long (*)()>(dlsym(plugin, "plugin_count"));
  CHECK(count != nullptr);
  std::thread other([&] {
    for (int i = 0; i < 1000; ++i) count();
  });
  for (int i = 0; i < 1000; ++i) count();
  other.join();
  CHECK(count() == 2001);
}
