// A random program: what each of its threads does, and how its outcome is told. These functions
// are not instrumented, so that the machine sees the program's objects alone.
#pragma once

enum class kind : unsigned char {
#define OPERATION(name) name,
#include "operations.def"
#undef OPERATION
  count
};

struct step {
  kind what;
  int variable;         // which of two objects of its kind
  unsigned order;       // below `orders`, see objects.h
  unsigned choice;      // below `choices`: which of several ways
  int value, expected;  // what is written, and what a compare-exchange wants to find
  int thread, index;    // where in the program it stands
  const step* child;    // what it does inside, or what another thread does for it
};

inline constexpr unsigned orders = 6;
inline constexpr unsigned choices = 3;
inline constexpr int most_threads = 3;
inline constexpr int most_steps = 6;  // of one thread

struct plan {
  int threads;
  int length[most_threads];
  step steps[most_threads][most_steps];
  step children[most_threads][most_steps];
};

struct profile {
  template <class... Kinds>
  constexpr profile(const char* with_name, Kinds... of)
      : name(with_name), count(sizeof...(of)), kinds{of...} {}

  const char* name;
  int count;
  kind kinds[12];
};

inline constexpr int profiles = 22;
extern const profile all_profiles[profiles];

// Random, by `seed`, of the kinds of `p`. `drop` names steps to leave out: "0.2,1.0" is the third
// of the first thread and the first of the second; no other step changes.
void make_plan(plan& made, const profile& p, unsigned long seed, const char* drop);

// How many steps are of kind `what`.
int count_of(const plan& p, kind what);

// Outcomes go to this descriptor, a line each.
void tell_outcomes_to(int descriptor);

// `result` of a step, or of its child, which may run in another thread.
void tell_result(const step& of, int result);
void tell_child_result(const step& of, int result);

// What an object holds at the end.
void tell_end(long value);

// The line of this execution; only executions that come to their end have one.
void write_outcome(const plan& p);

void write_plan(const plan& p);
