// A thread writes to a variable of a function that has returned, and that compilers would inline.
#include <atomic>
#include <thread>

std::atomic<int*> given{nullptr};

static void give() {
  int own = 0;
  given.store(&own);
}

int main() {
  std::thread other([] {
    if (int* const at = given.load()) *at = 1;
  });
  give();
  other.join();
}
