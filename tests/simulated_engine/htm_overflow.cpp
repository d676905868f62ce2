// Written lines that a transaction's own accesses push out of the L1: it is rolled back at once.
// run: SYNCOPATE_MACHINE=test-4c
#include "overflow.h"

namespace {

constexpr unsigned sets = 16, ways = 4;  // of test-4c's L1

counter& in_set(unsigned set, unsigned way) { return counters[way * sets + set]; }
void read_in_set(unsigned set, unsigned count) {
  for (unsigned i = 0; i < count; ++i) (void)other_lines[(i * sets + set) * 8];
}

}  // namespace

int main() {
  print_attempt("pushed out by the last of the writes", [] {
    for (unsigned way = 0; way <= ways; ++way) in_set(3, way).value = 1;
  });
  print_attempt("pushed out by a write, and more writes", [] {
    for (unsigned way = 0; way <= ways; ++way) in_set(3, way).value = 1;
    in_set(4, 0).value = 1;
  });
  print_attempt("pushed out by reads, then writes", [] {
    in_set(3, 0).value = 1;
    read_in_set(3, ways);
    for (unsigned set = 4; set < 8; ++set) in_set(set, 0).value = 1;
  });
  print_attempt("pushed out by an atomic", [] {
    for (unsigned way = 0; way < ways; ++way) in_set(3, way).value = 1;
    std::atomic_ref(in_set(3, ways).value).fetch_add(1);
  });
  print_lost("writes", ways + 1, [](unsigned) {
    for (unsigned way = 0; way <= ways; ++way) in_set(3, way).value += 1;
  });
  print_lost("reads between", 2, [](unsigned round) {
    in_set(3, 0).value += 1;
    read_in_set(3, round % (2 * ways));
    in_set(5, 1).value += 1;
  });
}
