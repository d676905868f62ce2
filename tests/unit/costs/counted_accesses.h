// counted_accesses.h -- counts a thread's accesses to memory: see counted_accesses.cpp.
#pragma once

struct access_count {
  int rmws, loads, stores, lines;
};
struct access_counts {
  access_count shared, own;  // own: of thread-local memory
};

void begin_counting();
access_counts end_counting();
