/* nas.c -- see nas.h. */
#include "nas.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef _OPENMP
#include <omp.h>
#else
static int omp_get_max_threads(void) { return 1; }
static void omp_set_num_threads(int threads) { (void)threads; }
#endif

static const char* const size_names[] = {"lua", "small", "paper", "large"};
enum { presets = sizeof size_names / sizeof *size_names };

struct nas_random nas_random(uint64_t seed, uint64_t bound) {
  const struct nas_random stream = {seed * 2654435761u % 4294967296u + 1, bound};
  return stream;
}

uint64_t nas_next(struct nas_random* stream) {
  stream->state = (stream->state * 1664525 + 1013904223) % 4294967296u;
  return (stream->state >> 8) % stream->bound;
}

void* nas_array(size_t count, size_t size) {
  void* const result = calloc(count, size);
  if (result == NULL) {
    fprintf(stderr, "no memory for %zu elements of %zu bytes\n", count, size);
    exit(2);
  }
  return result;
}

void nas_print_value(char* result, size_t length, double value) {
  snprintf(result, length, "%.10e", value);
}

struct choice {
  const char* preset;
  long size; /* 0: the preset's */
  long threads;
};

static void help(const struct nas_program* p) {
  printf("%s\n\n", p->about);
  printf("  --preset   sizes: lua, small, paper or large (default: small)\n");
  printf("  --size     %s (default: the preset's)\n", p->size_help);
  printf("  --threads  of OpenMP (default: as it chooses)\n\n");
  printf("  sizes         size\n");
  for (size_t i = 0; i < presets; ++i) printf("  %-5s  %10ld\n", size_names[i], p->sizes[i]);
  printf("\n");
  printf("Prints one line of JSON. With a preset's size, the result must be the known one.\n");
  exit(0);
}

static long number(const char* program, const char* option, const char* text, long least,
                   long most) {
  char* end = NULL;
  errno = 0;
  const long value = strtol(text, &end, 10);
  if (errno != 0 || end == text || *end != '\0' || value < least || value > most) {
    fprintf(stderr, "%s: %s needs a whole number from %ld to %ld, not '%s'\n", program, option,
            least, most, text);
    exit(2);
  }
  return value;
}

static struct choice read_options(int argc, char** argv, const struct nas_program* p) {
  struct choice c = {"small", 0, omp_get_max_threads()};
  for (int i = 1; i < argc; i += 2) {
    const char* const word = argv[i];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) help(p);
    const bool known = strcmp(word, "--preset") == 0 || strcmp(word, "--size") == 0 ||
                       strcmp(word, "--threads") == 0;
    if (!known || i + 1 == argc) {
      fprintf(
          stderr,
          known ? "%s: option '%s' needs a value\n" : "%s: there is no option '%s'; see --help\n",
          p->name, word);
      exit(2);
    }
    if (strcmp(word, "--preset") == 0) c.preset = argv[i + 1];
    else if (strcmp(word, "--size") == 0)
      c.size = number(p->name, word, argv[i + 1], p->least, p->most);
    else c.threads = number(p->name, word, argv[i + 1], 1, 4096);
  }
  return c;
}

/* The preset's number in size_names. */
static size_t preset_of(const char* program, const char* name) {
  for (size_t i = 0; i < presets; ++i)
    if (strcmp(name, size_names[i]) == 0) return i;
  fprintf(stderr, "%s: no preset is called '%s'; there are lua, small, paper and large\n", program,
          name);
  exit(2);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int nas_main(int argc, char** argv, const struct nas_program* p) {
  const struct choice c = read_options(argc, argv, p);
  const long preset_size = p->sizes[preset_of(p->name, c.preset)];
  const long size = c.size != 0 ? c.size : preset_size;
  if (p->is_size != NULL && !p->is_size(size)) {
    fprintf(stderr, "%s: --size needs a power of two, not %ld\n", p->name, size);
    return 2;
  }
  omp_set_num_threads((int)c.threads);
  p->prepare(size);
  char result[64];
  const double began = now();
  bool right = p->run(result, sizeof result);
  const double seconds = now() - began;
  const char* expected = NULL;
  for (size_t i = 0; i < presets; ++i)
    if (size == p->sizes[i]) expected = p->known_values[i];
  const bool known = expected != NULL;
  if (known && strcmp(result, expected) != 0) {
    fprintf(stderr, "%s: the result is %s, not %s\n", p->name, result, expected);
    right = false;
  }
  printf(
      "{\"workload\": \"%s\", \"threads\": %ld, \"operations\": 1, \"seconds\": %.9f, "
      "\"preset\": \"%s\", \"size\": %ld, \"result\": \"%s\", \"known\": %s, "
      "\"consistent\": %s}\n",
      p->name, c.threads, seconds, c.preset, size, result, known ? "true" : "false",
      right ? "true" : "false");
  return right ? 0 : 1;
}
