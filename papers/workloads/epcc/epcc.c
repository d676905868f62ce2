// epcc.c -- overheads of OpenMP constructs, in microseconds: a line of JSON for each.
//
//   OMP_NUM_THREADS=2 epcc_gcc [--preset SIZE] [--samples N] [--time US] [--delay US] [NAME]...
//
// NAME is a construct's (BARRIER) or a group's (sync, task, schedule); all when none is given. User
// and system CPU seconds of the measurement stand beside the wall time.
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "constructs.h"

static const struct preset {
  const char* name;
  int samples;
} presets[] = {{"small", 10}, {"paper", 20}, {"large", 200}};

static void show(const struct construct* c, const struct settings* how, int threads) {
  const struct comparison found = measure(c, how);
  const struct statistics reference = found.reference, test = found.test;
  const double overhead = test.mean - reference.mean;
  // 95 % of a normal distribution; both deviations count.
  const double confidence = 1.96 * hypot(test.deviation, reference.deviation);
  printf(
      "{\"construct\": \"%s\", \"group\": \"%s\", \"threads\": %d, \"overhead_us\": %.5f, "
      "\"confidence_us\": %.5f, \"best_overhead_us\": %.5f, \"test_us\": %.5f, "
      "\"reference_us\": %.5f, \"deviation_us\": %.5f, \"least_us\": %.5f, \"most_us\": %.5f, "
      "\"outliers\": %d, \"samples\": %d, \"cpus\": %.3f}\n",
      c->name, c->group, threads, overhead * 1e6, confidence * 1e6,
      (test.least - reference.least) * 1e6, test.mean * 1e6, reference.mean * 1e6,
      test.deviation * 1e6, test.least * 1e6, test.most * 1e6, test.outliers, how->samples,
      found.cpus);
  fflush(stdout);
}

static const struct construct* const groups[] = {sync_constructs, task_constructs,
                                                 schedule_constructs};

// A null pointer means all.
static int means(const char* word, const struct construct* c) {
  return word == NULL || strcmp(word, c->name) == 0 || strcmp(word, c->group) == 0;
}

static int is_known(const char* word) {
  for (size_t g = 0; g < sizeof groups / sizeof *groups; ++g)
    for (const struct construct* c = groups[g]; c->name != NULL; ++c)
      if (means(word, c)) return 1;
  return 0;
}

static void show_matching(const char* word, const struct settings* how, int threads) {
  for (size_t g = 0; g < sizeof groups / sizeof *groups; ++g)
    for (const struct construct* c = groups[g]; c->name != NULL; ++c)
      if (means(word, c)) show(c, how, threads);
}

static void list_constructs(FILE* out) {
  for (size_t g = 0; g < sizeof groups / sizeof *groups; ++g)
    for (const struct construct* c = groups[g]; c->name != NULL; ++c) fprintf(out, " %s", c->name);
}

static int refuse(const char* program, const char* word) {
  fprintf(stderr, "%s: there is no construct, group or option '%s'; constructs are", program, word);
  list_constructs(stderr);
  fprintf(stderr, "; groups sync task schedule; options --preset --samples --time --delay\n");
  return 2;
}

// What the option was given; ends the program where that is no such number.
static double number(const char* program, const char* option, const char* given, double least,
                     double most) {
  char* end = NULL;
  const double value = given != NULL ? strtod(given, &end) : 0;
  if (given != NULL && end != given && *end == '\0' && value >= least && value <= most)
    return value;
  fprintf(stderr, "%s: %s takes a number from %g to %.0f, not '%s'\n", program, option, least, most,
          given != NULL ? given : "");
  exit(2);
}

// Ends the program where there is no such preset.
static int samples_of(const char* program, const char* preset) {
  for (size_t i = 0; i < sizeof presets / sizeof *presets; ++i)
    if (strcmp(presets[i].name, preset) == 0) return presets[i].samples;
  fprintf(stderr, "%s: no preset is called '%s'; there are small, paper and large\n", program,
          preset);
  exit(2);
}

static int help(const char* program) {
  printf(
      "usage: %s [OPTION VALUE]... [CONSTRUCT or GROUP]...\n\n"
      "Overheads of OpenMP constructs, in microseconds: a line of JSON for each; all of them\n"
      "when none is named. OMP_NUM_THREADS threads.\n\n"
      "  --preset SIZE sizes: small, paper or large (paper)\n"
      "  --samples N   measurements of each (the preset's; at least 2)\n"
      "  --time US     how long one lasts, in microseconds (1000)\n"
      "  --delay US    the work in a construct, in microseconds (0.1)\n\n"
      "  sizes  samples\n",
      program);
  for (size_t i = 0; i < sizeof presets / sizeof *presets; ++i)
    printf("  %-5s  %7d\n", presets[i].name, presets[i].samples);
  printf("\nconstructs");
  list_constructs(stdout);
  printf("\ngroups sync task schedule\n");
  return 0;
}

int main(int argc, char** argv) {
  struct settings how = {0, 1e-3, 1e-7};
  const char* preset = "paper";
  int names = 0;
  if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
    return help(argv[0]);
  for (int at = 1; at < argc; ++at) {  // the names are moved to the front
    const char* word = argv[at];
    if (strncmp(word, "--", 2) != 0) {
      argv[++names] = argv[at];
      continue;
    }
    const char* given = at + 1 < argc ? argv[++at] : NULL;
    if (strcmp(word, "--preset") == 0 && given != NULL) preset = given;
    else if (strcmp(word, "--samples") == 0)
      how.samples = (int)number(argv[0], word, given, 2, 1e6);
    else if (strcmp(word, "--time") == 0)
      how.test_time = number(argv[0], word, given, 1, 1e9) * 1e-6;
    else if (strcmp(word, "--delay") == 0)
      how.delay_time = number(argv[0], word, given, 0.001, 1e6) * 1e-6;
    else return refuse(argv[0], word);
  }
  for (int name = 1; name <= names; ++name)
    if (!is_known(argv[name])) return refuse(argv[0], argv[name]);
  const int samples = samples_of(argv[0], preset);
  if (how.samples == 0) how.samples = samples;
  calibrate_delay(how.delay_time);
  int threads = 0;
#pragma omp parallel
#pragma omp master
  threads = omp_get_num_threads();
  if (names == 0) show_matching(NULL, &how, threads);
  for (int name = 1; name <= names; ++name) show_matching(argv[name], &how, threads);
  return 0;
}
