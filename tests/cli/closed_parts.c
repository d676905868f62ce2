// closed_parts.c -- loads and closes the libraries that are its arguments, one after the other.
// Prints where each was.
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char** names) {
  for (int i = 1; i < count; ++i) {
    void* part = dlopen(names[i], RTLD_NOW);
    if (part == NULL) return fprintf(stderr, "%s\n", dlerror()), 1;
    void (*run)(void) = (void (*)(void))dlsym(part, "run");
    printf("%p\n", (void*)run);
    run();
    dlclose(part);
  }
  return 0;
}
