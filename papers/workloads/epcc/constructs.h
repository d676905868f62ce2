// constructs.h -- the microbenchmarks, a table for each group; `name` is null at the end.
#pragma once

#include "measure.h"

extern const struct construct sync_constructs[];
extern const struct construct task_constructs[];
extern const struct construct schedule_constructs[];

// One thread: a delay for each repetition.
void reference_delays(int repetitions);
