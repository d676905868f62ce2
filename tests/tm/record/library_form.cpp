// library_form.cpp -- transactions of the library form, one by one and in a child process.
#include <syncopate/tm/atomically.h>

#include <cstdlib>

#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace syncopate::tm;

var<long> total{0};

void add(long value) {
  atomically([&](tx& t) { total.set(t, total.get(t) + value); });  // add
}

void add_twice(long value) {
  atomically([&](tx& t) {  // add-twice
    total.set(t, total.get(t) + value);
    total.set(t, total.get(t) + value);
  });
}

}  // namespace

int main() {
  for (int i = 0; i < 5; ++i) add(1);
  if (const pid_t child = fork(); child == 0) {
    for (int i = 0; i < 3; ++i) add_twice(1);
    std::exit(total.unsafe_get() == 11 ? 0 : 1);
  } else {
    int status = 1;
    waitpid(child, &status, 0);
    if (status != 0) return 2;
  }
  add_twice(1);
  return total.unsafe_get() == 7 ? 0 : 1;
}
