// module.cpp -- an instrumented library that loader.cpp loads while it runs.
#include <cstdio>
#include <cstdlib>

namespace {

struct functions {
  int (*draw)();
};
const functions constant{std::rand};
functions changeable{std::rand};

}  // namespace

extern "C" void prints(char* at) {
  *at = 3;
  std::puts("never seen");
}
extern "C" void draws_by_constant_table(char* at) {
  *at = 3;
  const functions* volatile table = &constant;
  table->draw();
}
extern "C" void draws_by_table(char* at) {
  *at = 3;
  functions* volatile table = &changeable;
  table->draw();
}
extern "C" int tables_agree() {
  const functions* volatile table = &constant;
  int (*volatile draw)() = std::rand;
  return table->draw == draw && changeable.draw == draw;
}
extern "C" void writes(char* at) {
  for (int i = 0; i < 8; ++i) at[i] = 7;
}
