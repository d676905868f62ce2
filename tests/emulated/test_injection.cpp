// test_injection.cpp -- one run of injection.sh for each access: every transaction is aborted once
// at its n-th access, and the program must come to the same end.
// driver: injection.sh
#include <list>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>

#include "elided.h"

namespace {

struct counts_destructions {
  explicit counts_destructions(int& where) : count(where) {}
  ~counts_destructions() { ++count; }
  int& count;
};

// Frames that return inside, escaping locals, heap, strings, an exception.
long work(elided& lock, std::map<int, std::string>& map, std::list<long>& list) {
  int destroyed = 0;
  long sum = 0;
  for (int i = 0; i < 8; ++i) {
    const std::lock_guard guard(lock);
    map[i % 5] += "some more text for key " + std::to_string(i);
    if (i == 6) map.erase(2);
    list.push_front(i);
    if (list.size() > 4) list.pop_back();
    try {
      const counts_destructions one(destroyed);
      if (i % 3 == 0) throw std::runtime_error("now and then");
      sum += static_cast<long>(map.size());
    } catch (const std::runtime_error& error) {
      sum += error.what()[0];
    }
  }
  for (const auto& [key, text] : map) sum = sum * 31 + key + static_cast<long>(text.size());
  for (const long each : list) sum = sum * 31 + each;
  return sum * 31 + destroyed;
}

long run(bool elides) {
  elided lock(elides);
  std::map<int, std::string> map;
  std::list<long> list;
  return work(lock, map, list);
}

}  // namespace

int main() {
  CHECK(run(true) == run(false));
  long in_thread = 0;
  std::thread([&] { in_thread = run(true); }).join();
  CHECK(in_thread == run(false));
}
