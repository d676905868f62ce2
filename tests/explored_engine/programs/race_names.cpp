// A race is told with the member's name: here of the first byte that both write, which is neither
// the whole object's nor where the longer write begins.
// Expect: 1 ^syncopate: data race: .* are not ordered: queues\[1\]\.tail$
#include <cstring>
#include <thread>

namespace {
struct queue {
  int head = 0;
  long tail = 0;
};
queue queues[2];
}  // namespace

int main() {
  std::thread other([] { queues[1].tail = 1; });
  std::memset(static_cast<void*>(queues), 0, sizeof queues);
  other.join();
}
