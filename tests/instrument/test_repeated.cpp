// A machine may run the program several times: each run finds what static constructors left,
// however the run before ended. SYNCOPATE_PLAIN_RUNS=4 by the folder's CMakeLists.txt.
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "check.h"

namespace {

int counter = 3;
int untouched;
std::map<int, std::string> table{{1, "one"}};
thread_local int local = 4;
// Constructors run in main's thread; other threads' variable is 4.
struct at_start {
  at_start() { local = 5; }
} start;
char* first_block = nullptr;

}  // namespace

int main() {
  CHECK(counter == 3 && untouched == 0 && local == 5 && first_block == nullptr);
  CHECK(table.size() == 1 && table[1] == "one");
  ++counter;
  ++untouched;
  local = 77;
  for (int i = 0; i < 1000; ++i) table[i] = std::string(100, 'x');
  table.erase(1);
  first_block = static_cast<char*>(std::calloc(1000, 1));
  for (int i = 0; i < 1000; ++i) CHECK(first_block[i] == 0);
  for (int i = 0; i < 1000; ++i) first_block[i] = 1;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([] {
      CHECK(local == 4);
      local = 6;
      delete[] new int[300];
    });
  }
  for (std::thread& t : threads) t.join();
  std::thread([] {
    for (;;) std::this_thread::yield();  // left behind in the middle
  }).detach();
}
