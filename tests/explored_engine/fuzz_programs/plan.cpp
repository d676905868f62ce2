// Makes random programs.
#include "plan.h"

#include <cstdlib>
#include <random>

namespace {

// What a step may do inside of a lock, or in a thread of its own: none of these waits for what its
// parent holds.
constexpr kind for_children[] = {kind::load,          kind::store,   kind::add,
                                 kind::inner_section, kind::fence,   kind::thread_local_end,
                                 kind::cell_write,    kind::exchange};

class maker {
 public:
  maker(plan& made, const profile& p, unsigned long seed)
      : made_(made), first_(p), second_(p), random_(seed) {}

  void make() {
    if (any(4) == 0) second_ = all_profiles[any(profiles)];
    few_values_ = any(2) != 0;
    made_.threads = any(3) == 0 ? 3 : 2;
    const unsigned threads = unsigned(made_.threads);
    const unsigned total = threads + any(threads == 2 ? 5 : 3);
    for (unsigned i = 0; i < total; ++i) add_step(int(i < threads ? i : any(threads)));
  }

 private:
  unsigned any(unsigned below) { return unsigned(random_() % below); }

  // Steps that write the same make programs with few outcomes, those with many show which one was
  // read.
  int some_value() { return few_values_ ? int(any(2)) : ++last_value_; }

  kind some_kind() {
    const unsigned first = unsigned(first_.count);
    const unsigned i = any(first + unsigned(second_.count));
    return i < first ? first_.kinds[i] : second_.kinds[i - first];
  }

  // A second promise of one future throws; a thread that meets others twice waits in vain.
  kind allowed(int thread, kind what) const {
    if (what == kind::promise_set && count_of(made_, what) > 0) return kind::load;
    if (what != kind::barrier_meet && what != kind::posix_barrier_meet) return what;
    for (int i = 0; i < made_.length[thread]; ++i)
      if (made_.steps[thread][i].what == what) return kind::load;
    return what;
  }

  step some_step(kind what, int thread, int index) {
    step s{};
    s.what = what;
    s.variable = int(any(2));
    s.order = any(orders);
    s.choice = any(choices);
    s.value = some_value();
    s.expected = any(3) == 0 ? int(any(3)) : 0;
    s.thread = thread;
    s.index = index;
    return s;
  }

  void add_step(int thread) {
    int& length = made_.length[thread];
    if (length >= most_steps) return;
    step s = some_step(allowed(thread, some_kind()), thread, length);
    step& child = made_.children[thread][length];
    child = some_step(for_children[any(std::size(for_children))], thread, length);
    s.child = &child;
    made_.steps[thread][length++] = s;
  }

  plan& made_;
  profile first_, second_;
  std::mt19937_64 random_;
  bool few_values_ = false;
  int last_value_ = 0;
};

bool is_dropped(const char* drop, const step& s) {
  while (*drop >= '0' && *drop <= '9') {
    char* behind;
    const long thread = std::strtol(drop, &behind, 10);
    if (*behind != '.') return false;
    const long index = std::strtol(behind + 1, &behind, 10);
    if (thread == s.thread && index == s.index) return true;
    drop = *behind == ',' ? behind + 1 : behind;
  }
  return false;
}

}  // namespace

void make_plan(plan& made, const profile& p, unsigned long seed, const char* drop) {
  made = {};
  maker(made, p, seed).make();
  for (int t = 0; t < made.threads; ++t) {
    int kept = 0;
    for (int i = 0; i < made.length[t]; ++i)
      if (!is_dropped(drop, made.steps[t][i])) made.steps[t][kept++] = made.steps[t][i];
    made.length[t] = kept;
  }
}

int count_of(const plan& p, kind what) {
  int count = 0;
  for (int t = 0; t < p.threads; ++t)
    for (int i = 0; i < p.length[t]; ++i) count += p.steps[t][i].what == what;
  return count;
}
