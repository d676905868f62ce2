// As looks_limited.cpp, with as many looks as there are turns.
// Expect: 1 failed check: .*found_in
// Options: looks=6
#include "looks_limited.cpp"
