// module.cpp -- an instrumented library that loader.cpp loads while it runs.
#include <cstdio>

extern "C" void prints(char* at) {
  *at = 3;
  std::puts("never seen");
}
extern "C" void writes(char* at) {
  for (int i = 0; i < 8; ++i) at[i] = 7;
}
