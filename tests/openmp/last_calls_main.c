// last_calls_main.c -- runs the cases of last_calls.h. Without arguments those that it is linked
// with; else it knows nothing of OpenMP: it opens each module named, runs it and closes it again,
// or, after "open", leaves it open.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef void (*all_cases)(void (*)(void (*)(void)));

// Another module on the way to the last call.
__attribute__((noinline)) static void through(void (*body)(void)) {
  body();
  __asm__ volatile("");  // so that this one is not a jump
}

#ifdef LINKED
void last_calls(void (*)(void (*)(void)));
int main(int count, char** arguments) {
  (void)arguments;
  if (count > 1) return 0;  // it is enough that the loader has bound it
  last_calls(NULL);
  last_calls(through);
  return 0;
}
#else
int main(int count, char** modules) {
  int stays = 0;
  for (int i = 1; i < count; ++i) {
    if (strcmp(modules[i], "open") == 0) {
      stays = 1;
      continue;
    }
    void* const module = dlopen(modules[i], RTLD_NOW | RTLD_LOCAL);
    if (module == NULL) return fprintf(stderr, "%s\n", dlerror()), 1;
    const all_cases run = (all_cases)dlsym(module, "last_calls");
    run(NULL);
    run(through);
    if (!stays) dlclose(module);
  }
  return 0;
}
#endif
