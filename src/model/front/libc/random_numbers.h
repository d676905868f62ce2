// random_numbers.h -- what the system gives a program as random is the same in every run of a
// simulated one: a sequence that SYNCOPATE_SEED begins.
#pragma once

#include <cstddef>
#include <cstdio>

#include "model/front/engine.h"

namespace syncopate::instrument {

// Whether the machine gives the program its random numbers; else the system does.
bool has_random_numbers();
void fill_randomly(void* to, std::size_t bytes);

// The file was opened as /dev/urandom or /dev/random.
bool is_random_file(int file);
void forget_random_file(int file);
// fopen() of such a file, as a stream; null: it is none.
std::FILE* open_random(const char* path, const char* mode, engine::place where);

}  // namespace syncopate::instrument
