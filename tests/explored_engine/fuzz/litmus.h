// litmus.h -- what the explored machine finds in litmus tests (tests.txt has their form), for
// check.py in the folder litmus to compare.
#pragma once

namespace fuzz {

// For each test: its name, the executions that are not redundant, "orders" where the machine says
// that it lacks some of seq_cst, "anew" where it has looked for others than those of execution, and
// after each "|" an outcome: the values read, in the program's order, then x, y, z in the end.
// Returns the exit status.
int show_litmus(const char* file);

}  // namespace fuzz
