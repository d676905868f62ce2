// More lines than a description allows, written and read: the transaction is rolled back at once.
// run: SYNCOPATE_MACHINE=@dir@/small-htm.toml
#include "overflow.h"

namespace {

constexpr unsigned most_written = 8, most_read = 16;  // of small-htm.toml

void read_lines(unsigned count) {
  for (unsigned i = 0; i < count; ++i) (void)other_lines[i * 8];
}

}  // namespace

int main() {
  print_attempt("one line more than can be written", [] {
    for (unsigned i = 0; i <= most_written; ++i) counters[i].value = 1;
  });
  print_attempt("an atomic on one line more", [] {
    for (unsigned i = 0; i < most_written; ++i) counters[i].value = 1;
    std::atomic_ref(counters[most_written].value).fetch_add(1);
  });
  print_attempt("one line more than can be read, then a write", [] {
    counters[0].value = 1;
    read_lines(most_read + 1);
    counters[1].value = 1;
  });
  print_lost("writes", most_written + 1, [](unsigned) {
    for (unsigned i = 0; i <= most_written; ++i) counters[i].value += 1;
  });
  print_lost("reads between", 2, [](unsigned round) {
    counters[0].value += 1;
    read_lines(2 * round % (2 * most_read));
    counters[1].value += 1;
  });
}
