// tasks.c -- what tasks cost: made by all threads or by one, nested, as a tree, waited for.
#include <omp.h>
#include <stddef.h>

#include "constructs.h"

static void parallel_task(int repetitions) {
#pragma omp parallel
  for (int r = 0; r < repetitions; ++r) {
#pragma omp task
    delay();
  }
}

// One thread makes them for all: as many as there are threads in each repetition.
static void master_task(int repetitions) {
#pragma omp parallel
  {
#pragma omp master
    for (int r = 0; r < repetitions * omp_get_num_threads(); ++r) {
#pragma omp task
      delay();
    }
  }
}

static void master_task_busy(int repetitions) {
#pragma omp parallel
  {
    if (omp_get_thread_num() == 0) {
      for (int r = 0; r < repetitions; ++r) {
#pragma omp task
        delay();
      }
    } else {
      for (int r = 0; r < repetitions; ++r) delay();
    }
  }
}

static void conditional_task(int repetitions) {
#pragma omp parallel
  for (int r = 0; r < repetitions; ++r) {
#pragma omp task if (0)
    delay();
  }
}

static void task_wait(int repetitions) {
#pragma omp parallel
  for (int r = 0; r < repetitions; ++r) {
#pragma omp task
    delay();
#pragma omp taskwait
  }
}

static void task_barrier(int repetitions) {
#pragma omp parallel
  for (int r = 0; r < repetitions; ++r) {
#pragma omp task
    delay();
#pragma omp barrier
  }
}

static void nested_task(int repetitions) {
#pragma omp parallel
  for (int r = 0; r < repetitions; ++r) {
#pragma omp task
    {
#pragma omp task
      delay();
#pragma omp taskwait
    }
  }
}

static void nested_master_task(int repetitions) {
#pragma omp parallel
  {
#pragma omp master
    for (int r = 0; r < repetitions; ++r) {
#pragma omp task
      for (int i = 0; i < omp_get_num_threads(); ++i) {
#pragma omp task
        delay();
      }
    }
  }
}

static void branches(int leaves) {
  if (leaves <= 1) {
    delay();
    return;
  }
#pragma omp task
  branches(leaves / 2);
#pragma omp task
  branches(leaves - leaves / 2);
#pragma omp taskwait
}

// A binary tree whose leaves, as many as repetitions for each thread, have the delays.
static void leaf_task_tree(int repetitions) {
#pragma omp parallel
#pragma omp single
  branches(repetitions * omp_get_num_threads());
}

const struct construct task_constructs[] = {
    {"PARALLEL_TASK", "task", reference_delays, parallel_task},
    {"MASTER_TASK", "task", reference_delays, master_task},
    {"MASTER_TASK_BUSY", "task", reference_delays, master_task_busy},
    {"CONDITIONAL_TASK", "task", reference_delays, conditional_task},
    {"TASK_WAIT", "task", reference_delays, task_wait},
    {"TASK_BARRIER", "task", reference_delays, task_barrier},
    {"NESTED_TASK", "task", reference_delays, nested_task},
    {"NESTED_MASTER_TASK", "task", reference_delays, nested_master_task},
    {"LEAF_TASK_TREE", "task", reference_delays, leaf_task_tree},
    {NULL, NULL, NULL, NULL}};
