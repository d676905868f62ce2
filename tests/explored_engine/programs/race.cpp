// A counter without a lock, in a block of the heap.
// Expect: 1 data race: .* by thread . are not ordered
#include <thread>

int main() {
  int* const counter = new int(0);
  std::thread other([=] { ++*counter; });
  ++*counter;
  other.join();
  delete counter;
}
