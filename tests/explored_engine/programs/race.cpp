// A counter without a lock, in a block of the heap.
// Expect: 1 are not ordered: byte 0 of the block of 4 bytes allocated in main at race.cpp:6$
#include <thread>

int main() {
  int* const counter = new int(0);
  std::thread other([=] { ++*counter; });
  ++*counter;
  other.join();
  delete counter;
}
