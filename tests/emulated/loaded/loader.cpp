// loader.cpp -- what a library that is loaded later does in transactions is the machine's as well:
// its writes come back, its calls of foreign code end them, also those by addresses in its data.
#include <dlfcn.h>

#include "../check.h"

int main(int count, char** arguments) {
  CHECK(count == 2 && attempt([] {}).started());
  void* const library = dlopen(arguments[1], RTLD_NOW);
  CHECK(library != nullptr);
  using function = void(char*);
  auto* const writes = reinterpret_cast<function*>(dlsym(library, "writes"));
  static char bytes[8];
  htm::status s = attempt([=] {
    writes(bytes);
    htm::abort<1>();
  });
  CHECK(s.code == 1 && bytes[7] == 0);
  for (const char* const name : {"prints", "draws_by_constant_table", "draws_by_table"}) {
    auto* const calls = reinterpret_cast<function*>(dlsym(library, name));
    s = attempt([=] { calls(bytes); });
    CHECK(s.why == htm::cause::other && bytes[0] == 0);
  }
  CHECK(reinterpret_cast<int (*)()>(dlsym(library, "tables_agree"))() == 1);
  CHECK(retry([=] { writes(bytes); }) && bytes[7] == 7);
}
