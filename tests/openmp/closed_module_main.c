// closed_module_main.c -- opens and closes modules (closed_module.c) and says whether they went.
//
// Usage: TIMES HOW FILE...: each FILE in turn is copied to "module-0.so", opened, used, closed.
// HOW: "alone"; "region": within a region of ours, which has an OpenMP runtime then; "team": each
// thread of one does so with files of its own; "ends": only the module's destructors use OpenMP;
// "ends later": only they from the second time on. NAMES_R_DEBUG: the program refers to the loader's
// `_r_debug`, and so has a copy of it.
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const char* what, const char* file, int turn) {
  fprintf(stderr, "turn %d, %s: %s\n", turn, file, what);
  exit(1);
}

static int is_mapped(const char* name) {
  char line[512];
  int found = 0;
  FILE* maps = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof line, maps) != NULL) found |= strstr(line, name) != NULL;
  fclose(maps);
  return found;
}

// A file of its own: the loader takes two links to one file for the same module.
static int copied(const char* from, const char* to) {
  char bytes[4096];
  size_t count;
  FILE *const in = fopen(from, "rb"), *const out = fopen(to, "wb");
  if (in == NULL || out == NULL) return 0;
  while ((count = fread(bytes, 1, sizeof bytes, in)) > 0) fwrite(bytes, 1, count, out);
  fclose(in);
  return fclose(out) == 0;
}

// `file` ends with the version that the module's work has to give.
static void turn(const char* file, int number, int thread, int works) {
  char name[64], copy[512];
  snprintf(name, sizeof name, "./module-%d.so", thread);
  snprintf(copy, sizeof copy, "%s.%d", file, thread);
  if (!copied(file, copy) || rename(copy, name) != 0) fail("cannot be copied", file, number);
  void* const module = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (module == NULL) fail(dlerror(), file, number);
  int ended = 0, ended_last = 0;
  *(int**)dlsym(module, "ended") = &ended;
  int** const last = (int**)dlsym(module, "ended_last");
  if (last != NULL) *last = &ended_last;
  if (works) {
    long (*const work)(void) = (long (*)(void))dlsym(module, "work");
    if (work() != strtol(strrchr(file, '-') + 1, NULL, 10)) fail("wrong work", file, number);
  }
  if (dlclose(module) != 0) fail(dlerror(), file, number);
  if (ended != 1) fail("its destructor has not run", file, number);
  if (last != NULL && ended_last != 1) fail("its last destructor has not run", file, number);
  if (is_mapped(name + 1)) fail("still loaded", file, number);
}

int main(int count, char** arguments) {
#ifdef NAMES_R_DEBUG
  if (_r_debug.r_version < 1) fail("no _r_debug", arguments[0], 0);
#endif
  const int times = atoi(arguments[1]);
  const char* const how = arguments[2];
  char** const files = arguments + 3;
  const int several = count - 3;
  for (int t = 0; t < times; ++t) {
    const char* const file = files[t % several];
    const int first = t < several;
    const int works = strcmp(how, "ends later") == 0 ? first : strcmp(how, "ends") != 0;
    if (strcmp(how, "alone") == 0 || strncmp(how, "ends", 4) == 0) turn(file, t, 0, works);
#ifdef _OPENMP
    if (strcmp(how, "region") == 0) {
#pragma omp parallel num_threads(2)
      {
#pragma omp single
        turn(file, t, 0, works);
#pragma omp barrier
      }
    }
    if (strcmp(how, "team") == 0) {
#pragma omp parallel for num_threads(3) schedule(static, 1)
      for (int i = 0; i < 3; ++i) turn(file, t, i, works);
    }
#endif
  }
  printf("%d times\n", times);
  return 0;
}
