// Structs that calls return or take by value, from memory that others see: one thread calls, the
// other one writes there. In registers and not, constructed in place, behind a call that may throw.
// `all_locked` and `made_locked` have them in order: the latter's function returns the struct under
// the mutex, and the assignment follows in a section of its own.
#include "program.h"

#include <array>
#include <cstdio>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>

namespace {

struct small {
  int first, second;
};
struct mixed {
  double first;
  int second;
};
struct large {
  long each[6];
};
struct both_of {
  small first;
  large second;
};
struct knows_itself {
  knows_itself* me;
  long more[4];
  knows_itself() : me(this), more{} {}
};

small a_small{};
mixed a_mixed{};
large a_large{};
large many[3]{};
std::array<int, 8> numbers{};
std::pair<int, int> two{};
std::optional<int> perhaps;
alignas(16) char room[256];
volatile long seen;
std::mutex mutex;

small make_small(int n) { return {n, n}; }
mixed make_mixed(int n) { return {1, n}; }
large make_large(long n) { return {{n}}; }
large pass_on(const large& from) { return from; }
large make_or_throw(long n) {
  if (n < 0) throw std::runtime_error("below 0");
  return {{n}};
}
std::array<int, 8> make_numbers() { return {1}; }
std::pair<int, int> make_two() { return {1, 2}; }
std::optional<int> make_perhaps() { return 1; }
knows_itself make_knowing() { return {}; }
large make_locked() {
  const std::scoped_lock section(mutex);
  return a_large;
}

long take_small(small s) { return s.second; }
long take_mixed(mixed s) { return s.second; }
long take_large(large s) { return s.each[5]; }
long take_second(small, large s, int) { return s.each[0]; }

void result_small() { a_small = make_small(1); }
void result_mixed() { a_mixed = make_mixed(1); }
void result_large() { a_large = make_large(1); }
void result_element() { many[1] = make_large(1); }
void result_of_other() { a_large = pass_on(many[0]); }
void result_or_throw() {
  try {
    a_large = make_or_throw(seen);
  } catch (const std::runtime_error&) {
    std::abort();
  }
}
void result_array() { numbers = make_numbers(); }
void result_pair() { two = make_two(); }
void result_optional() { perhaps = make_perhaps(); }
void new_small() { new (room) small(make_small(1)); }
void new_large() { new (room) large(make_large(1)); }
void new_members() { new (room) both_of{make_small(1), make_large(2)}; }
void new_in_place() {
  auto* const made = new (room) knows_itself(make_knowing());
  if (made->me != made) std::abort();
}
void argument_small() { seen = take_small(a_small); }
void argument_mixed() { seen = take_mixed(a_mixed); }
void argument_large() { seen = take_large(a_large); }
void argument_element() { seen = take_large(many[1]); }
void argument_second() { seen = take_second({1, 2}, a_large, 3); }

void write_all() {
  a_small = {3, 3};
  a_mixed.first = a_mixed.second = 3;
  for (long& each : a_large.each) each = 3;
  for (large& each : many) each.each[0] = each.each[5] = 3;
  numbers[0] = two.first = 3;
  if (!perhaps) perhaps = 3;
  for (int i = 0; i < 32; ++i) const_cast<volatile char*>(room)[i] = 1;
}

template <void (*call)()>
void beside() {
  both(call, write_all);
}
void all_locked();
void made_locked() {
  const auto makes = [] {
    const large made = make_locked();
    const std::scoped_lock section(mutex);
    a_large = made;
  };
  both(makes, makes);
}
// The call's section has ended when the assignment is made.
void made_locked_assigned_outside() {
  const auto makes = [] { a_large = make_locked(); };
  both(makes, makes);
}

const scenario_program::scenario all[] = {
    {"all_locked", all_locked},
    {"made_locked", made_locked},
    {"made_locked_assigned_outside", made_locked_assigned_outside},
    {"result_small", beside<result_small>},
    {"result_mixed", beside<result_mixed>},
    {"result_large", beside<result_large>},
    {"result_element", beside<result_element>},
    {"result_of_other", beside<result_of_other>},
    {"result_or_throw", beside<result_or_throw>},
    {"result_array", beside<result_array>},
    {"result_pair", beside<result_pair>},
    {"result_optional", beside<result_optional>},
    {"new_small", beside<new_small>},
    {"new_large", beside<new_large>},
    {"new_members", beside<new_members>},
    {"new_in_place", beside<new_in_place>},
    {"argument_small", beside<argument_small>},
    {"argument_mixed", beside<argument_mixed>},
    {"argument_large", beside<argument_large>},
    {"argument_element", beside<argument_element>},
    {"argument_second", beside<argument_second>},
};

void all_locked() {
  const auto section = [](auto does) {
    return [does] {
      const std::scoped_lock in(mutex);
      does();
    };
  };
  both(section([] {
         for (void (*each)() :
              {result_small, result_mixed, result_large, result_element, result_of_other,
               result_or_throw, result_array, result_pair, result_optional, new_small, new_large,
               new_members, new_in_place, argument_small, argument_mixed, argument_large,
               argument_element, argument_second})
           each();
       }),
       section(write_all));
}

}  // namespace

int main(int argc, char** argv) { return scenario_program::main(argc, argv, all); }
