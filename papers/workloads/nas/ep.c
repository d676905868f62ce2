/* ep.c -- pairs of random numbers that a normal distribution accepts, counted by rings, with the
   structure of EP of the NAS benchmarks: nothing is shared but the ten counts at the end.

   Check   The counts sum up to the accepted pairs, about pi/4 of all; a known sum of counts for the
           smallest size. Numbers depend on the block of 4096 pairs, not on the thread. */
#include "nas.h"

#include <math.h>
#include <stdlib.h>

enum { block = 4096, rings = 10 };

static long blocks;

static void prepare(long size) { blocks = size; }

static long count_block(long which, long counts[rings]) {
  struct nas_random stream = nas_random((uint64_t)which + 1, 1 << 24);
  long accepted = 0;
  for (int i = 0; i < block; ++i) {
    const double x = 2 * (double)nas_next(&stream) / (1 << 24) - 1;
    const double y = 2 * (double)nas_next(&stream) / (1 << 24) - 1;
    const double square = x * x + y * y;
    if (square > 1 || square == 0) continue;
    const double factor = sqrt(-2 * log(square) / square);
    const double larger = fmax(fabs(x * factor), fabs(y * factor));
    ++counts[larger < rings - 1 ? (int)larger : rings - 1];
    ++accepted;
  }
  return accepted;
}

static bool run(char* result, size_t length) {
  long counts[rings] = {0}, accepted = 0;
#pragma omp parallel for schedule(static) reduction(+ : counts[:rings], accepted)
  for (long b = 0; b < blocks; ++b) accepted += count_block(b, counts);
  long sum = 0, weighted = 0;
  for (int ring = 0; ring < rings; ++ring) {
    sum += counts[ring];
    weighted += counts[ring] * (ring + 1);
  }
  snprintf(result, length, "%ld %ld", accepted, weighted);
  const double share = (double)accepted / ((double)blocks * block);
  return sum == accepted && fabs(share - 0.7853981634) < 0.02;
}

int main(int argc, char** argv) {
  static const struct nas_program ep = {
      .name = "ep",
      .about = "Threads count pairs of normally distributed numbers (EP).",
      .size_help = "blocks of 4096 pairs",
      .sizes = {16, 2000, 16384, 65536},
      .least = 1,
      .most = 100000000,
      .known_values = {"51278 83481", "6433843 10477391", "52707550 85836760",
                       "210829893 343316390"},
      .prepare = prepare,
      .run = run};
  return nas_main(argc, argv, &ep);
}
